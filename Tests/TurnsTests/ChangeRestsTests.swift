// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Turns

@Suite("Rests after changes that kept the store for long") struct ChangeRestsTests {
    private typealias Turns = RequestTurns<String>

    private static let ann = Turns.User(uid: 1001, isAdministrator: false)
    private static let ben = Turns.User(uid: 1002, isAdministrator: false)
    private static let root = Turns.User(uid: 0, isAdministrator: true)
    private static let change = RequestLoad(kind: .write)

    /// Turns in which the store works for a second for each change of all but Ben's.
    private static func turns() -> Turns {
        Turns(requestsPerUser: 100, takeLongWrites: { $0 == 1002 ? nil : .seconds(1) })
    }

    /// Ben changes something.
    private func change(_ turns: inout Turns) {
        #expect(turns.take(Self.change, for: Self.ben, "ben's") == true)
        turns.end(Self.change, of: Self.ben.uid)
    }

    @Test("Whose change took the store a second lets others change something for a second")
    func rest() {
        var turns = Self.turns()
        change(&turns)
        #expect(turns.take(Self.change, for: Self.ann, "a1") == true)
        turns.now = .seconds(1)
        turns.end(Self.change, of: Self.ann.uid)
        #expect(turns.take(Self.change, for: Self.ann, "a2") == false)
        #expect(turns.nextRestEnd == .seconds(2))
        change(&turns)
        #expect(
            turns.take(RequestLoad(kind: .lookup), for: Self.ann, "read") == true,
            "only changes wait"
        )
        turns.now = .milliseconds(1999)
        #expect(turns.next() == nil)
        turns.now = .seconds(2)
        #expect(turns.next() == "a2")
        #expect(turns.nextRestEnd == nil)
    }

    @Test("Then his changes go one at a time, until two seconds after the rest")
    func oneAtATime() {
        var turns = Self.turns()
        change(&turns)
        #expect(turns.take(Self.change, for: Self.ann, "a1") == true)
        #expect(turns.take(Self.change, for: Self.ann, "a2") == true, "not known yet")
        turns.end(Self.change, of: Self.ann.uid)
        turns.end(Self.change, of: Self.ann.uid)
        // Both are rested from.
        turns.now = .seconds(2)
        change(&turns)
        #expect(turns.take(Self.change, for: Self.ann, "a3") == true)
        #expect(turns.take(Self.change, for: Self.ann, "a4") == false)
        turns.now = .milliseconds(3900)
        change(&turns)
        #expect(turns.next() == nil)
        turns.now = .seconds(2) + BulkRests.attention
        #expect(turns.next() == "a4")
    }

    @Test("A bulk waits for that rest too")
    func bulk() {
        var turns = Self.turns()
        change(&turns)
        #expect(turns.take(Self.change, for: Self.ann, "a1") == true)
        turns.end(Self.change, of: Self.ann.uid)
        #expect(turns.take(RequestLoad(kind: .bulk), for: Self.ann, "bulk") == false)
        #expect(turns.nextRestEnd == .seconds(1))
        turns.now = .seconds(1)
        #expect(turns.next() == "bulk")
    }

    @Test("Nobody rests beside those who only look, and root never does", arguments: [true, false])
    func nobody(isRoot: Bool) {
        var turns = Self.turns()
        let user = isRoot ? Self.root : Self.ann
        let list = RequestLoad(kind: .page)
        if isRoot { change(&turns) }
        for number in 0..<5 {
            #expect(turns.take(list, for: Self.ben, "list") == true)
            turns.end(list, of: Self.ben.uid)
            #expect(turns.take(Self.change, for: user, "\(number)") == true)
            turns.end(Self.change, of: user.uid)
        }
    }

    @Test("Such a rest is five seconds at most, or a lease would end in it")
    func longest() {
        var rests = BulkRests()
        rests.takeLongWrites = { _ in .seconds(30) }
        rests.endChange(1001, at: .seconds(1))
        rests.endChange(1001, at: .seconds(1))
        rests.note(1002, isChange: true, at: .seconds(5))
        #expect(rests.endOfChanges(of: 1001, at: .seconds(5)) == .seconds(6))
        #expect(rests.endOfChanges(of: 1001, at: .seconds(6)) == nil)
    }

    @Test("What the store did for a bulk is rested from once, before the next bulk alone")
    func onceForABulk() {
        var rests = BulkRests()
        rests.takeLongWrites = { _ in .seconds(1) }
        rests.note(1002, isChange: true, at: .zero)
        rests.begin(1001, at: .zero)
        // A small change beside it.
        rests.endChange(1001, at: .seconds(1))
        rests.end(1001, at: .seconds(1))
        #expect(rests.endOfChanges(of: 1001, at: .seconds(1)) == nil)
        #expect(rests.end(of: 1001, at: .seconds(1)) == .seconds(2))
    }

    @Test(
        "However large the changes are of which a user has many on their way, a newcomer's waits for 4 MiB at most",
        arguments: [4000, 32_000, 64_000, 300_000, 1_048_576]
    )
    func large(lineBytes: Int) {
        var turns = Turns(requestsPerUser: 1024)
        let add = Request.addJobs(AddJobs([JobDefinition(schedule: ScheduleWords(every: "1h"))]))
        let load = RequestLoad(of: add, lineBytes: lineBytes)
        let begun = (0..<600).filter { turns.take(load, for: Self.ann, "a\($0)") }
        #expect(begun.count > 1)
        #expect(begun.count * lineBytes <= 4 << 20)
        let isBegun = turns.take(Self.change, for: Self.ben, "ben's")
        if !isBegun {
            turns.end(load, of: Self.ann.uid)
            #expect(turns.next() == "ben's", "the first place that is free is his")
        }
    }
}
