// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// A name or a tag of one user: the same word of another user is a different one.
struct OwnedWord: Hashable, Sendable {
    enum Kind: Hashable, Sendable { case name, tag }

    var owner: Owner
    var kind: Kind
    @ByteText var word: String
}

extension StoredJob {
    /// Its name as its owner means it; nil for a job without one.
    var ownedName: OwnedWord? {
        definition.name.map { OwnedWord(owner: owner, kind: .name, word: $0) }
    }

    /// Its tags as its owner means them.
    var ownedTags: [OwnedWord] {
        (definition.tags ?? []).map { OwnedWord(owner: owner, kind: .tag, word: $0) }
    }
}

extension JobSelection {
    /// The caller's name or tag that it selects by; nil for numbers and for a whole user.
    func word(of caller: Caller) -> OwnedWord? {
        switch self {
        case .ids, .owner: nil
        case .name(let name): OwnedWord(owner: caller.owner, kind: .name, word: name)
        case .tag(let tag): OwnedWord(owner: caller.owner, kind: .tag, word: tag)
        }
    }
}

/// Jobs by their owners' names and tags, found without a look at the others; pure.
struct OwnedIndex: Sendable {
    private var jobs: [OwnedWord: Set<JobID>] = [:]

    subscript(word: OwnedWord) -> Set<JobID> { jobs[word] ?? [] }

    mutating func insert(_ job: JobID, as word: OwnedWord) {
        jobs[word, default: []].insert(job)
    }

    mutating func remove(_ job: JobID, as word: OwnedWord) {
        guard jobs[word]?.remove(job) != nil, jobs[word]?.isEmpty == true else { return }
        jobs[word] = nil
    }

    /// How many names and tags it knows.
    var count: Int { jobs.count }
}

/// Jobs of which something is in progress, by the names and tags that they had when it began, or since; pure.
struct BusyIndex: Sendable {
    private var index = OwnedIndex()
    private var words: [JobID: Set<OwnedWord>] = [:]

    subscript(word: OwnedWord) -> Set<JobID> { index[word] }

    /// How many names and tags it knows.
    var count: Int { index.count }

    mutating func note(_ job: StoredJob) {
        for word in job.ownedTags + [job.ownedName].compactMap(\.self)
        where words[job.id, default: []].insert(word).inserted {
            index.insert(job.id, as: word)
        }
    }

    /// Nothing of it is in progress any more.
    mutating func forget(_ job: JobID) {
        for word in words.removeValue(forKey: job) ?? [] { index.remove(job, as: word) }
    }
}
