// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Turns

@Suite("Rests between changes of many jobs") struct BulkRestsTests {
    private typealias Turns = RequestTurns<String>

    private let ann = Turns.User(uid: 1001, isAdministrator: false)
    private let ben = Turns.User(uid: 1002, isAdministrator: false)
    private let root = Turns.User(uid: 0, isAdministrator: true)
    private let bulk = RequestLoad(kind: .bulk)
    private let list = RequestLoad(kind: .page)

    /// Somebody has asked for a list, and has it.
    private func look(_ turns: inout Turns, _ user: Turns.User) {
        #expect(turns.take(list, for: user, "list of \(user.uid)") == true)
        turns.end(list, of: user.uid)
    }

    @Test("Whoever's bulk took a second lets others work for a second before the next one")
    func rest() {
        var turns = Turns(requestsPerUser: 100)
        look(&turns, ben)
        #expect(turns.take(bulk, for: ann, "a1") == true)
        #expect(turns.take(bulk, for: ann, "a2") == false, "it waits for the first")
        turns.now = .seconds(1)
        look(&turns, ben)
        turns.end(bulk, of: ann.uid)
        #expect(turns.next() == nil, "it waits for the rest")
        #expect(turns.nextRestEnd == .seconds(2))
        look(&turns, ann)
        turns.now = .milliseconds(1999)
        #expect(turns.next() == nil)
        turns.now = .seconds(2)
        #expect(turns.next() == "a2")
        #expect(turns.nextRestEnd == nil)
    }

    @Test("While one rests, another's bulk begins, and has no line in front of it")
    func others() {
        var turns = Turns(requestsPerUser: 100)
        look(&turns, ben)
        #expect(turns.take(bulk, for: ann, "a1") == true)
        turns.now = .milliseconds(500)
        turns.end(bulk, of: ann.uid)
        #expect(turns.take(bulk, for: ann, "a2") == false)
        #expect(turns.take(bulk, for: ben, "b1") == true)
        turns.now = .milliseconds(800)
        turns.end(bulk, of: ben.uid)
        #expect(turns.next() == nil, "both rest")
        #expect(turns.nextRestEnd == .seconds(1))
        turns.now = .seconds(1)
        #expect(turns.next() == "a2")
    }

    @Test("Nobody rests while alone; a rest is over once the others are gone")
    func alone() {
        var turns = Turns(requestsPerUser: 100)
        for second in 1...5 {
            #expect(turns.take(bulk, for: ann, "a") == true)
            turns.now = .seconds(second)
            turns.end(bulk, of: ann.uid)
        }
        look(&turns, ben)
        #expect(turns.take(bulk, for: ann, "a") == false)
        turns.cancel("a", .bulk, of: ann)
        turns.now += BulkRests.attention + .milliseconds(1)
        #expect(turns.take(bulk, for: ann, "a") == true)
    }

    @Test(
        "Whose jobs are at work is there as well, though he asks for nothing",
        arguments: [true, false]
    )
    func jobsOfOthers(areAtWork: Bool) {
        let own = ann.uid
        var turns = Turns(requestsPerUser: 100) { uid, time in
            areAtWork && uid == own && time == BulkRests.attention
        }
        #expect(turns.take(bulk, for: ann, "a1") == true)
        turns.now = .seconds(1)
        turns.end(bulk, of: ann.uid)
        #expect(turns.take(bulk, for: ann, "a2") == !areAtWork)
        turns.now = .seconds(2)
        #expect(turns.next() == (areAtWork ? "a2" : nil))
    }

    @Test("Root does not rest")
    func administrators() {
        var turns = Turns(requestsPerUser: 100)
        look(&turns, ben)
        #expect(turns.take(bulk, for: root, "r1") == true)
        turns.now = .seconds(1)
        turns.end(bulk, of: root.uid)
        #expect(turns.take(bulk, for: root, "r2") == true)
    }

    @Test("In the long run nobody who shares has more than half, whatever each bulk takes")
    func half() {
        var turns = Turns(requestsPerUser: 100)
        var (used, step) = (Duration.zero, Duration.milliseconds(1))
        var isRunning = false
        var end = Duration.zero
        for tick in 0..<20_000 {
            turns.now = step * tick
            if tick % 100 == 0 { look(&turns, ben) }
            if isRunning, turns.now >= end {
                turns.end(bulk, of: ann.uid)
                isRunning = false
            }
            guard !isRunning else {
                used += step
                continue
            }
            isRunning = turns.take(bulk, for: ann, "a")
            if !isRunning { turns.cancel("a", .bulk, of: ann) }
            // From 7 ms to 700 ms, in no order.
            end = turns.now + .milliseconds(7 * (1 + tick * 31 % 100))
            if isRunning { used += step }
        }
        step = step * 20_000
        #expect(used <= step / 2 + .milliseconds(700))
        #expect(used >= step / 3, "and has its share")
    }

    @Test("A bulk is rested from for as long as it took, a minute at most", arguments: [60, 600])
    func longest(took: Int) {
        var rests = BulkRests()
        rests.begin(1001, at: .zero)
        rests.end(1001, at: .seconds(took))
        rests.note(1002, at: .seconds(took + 59))
        #expect(rests.end(of: 1001, at: .seconds(took + 59)) == .seconds(took + 60))
        #expect(rests.end(of: 1001, at: .seconds(took + 60)) == nil)
    }

    @Test("Who asked long ago is forgotten, however many there were")
    func forgotten() {
        var rests = BulkRests()
        for uid in 0..<UInt32(10_000) {
            rests.note(uid, at: .milliseconds(100 * Int(uid)))
            rests.begin(uid, at: .milliseconds(100 * Int(uid)))
            rests.end(uid, at: .milliseconds(100 * Int(uid) + 1))
        }
        #expect(rests.count <= 200)
    }
}
