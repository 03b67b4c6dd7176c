// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("OwnedIndex") struct OwnedIndexTests {
    private static func word(_ word: String, of uid: UInt32 = 1) -> OwnedWord {
        OwnedWord(owner: Owner(uid: uid), kind: .name, word: word)
    }

    @Test("A word finds the jobs of its owner, as what it is, and is forgotten with the last")
    func index() {
        let (first, second) = (JobID(rawValue: 1), JobID(rawValue: 2))
        var index = OwnedIndex()
        index.insert(first, as: Self.word("a"))
        index.insert(second, as: Self.word("a"))
        #expect(index[Self.word("a")] == [first, second])
        #expect(index[Self.word("a", of: 2)] == [])
        #expect(index[OwnedWord(owner: Owner(uid: 1), kind: .tag, word: "a")] == [])
        index.remove(first, as: Self.word("a"))
        index.remove(first, as: Self.word("b"))
        #expect(index[Self.word("a")] == [second])
        index.remove(second, as: Self.word("a"))
        #expect(index.count == 0)
    }

    @Test("A word in another Unicode form is another word")
    func forms() {
        var index = OwnedIndex()
        index.insert(JobID(rawValue: 1), as: Self.word("caf\u{e9}"))
        #expect(index[Self.word("cafe\u{301}")] == [])
        index.remove(JobID(rawValue: 1), as: Self.word("cafe\u{301}"))
        #expect(index[Self.word("caf\u{e9}")] == [JobID(rawValue: 1)])
    }

    @Test("A job in progress is found by all the names and tags that it has had, until its end")
    func busy() throws {
        func job(_ name: String?, _ tags: [String]) throws -> StoredJob {
            try .sample(of: 1) {
                $0.name = name
                $0.tags = tags
            }
        }
        var busy = BusyIndex()
        busy.note(try job("a", ["t"]))
        busy.note(try job("b", ["t"]))
        let id = JobID(rawValue: 1)
        for word in ["a", "b"] { #expect(busy[Self.word(word)] == [id]) }
        #expect(busy.count == 3)
        busy.forget(id)
        #expect(busy[Self.word("a")] == [])
        #expect(busy.count == 0)
    }
}
