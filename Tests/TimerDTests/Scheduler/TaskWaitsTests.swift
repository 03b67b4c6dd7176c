// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

@Suite("Workers that wait") struct TaskWaitsTests {
    private static let key = QueueKey(owner: OwnerID(rawValue: 1), name: "mails")
    private static let other = QueueKey(owner: OwnerID(rawValue: 1), name: "other")

    /// Runs `body` with a waiter of a number, and answers it.
    private static func with(_ body: (inout TaskWaits, Int) -> Void) {
        var waits = TaskWaits()
        let number = waits.newNumber()
        let order = ReserveOrder(owner: .root, queues: ["mails"], count: 1, lease: .seconds(60))
        waits[number] = TaskWaits.Waiter(order: order, life: nil)
        body(&waits, number)
    }

    @Test("What comes for a queue between the store's look and its answer is looked for again")
    func stale() async throws {
        Self.with { waits, number in
            waits.beginAsking(number)
            waits.noteReason(Self.key)
            let first = waits.endAsking(number, of: [Self.key])
            waits.beginAsking(number)
            let second = waits.endAsking(number, of: [Self.key])
            #expect([first, second] == [true, false], "nothing has come since")
        }
    }

    @Test("What comes for other queues, or before, is no reason")
    func notStale() async throws {
        Self.with { waits, number in
            waits.noteReason(Self.key)
            waits.beginAsking(number)
            waits.noteReason(Self.other)
            let isStale = waits.endAsking(number, of: [Self.key])
            #expect(!isStale)
        }
    }

    @Test("Who is asked for is not idle, and who went away is forgotten")
    func idle() async throws {
        Self.with { waits, number in
            waits.wait(number, for: [Self.key, Self.other])
            #expect(waits.idle(Self.key, limit: 10) == [number])
            waits.beginAsking(number)
            #expect(waits.idle(Self.other, limit: 10).isEmpty)
            #expect(waits.count(Self.key) == 1)
            _ = waits.remove(number)
            #expect(waits.count(Self.key) == 0 && waits.waiters.isEmpty)
        }
    }

    @Test("Nobody is idle behind one who is asked for; his queues are held until then")
    func held() {
        Self.with { waits, number in
            let second = waits.newNumber()
            waits[second] = waits[number]
            for one in [number, second] { waits.wait(one, for: [Self.key, Self.other]) }
            #expect(waits.idle(Self.key, limit: 10) == [number, second])
            waits.beginAsking(number)
            #expect(waits.idle(Self.other, limit: 10).isEmpty)
            for key in [Self.key, Self.other] { waits.hold(key) }
            // The store has nothing in it for who comes first.
            waits.release([Self.key])
            _ = waits.endAsking(number, of: [Self.key])
            let held = [waits.takeHeld(), waits.takeHeld()]
            #expect(held == [[Self.other], []])
            _ = waits.remove(number)
            _ = waits.remove(second)
            waits.hold(Self.key)
            let left = waits.takeHeld()
            #expect(left.isEmpty, "nobody waits for it")
        }
    }

    @Test("A connection's end names its tasks, without those that are over or tied to another")
    func ties() {
        var waits = TaskWaits()
        let (one, two) = (ConnectionLife(), ConnectionLife())
        let tasks = (1...3).map {
            TaskReference(fire: FireID(rawValue: $0), token: RunID(rawValue: $0 * 10))
        }
        let first = [waits.tie(tasks, to: one), waits.tie([tasks[0]], to: one)]
        #expect(first == [true, false], "its end is registered once")
        let other = waits.tie([tasks[1]], to: two)
        #expect(other)
        waits.untie(tasks[2].token)
        let ended = [one, two, one].map { life in
            waits.take(waits.end(life).tasks[...], of: life)
        }
        #expect(ended == [[tasks[0]], [tasks[1]], []])
        let isForgotten = waits.end(one).tasks.isEmpty && waits.tie([tasks[2]], to: one)
        #expect(isForgotten, "its end would be registered anew")
    }

    @Test("Of a connection that is over a task may still be tied to another, until it is taken")
    func tiedMeanwhile() {
        var waits = TaskWaits()
        let (one, two) = (ConnectionLife(), ConnectionLife())
        let tasks = (1...3).map {
            TaskReference(fire: FireID(rawValue: $0), token: RunID(rawValue: $0 * 10))
        }
        _ = waits.tie(tasks, to: one)
        let runs = waits.end(one).tasks
        #expect(runs == tasks.map(\.token))
        let first = waits.take(runs.prefix(1), of: one)
        _ = waits.tie([tasks[1]], to: two)
        let rest = waits.take(runs.dropFirst(), of: one)
        #expect([first, rest] == [[tasks[0]], [tasks[2]]])
    }

    @Test(
        "A rate is kept: in no span of its length more are handed out, and nearly as many are",
        arguments: ["1/s", "2/s", "7/s", "20/s", "100/s", "1000/s", "5/min", "1000/h"]
    )
    func rate(words: String) throws {
        let rate = try #require(TaskRate(parsing: words))
        var (now, end) = (Timestamp(microseconds: 1_000_000), Timestamp.distantPast)
        var given: [Timestamp] = []
        while given.count < 5 * rate.count {
            let number = rate.allowance(usedUpTo: end, at: now)
            if number > 0 {
                end = rate.used(by: number, upTo: end, at: now)
                given += Array(repeating: now, count: number)
            } else {
                let next = rate.next(usedUpTo: end)
                #expect(next > now, "there is something to wait for")
                now = next
                #expect(rate.allowance(usedUpTo: end, at: now) > 0, "then there is one")
            }
        }
        for (first, one) in zip(given, given.dropFirst(rate.count)) {
            #expect(one - first >= rate.period)
        }
        let span = (given.last ?? now) - given[0]
        #expect(span.microseconds <= 6 * rate.period.microseconds)
    }
}
