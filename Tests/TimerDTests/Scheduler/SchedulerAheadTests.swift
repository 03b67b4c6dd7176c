// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// An event that fires often beside a store that is busy with somebody else's long write.
@Suite("Events go on while the store is busy", .timeLimit(.minutes(2)))
struct SchedulerAheadTests {
    static let ben: UInt32 = 70_002
    static let caller = Caller(uid: ben, isAdministrator: false)
    static let start = TestScheduler.start

    /// A job of 100 ms, 8 s old: its dates are claimed as far ahead as the window reaches.
    static func begin(_ test: TestScheduler) async throws -> StoredJob {
        let job = try await test.add([ScheduleWords(every: "100ms")], of: ben)[0]
        try await test.advance(by: .seconds(8))
        try await test.settle()
        return job
    }

    /// Has the store do nothing until the semaphore is signalled.
    static func stall(_ test: TestScheduler) -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        test.store.thread.perform { gate.wait() }
        return gate
    }

    /// The dates that were told, as tenths of a second after the start.
    static func told(_ test: TestScheduler, _ job: JobID) -> [Int64] {
        test.sink.all(.fireFired).filter { $0.job == job }.map {
            (($0.fireDate ?? .distantPast) - start).microseconds / 100_000
        }
    }

    /// The same of the rows: `fired`, or another state with the reason.
    static func rows(_ test: TestScheduler, _ job: JobID) async throws -> [String] {
        try await test.settle()
        return try await test.store.reader.read { database in
            try database.prepare(
                "SELECT fire_date_us, dates, state, reason FROM fires WHERE job_id = ?1"
                    + " ORDER BY fire_date_us"
            ).all(job) { row in
                let date = (try row.get(0, as: Timestamp.self) - start).microseconds / 100_000
                let reason = try row.get(3, as: String?.self)
                let (state, count): (String, Int) = (try row.get(2), try row.get(1))
                let words = [state, "\(date)", count > 1 ? "x\(count)" : nil, reason]
                return words.compactMap(\.self).joined(separator: " ")
            }
        }
    }

    static func fired(_ dates: ClosedRange<Int64>) -> [String] { dates.map { "fired \($0)" } }

    @Test(
        "A store that is busy for 5 s costs no date: each is told at its time, once, and has its row"
    )
    func stalledStore() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await Self.begin(test)
            let gate = Self.stall(test)
            await test.advanceWithoutStore(by: .seconds(5))
            #expect(Self.told(test, job.id) == Array(1...130))
            let events = test.sink.all(.fireFired)
            #expect(events.allSatisfy { $0.firedAt == $0.fireDate })
            gate.signal()
            try await test.settle()
            try await test.advance(by: .seconds(2))
            #expect(Self.told(test, job.id) == Array(1...150))
            #expect(Set(test.sink.all(.fireFired).map(\.fire)).count == 150)
            let rows = try await Self.rows(test, job.id)
            #expect(Array(rows.prefix(150)) == Self.fired(1...150))
            #expect(rows.dropFirst(150).allSatisfy { $0.hasPrefix("claimed") })
            #expect(rows.count <= 150 + 1 + ClaimDepth.most)
            let stored = try await test.job(job.id)
            #expect(stored.fires == 150)
        }
    }

    @Test(
        "A store that is busy for longer than dates are claimed costs those beyond, with the reason"
    )
    func longStall() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await Self.begin(test)
            let gate = Self.stall(test)
            await test.advanceWithoutStore(by: .seconds(20))
            let told = Self.told(test, job.id)
            #expect(told == Array(1...Int64(told.count)))
            #expect(told.count >= 130)
            gate.signal()
            try await test.settle()
            try await test.advance(by: .seconds(1))
            let rows = try await Self.rows(test, job.id).filter { !$0.hasPrefix("claimed") }
            let last = Int64(told.count)
            #expect(Array(rows.prefix(told.count)) == Self.fired(1...last))
            #expect(rows[told.count] == "skipped \(last + 1) x\(280 - last - 1) coalesced")
            #expect(Array(rows.dropFirst(told.count + 1)) == Self.fired(280...290))
        }
    }

    @Test("A pause, an end, a move and a skip that come meanwhile take back what is claimed ahead")
    func changes() async throws {
        let date = Self.start + .milliseconds(10_550)
        for change in [JobChange.pause, .invalidate, .setFireDate(date), .skip(3)] {
            try await TestScheduler.with(keeping: .all) { test in
                let job = try await Self.begin(test)
                let gate = Self.stall(test)
                await test.advanceWithoutStore(by: .seconds(2))
                let asked = Task {
                    _ = try await test.scheduler.change(
                        .ids([job.id]),
                        change,
                        caller: Self.caller
                    )
                }
                while !test.scheduler.pending.areAskedFor(by: Self.caller) { await Task.yield() }
                await test.advanceWithoutStore(by: .milliseconds(250))
                #expect(Self.told(test, job.id) == Array(1...100), "no fire begins in between")
                gate.signal()
                try await asked.value
                let rows = try await Self.rows(test, job.id)
                #expect(Array(rows.prefix(100)) == Self.fired(1...100))
                try await test.advance(by: .seconds(1))
                let then = try await Self.rows(test, job.id).dropFirst(100)
                let told = Self.told(test, job.id).dropFirst(100)
                switch change {
                case .pause, .invalidate:
                    #expect(told.isEmpty)
                    #expect(!then.contains { $0.hasPrefix("claimed") }, "\(then)")
                case .skip:
                    #expect(then.first == "skipped 101 x3 skip")
                    #expect(Array(told) == Array(104...112))
                default:
                    // The grid has moved: 10.55 s, then each 100 ms.
                    #expect(told.first == 105)
                    #expect(told.count == 8)
                }
                #expect(Set(test.sink.all(.fireFired).map(\.fire)).count == 100 + told.count)
                #expect(!then.contains { $0.hasPrefix("waiting") })
            }
        }
    }

    @Test("A count ends at its last date, however far ahead dates are claimed")
    func count() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await test.add(ScheduleWords(every: "100ms")) { $0.count = 25 }
            try await test.advance(by: .seconds(1))
            let gate = Self.stall(test)
            await test.advanceWithoutStore(by: .seconds(1))
            gate.signal()
            try await test.advance(by: .seconds(2))
            let rows = try await Self.rows(test, job.id)
            #expect(rows == Self.fired(1...25))
            let stored = try await test.job(job.id)
            #expect(stored.endReason == .count)
        }
    }

    @Test(
        "Dates that pass while nothing runs are settled as ever: those claimed ahead are taken back"
    )
    func missed() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await Self.begin(test)
            test.stall(.seconds(3))
            try await test.advance(by: .seconds(1))
            let rows = try await Self.rows(test, job.id).filter { !$0.hasPrefix("claimed") }
            let missed = ["skipped 81 x29 coalesced"]
            #expect(rows == Self.fired(1...80) + missed + Self.fired(110...120))
        }
    }

    @Test("A clock that is set back meanwhile doubles no date of a wall job")
    func clockBack() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * * *", tz: "UTC"))
            try await test.advance(by: .seconds(10))
            try await test.settle()
            let gate = Self.stall(test)
            await test.advanceWithoutStore(by: .seconds(3))
            #expect(test.fired(job.id) == Array(1...13))
            test.clock.step(by: .seconds(-6))
            _ = await test.scheduler.clockStepped()
            await test.advanceWithoutStore(by: .milliseconds(500))
            #expect(test.fired(job.id) == Array(1...13))
            gate.signal()
            try await test.settle()
            try await test.advance(by: .seconds(10))
            #expect(test.fired(job.id) == Array(1...17))
            let rows = try await Self.rows(test, job.id).filter { !$0.hasPrefix("claimed") }
            #expect(rows == (1...17).map { "fired \($0 * 10)" })
        }
    }

    @Test(
        "What was told while the store was busy is told again after a crash: the same fires, once each"
    )
    func crash() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await Self.begin(test)
            let gate = Self.stall(test)
            await test.advanceWithoutStore(by: .seconds(2))
            let before = test.sink.all(.fireFired)
            let after = try await test.killedAndDown(for: .milliseconds(50))
            gate.signal()
            try await after.advance(by: .seconds(2))
            let again = after.sink.all(.fireFired).filter { $0.redelivered == true }
            #expect(again.map(\.fire) == before.suffix(20).map(\.fire))
            #expect(Self.told(after, job.id) == Array(81...120))
            let rows = try await Self.rows(after, job.id).filter { !$0.hasPrefix("claimed") }
            #expect(rows == Self.fired(1...120))
            let stored = try await after.job(job.id)
            #expect(stored.fires == 120)
            try await after.close()
        }
    }

    @Test("A daemon that stops leaves no claim, and the next one goes on where it was")
    func restart() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await Self.begin(test)
            await test.scheduler.stop(.end(after: .zero))
            let rows = try await Self.rows(test, job.id)
            #expect(rows == Self.fired(1...80))
            let after = try await test.killedAndDown(for: .zero)
            try await after.advance(by: .seconds(1))
            let then = try await Self.rows(after, job.id).filter { !$0.hasPrefix("claimed") }
            #expect(then == Self.fired(1...90))
            #expect(after.sink.all(.fireFired).allSatisfy { $0.redelivered == nil })
            try await after.close()
        }
    }

    @Test("A history is cut to what is kept, not counting what is claimed ahead")
    func history() async throws {
        let keeping = TestScheduler.Keeping(runs: 20)
        try await TestScheduler.with(keeping: keeping) { test in
            let job = try await Self.begin(test)
            try await test.advance(by: .seconds(12))
            let fired = try await Self.rows(test, job.id).filter { $0.hasPrefix("fired") }
            #expect((19..<20 + JobTransaction.trimInterval).contains(fired.count), "\(fired.count)")
        }
    }

    @Test("A user with many jobs armed has one date of each claimed")
    func manyJobs() async throws {
        try await TestScheduler.with { test in
            let words = Array(repeating: ScheduleWords(every: "1s"), count: ClaimDepth.jobs + 1)
            let jobs = try await test.add(words, of: Self.ben)
            try await test.advance(by: .seconds(4))
            let rows = try await Self.rows(test, jobs[0].id)
            #expect(rows.count { $0.hasPrefix("claimed") } == 1)
        }
    }
    @Test("A crash tells no more than a count leaves that fires by hand have used, too")
    func countByHand() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await test.add(ScheduleWords(every: "100ms")) { $0.count = 25 }
            try await test.advance(by: .milliseconds(550))
            for _ in 0..<15 {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
            let rows = try await Self.rows(test, job.id)
            #expect(rows.count { $0.hasPrefix("claimed") } == 5)
            let after = try await test.crashedAndDown(for: .seconds(4))
            try await after.advance(by: .seconds(2))
            #expect(Self.told(after, job.id) == Array(6...10))
            #expect(after.sink.all(.fireFired).allSatisfy { $0.redelivered == true })
            let stored = try await after.job(job.id)
            #expect(stored.fires == 25)
            #expect(stored.endReason == .count)
            try await after.close()
            // Without the crash it is the same.
            try await test.advance(by: .seconds(2))
            #expect(try await test.job(job.id).fires == 25)
        }
    }

    @Test(
        "A crash tells nothing behind 'until' that the daemon knew to be over, and what it may have told",
        arguments: [true, false]
    )
    func untilPassed(isKnown: Bool) async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await test.add(ScheduleWords(every: "100ms")) {
                $0.until = (Self.start + .seconds(30)).rfc3339
            }
            try await test.advance(by: .milliseconds(550))
            let claimed = try await Self.rows(test, job.id).count { $0.hasPrefix("claimed") }
            #expect(claimed > 1)
            if isKnown {
                test.clock.step(by: .seconds(60))
                _ = await test.scheduler.clockStepped()
            }
            let after = try await test.crashedAndDown(for: .seconds(4)) {
                if !isKnown { $0.wall = $0.wall + .seconds(60) }
            }
            try await after.advance(by: .seconds(1))
            // The next date is claimed by itself, and fires wherever the clock is put.
            #expect(after.sink.all(.fireFired).count == (isKnown ? 1 : claimed))
            #expect(try await after.job(job.id).endReason == .until)
            try await after.close()
        }
    }
}
