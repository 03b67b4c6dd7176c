// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("FireTurns")
struct FireTurnsTests {
    static let (ann, ben): (UInt32, UInt32) = (1001, 1002)

    static func at(_ microseconds: Int64) -> Timestamp {
        TestScheduler.start + TimeSpan(microseconds: microseconds)
    }

    static func id(_ number: Int64) -> JobID { JobID(rawValue: number) }

    /// Turns that an expectation may take.
    final class Turns {
        var value: FireTurns

        init(perSecond: Int = 1000, burst: Int = 10_000) {
            value = FireTurns(FireTurns.Limits(perSecond: perSecond, burst: burst, exempt: 500))
        }

        func tryBegin(_ job: Int64, of owner: UInt32, at now: Timestamp) -> Bool {
            value.tryBegin(id(job), of: owner, at: now)
        }

        func wait(_ job: Int64, of owner: UInt32, hasHadTurn: Bool = false, at now: Timestamp) {
            value.wait(id(job), of: owner, hasHadTurn: hasHadTurn, at: now)
        }

        func next(at now: Timestamp) -> Int64? { value.next(at: now)?.rawValue }
        func stored(_ owner: UInt32, at now: Timestamp) -> Bool { value.stored(owner, at: now) }

        /// Begins what may at `now`, in turn; each is stored at once.
        func take(of owner: (Int64) -> UInt32, at now: Timestamp) -> [Int64] {
            var begun: [Int64] = []
            while let job = next(at: now) {
                begun.append(job)
                value.spend(owner(job), at: now)
                _ = stored(owner(job), at: now)
            }
            return begun
        }
    }

    @Test("A fire that begins to wait costs the same however many of its user wait")
    func growth() {
        let growth = costGrowth(from: 1000, to: 200_000) { count in
            let turns = Turns()
            for job in 1...Int64(count) { turns.wait(job, of: Self.ann, at: Self.at(0)) }
            for _ in 0..<100 { _ = turns.next(at: Self.at(0)) }
        }
        // About 13 where the queue was copied each time, in a build that is not optimized.
        #expect(growth < 6, "\(growth) times as much for one of 200,000 as for one of 1,000")
    }

    @Test("While commands are on their way to a process the thread rests between two slices")
    func rest() {
        let turns = Turns()
        #expect(turns.value.nextTurn(at: Self.at(0), isStarting: true) == nil, "nobody waits")
        turns.wait(1, of: Self.ann, at: Self.at(0))
        let rested = Self.at(FireTurns.restForStarts.microseconds)
        #expect(turns.value.nextTurn(at: Self.at(0), isStarting: true) == rested)
        #expect(turns.value.nextTurn(at: Self.at(0)) == Self.at(0))
        turns.value.spend(Self.ann, at: Self.at(0))
        for _ in 1..<FireTurns.unstoredLimit { turns.value.spend(Self.ann, at: Self.at(0)) }
        let patient = Self.at(FireTurns.patience.microseconds)
        #expect(turns.value.nextTurn(at: Self.at(0), isStarting: true) == patient, "later anyway")
    }

    @Test("A fire that only has to start goes before those of its user that wait for their turn")
    func paidGoesFirst() {
        let turns = Turns()
        turns.wait(1, of: Self.ann, at: Self.at(0))
        let isBegun = turns.value.tryBegin(
            Self.id(2),
            of: Self.ann,
            hasHadTurn: true,
            at: Self.at(1)
        )
        #expect(isBegun)
        turns.wait(3, of: Self.ann, hasHadTurn: true, at: Self.at(2))
        // Behind another that only has to start.
        let isSecond = turns.value.tryBegin(
            Self.id(4),
            of: Self.ann,
            hasHadTurn: true,
            at: Self.at(3)
        )
        #expect(!isSecond)
        #expect(turns.next(at: Self.at(4)) == 3)
        #expect(turns.next(at: Self.at(4)) == 4)
        #expect(turns.next(at: Self.at(4)) == 1)
    }

    @Test(
        "Fires that only have to start begin among many that are due with them, for five slices of the others"
    )
    func paidGoesOnLonger() {
        let turns = Turns()
        let (isFirst, late) = (turns.tryBegin(1, of: Self.ann, at: Self.at(0)), Self.at(1_050))
        #expect(isFirst)
        turns.value.done(at: Self.at(1_000))
        #expect(!turns.tryBegin(2, of: Self.ann, at: late))
        let isBegun = turns.value.tryBegin(Self.id(3), of: Self.ann, hasHadTurn: true, at: late)
        #expect(isBegun)
        turns.value.done(at: Self.at(5_000))
        let end = Self.at(5_050)
        let tooLate = turns.value.tryBegin(Self.id(4), of: Self.ann, hasHadTurn: true, at: end)
        #expect(!tooLate)
    }

    @Test("Once half of what may be on its way to disk is, a record waits for no others")
    func crowded() {
        let turns = Turns()
        for number in 0..<FireTurns.unstoredLimit / 2 {
            #expect(!turns.value.isCrowded(Self.ann))
            turns.value.spend(Self.ann, at: Self.at(Int64(number)))
        }
        #expect(turns.value.isCrowded(Self.ann))
        #expect(!turns.value.isCrowded(Self.ben))
        _ = turns.stored(Self.ann, at: Self.at(100))
        #expect(!turns.value.isCrowded(Self.ann))
    }

    @Test("A fire that is due alone begins at once, and leaves nothing behind")
    func alone() {
        let turns = Turns()
        for second in 0..<5 as Range<Int64> {
            let now = Self.at(second * 1_000_000)
            #expect(turns.tryBegin(1, of: Self.ann, at: now))
            turns.value.done(at: now)
            #expect(!turns.stored(Self.ann, at: now))
            #expect(turns.value.nextTurn(at: now) == nil)
        }
        #expect(turns.value.waited == 0)
    }

    @Test("Beyond the burst, a user's fires begin at the rate of the share")
    func bucket() {
        let turns = Turns(perSecond: 100, burst: 10)
        let now = Self.at(0)
        let begun = (1...15).filter { number in
            defer { _ = turns.stored(Self.ann, at: now) }
            return turns.tryBegin(Int64(number), of: Self.ann, at: now)
        }
        #expect(begun == Array(1...10))
        #expect(turns.value.count == 5)
        #expect(turns.next(at: now) == nil)
        #expect(turns.value.nextTurn(at: now) == Self.at(10_000), "a hundredth of a second for one")
        #expect(turns.take(of: { _ in Self.ann }, at: Self.at(10_000)) == [11])
        #expect(turns.take(of: { _ in Self.ann }, at: Self.at(35_000)) == [12, 13])
        #expect(turns.take(of: { _ in Self.ann }, at: Self.at(1_000_000)) == [14, 15])
        #expect(turns.value.nextTurn(at: Self.at(1_000_000)) == nil)
    }

    @Test("A quiet user's fire begins at once beside one whose fires wait")
    func quiet() {
        let turns = Turns(perSecond: 100, burst: 1)
        for number in 1...5 as ClosedRange<Int64> {
            _ = turns.tryBegin(number, of: Self.ann, at: Self.at(0))
        }
        #expect(turns.value.count == 4)
        #expect(turns.tryBegin(9, of: Self.ben, at: Self.at(1)))
    }

    @Test("A fire comes after those of its own user that wait")
    func inOrder() {
        let turns = Turns(perSecond: 10, burst: 1)
        _ = turns.tryBegin(1, of: Self.ann, at: Self.at(0))
        _ = turns.tryBegin(2, of: Self.ann, at: Self.at(0))
        #expect(!turns.tryBegin(3, of: Self.ann, at: Self.at(500_000)), "there is a token")
        #expect(turns.take(of: { _ in Self.ann }, at: Self.at(500_000)) == [2])
        #expect(turns.take(of: { _ in Self.ann }, at: Self.at(600_000)) == [3])
    }

    @Test("Users with due fires take turns, one fire each")
    func roundRobin() {
        let turns = Turns()
        for (owner, numbers) in [(Self.ann, 1...6), (Self.ben, 11...13), (0, 21...22)] {
            for number in numbers {
                turns.wait(Int64(number), of: owner, at: Self.at(0))
            }
        }
        let begun = turns.take(of: { $0 > 20 ? 0 : $0 > 10 ? Self.ben : Self.ann }, at: Self.at(0))
        #expect(begun == [1, 11, 21, 2, 12, 22, 3, 13, 4, 5, 6])
    }

    @Test("Fires that come without a pause begin for a millisecond; what is more waits for a turn")
    func slice() {
        let turns = Turns()
        var begun: [Int64] = []
        for number in 0..<100 as Range<Int64> {
            // Each takes 40 µs, and 10 µs pass to the next one.
            let now = Self.at(number * 50)
            guard turns.tryBegin(number, of: number % 2 == 0 ? 0 : Self.ann, at: now) else {
                continue
            }
            begun.append(number)
            turns.value.done(at: now + TimeSpan(microseconds: 40))
        }
        #expect(begun == Array(0..<20))
        #expect(turns.value.count == 80)
    }

    @Test("A pause of the thread begins a new millisecond")
    func pause() {
        let turns = Turns()
        for number in 0..<100 as Range<Int64> {
            let now = Self.at(number * 200)
            #expect(turns.tryBegin(number, of: 0, at: now))
            turns.value.done(at: now + TimeSpan(microseconds: 40))
        }
    }

    @Test("Who has so many fires on their way to disk waits for them; nobody else does")
    func backPressure() {
        let turns = Turns()
        let limit = Int64(FireTurns.unstoredLimit)
        func tryBegin(_ number: Int64, _ owner: UInt32) -> Bool {
            turns.tryBegin(number, of: owner, at: Self.at(0))
        }
        for number in 0..<limit { #expect(tryBegin(number, Self.ann)) }
        #expect(!tryBegin(1000, Self.ann))
        #expect(tryBegin(2000, Self.ben))
        for number in 3000..<3200 as Range<Int64> {
            #expect(tryBegin(number, 0), "root has no limit")
            #expect(tryBegin(number + 500, 500), "nor has the daemon's own user")
        }
        #expect(turns.next(at: Self.at(0)) == nil)
        #expect(turns.stored(Self.ann, at: Self.at(0)), "one waits for that")
        #expect(turns.value.nextTurn(at: Self.at(0)) == Self.at(0))
        #expect(turns.next(at: Self.at(0)) == 1000)
    }

    @Test("A disk that takes no records keeps no fire from being told")
    func trouble() {
        let turns = Turns()
        for number in 0...Int64(FireTurns.unstoredLimit) {
            _ = turns.tryBegin(number, of: Self.ann, at: Self.at(0))
        }
        #expect(turns.value.nextTurn(at: Self.at(0)) == Self.at(FireTurns.patience.microseconds))
        turns.value.countsUnstored = false
        #expect(turns.next(at: Self.at(0)) == Int64(FireTurns.unstoredLimit))
    }

    @Test("A fire that has had its turn is started without another, before those that have not")
    func readyFirst() {
        let turns = Turns(perSecond: 10, burst: 1)
        _ = turns.tryBegin(1, of: Self.ann, at: Self.at(0))
        _ = turns.tryBegin(2, of: Self.ann, at: Self.at(0))
        turns.wait(3, of: Self.ann, hasHadTurn: true, at: Self.at(0))
        #expect(turns.next(at: Self.at(0)) == 3)
        #expect(turns.next(at: Self.at(0)) == nil)
    }

    @Test("A fire waits once, however often its timer calls")
    func once() {
        let turns = Turns()
        turns.wait(1, of: Self.ann, at: Self.at(0))
        turns.wait(1, of: Self.ann, at: Self.at(0))
        #expect(!turns.tryBegin(1, of: Self.ann, at: Self.at(0)))
        #expect(turns.value.waited == 1)
        #expect(turns.next(at: Self.at(0)) == 1)
        #expect(turns.next(at: Self.at(0)) == nil)
    }

    @Test("Many that wait for the share wake the thread for several at a time")
    func wakesForMany() {
        let turns = Turns(perSecond: 2000, burst: 1)
        for number in 0..<100 as Range<Int64> {
            _ = turns.tryBegin(number, of: Self.ann, at: Self.at(0))
        }
        #expect(turns.value.nextTurn(at: Self.at(0)) == Self.at(FireTurns.rest.microseconds))
    }
}
