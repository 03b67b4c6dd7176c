// SPDX-License-Identifier: Apache-2.0

import JobModel

/// The setting `runLimits`: what users' runs are held to where their jobs say nothing.
struct RunLimits: Hashable, Sendable {
    private enum User: Hashable {
        /// All but root.
        case all
        case uid(UInt32)
        case name(String)
    }

    private struct Entry: Hashable {
        var user: User
        var limits: ProcessLimits
    }

    private var entries: [Entry] = []

    static let accepted =
        "a list of texts such as \"* memoryMax=1G tasksMax=500\" or \"ann cpuQuota=50%\": a user name, a uid, "
        + "or * for all but root, and then "
        + JobOption.ofControlGroups.map(\.rawValue).joined(separator: ", ")
        + ", each once of a user"

    init() {}

    /// Nil for a text that is none of these, and for a limit that is said twice of a user.
    init?(_ texts: [String]) {
        for text in texts {
            let words = text.split(separator: " ").map(String.init)
            guard words.count > 1, let user = Self.user(words[0]) else { return nil }
            var limits = ProcessLimits()
            for word in words.dropFirst() where !limits.take(word) { return nil }
            let said = entries.filter { $0.user == user }.flatMap(\.limits.ofControlGroups)
            guard Set(said).isDisjoint(with: limits.ofControlGroups) else { return nil }
            entries.append(Entry(user: user, limits: limits))
        }
    }

    private static func user(_ word: String) -> User? {
        if word == "*" { return .all }
        // The largest uid means "no user" (chown(2)).
        if let uid = UInt32(word) { return uid < .max ? .uid(uid) : nil }
        let isName = word.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: ":") }
        return isName && !word.hasPrefix("-") && !word.hasPrefix("@") && !word.contains("=")
            ? .name(word) : nil
    }

    /// A job's limits, and for what it leaves open those of its owner, and then those of all.
    func completing(_ limits: ProcessLimits, uid: UInt32, name: String) -> ProcessLimits {
        guard !entries.isEmpty else { return limits }
        var limits = limits
        for entry in entries where entry.user == .uid(uid) || entry.user == .name(name) {
            limits = limits.completed(by: entry.limits)
        }
        for entry in entries where entry.user == .all && uid != 0 {
            limits = limits.completed(by: entry.limits)
        }
        return limits
    }
}

extension ProcessLimits {
    /// Takes a word such as `tasksMax=9`; false for one that is none, and for a second one of that limit.
    fileprivate mutating func take(_ word: String) -> Bool {
        guard let equals = word.firstIndex(of: "="),
            let option = JobOption(rawValue: String(word[..<equals])), option.controller != nil,
            !ofControlGroups.contains(option)
        else { return false }
        let text = String(word[word.index(after: equals)...])
        guard option.form.shape == .integer else { return accepts(option, .text(text)) }
        return Int(text).map { accepts(option, .integer($0)) } ?? false
    }

    private mutating func accepts(_ option: JobOption, _ value: OptionValue) -> Bool {
        do throws(OptionRefusal) {
            try set(option, value)
            return true
        } catch {
            return false
        }
    }
}
