// SPDX-License-Identifier: Apache-2.0

import JobModel
import Logging
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// Two starts of the machine in a row, of which the first was not carried out.
@Suite("@reboot", .ofOneHost(), .timeLimit(.minutes(2)))
struct RebootTests {
    /// The machine starts anew, and the daemon on it.
    private func restarted(_ test: TestScheduler) async throws -> TestScheduler {
        let next = try await test.crashedAndDown(for: .seconds(10)) { machine in
            machine.boot += 1
            machine.sinceBoot = Timestamp(microseconds: 5_000_000)
        }
        try await test.close()
        return next
    }

    /// What became of a job's starts, the oldest first.
    private func starts(_ test: TestScheduler, _ job: JobID) async throws -> [String] {
        try await test.history(job).map { $0.reason?.rawValue ?? $0.state.rawValue }
    }

    @Test(
        "A start that jitter had put off says that the next one stands for it, by its misfire rule"
    )
    func putOff() async throws {
        try await TestScheduler.with { test in
            var jobs: [JobID] = []
            for mode in [JobDefinition.Misfire.once, .skip, .all] {
                jobs.append(
                    try await test.add(ScheduleWords(cron: "@reboot")) {
                        ($0.jitter, $0.misfire) = ("10h", mode)
                    }.id
                )
            }
            let again = try await restarted(restarted(test))
            try await again.advance(by: .hours(11))
            #expect(try await starts(again, jobs[0]) == ["coalesced", "fired"])
            #expect(try await starts(again, jobs[1]) == ["misfire", "fired"])
            #expect(try await starts(again, jobs[2]) == ["coalesced", "fired"])
            try await again.close()
        }
    }

    @Test(
        "A command that was to begin, and has not, is one row of two, or begins twice: never less"
    )
    func command() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "@reboot"), command: ["true"])
            let again = try await restarted(restarted(test))
            try await again.advance(by: .seconds(60))
            try await again.settle()
            let rows = try await again.history(job.id)
            #expect(rows.count == 2)
            #expect(rows.allSatisfy { $0.state == .done || $0.reason == .coalesced })
            #expect(rows.contains { $0.state == .done })
            #expect(rows.allSatisfy { $0.missed == nil })
            try await again.close()
        }
    }

    @Test("An event that may have been told is told again, and then the next start's")
    func event() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "@reboot"))
            let again = try await restarted(restarted(test))
            try await again.advance(by: .seconds(60))
            #expect(try await starts(again, job.id) == ["fired", "fired"])
            #expect(again.sink.all(.fireFired).map(\.redelivered) == [true, nil])
            try await again.close()
        }
    }

    @Test("A start in a pause, and the one before it that was still to come, are both paused over")
    func paused() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "@reboot")) { $0.jitter = "10h" }
            let second = try await restarted(test)
            try await second.change(job.id, .pause)
            let third = try await restarted(second)
            try await third.change(job.id, .resume)
            try await third.advance(by: .hours(11))
            #expect(try await starts(third, job.id) == ["paused", "paused"])
            try await third.close()
        }
    }

    @Test("Its count is not used up by a start that was not carried out")
    func counted() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "@reboot")) {
                ($0.jitter, $0.count) = ("10h", 1)
            }
            let again = try await restarted(restarted(test))
            try await again.advance(by: .hours(11))
            #expect(try await starts(again, job.id) == ["coalesced", "fired"])
            #expect(try await again.job(job.id).endReason == .count)
            try await again.close()
        }
    }
    @Test("Each start that passes while the job cannot be read has its row")
    func unread() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "@reboot")) { $0.name = "a" }
            let damage = HeldJobsTests.damages[0]
            try await HeldJobsTests.change(test, damage.sql, job.id)
            let second = try await restarted(restarted(test))
            #expect(try await starts(second, job.id) == ["held"])
            #expect(second.sink.all(.fireSkipped).map(\.job) == [job.id])
            try await HeldJobsTests.change(second, try #require(damage.repair), job.id)
            let third = try await restarted(second)
            try await third.advance(by: .seconds(60))
            #expect(try await starts(third, job.id) == ["held", "held", "fired"])
            try await third.close()
        }
    }

    @Test(
        "An undo brings back a start that was to come, and none that a pause has passed over",
        arguments: [true, false]
    )
    func restored(isPaused: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "@reboot")) { $0.jitter = "10h" }
            if isPaused { try await test.change(job.id, .pause) }
            let again = try await restarted(test)
            if !isPaused { try await again.change(job.id, .pause) }
            try await again.change(job.id, .invalidate)
            #expect(try await starts(again, job.id) == [isPaused ? "paused" : "invalidated"])
            _ = try await again.scheduler.restore(.ids([job.id]), caller: TestScheduler.root)
            try await again.change(job.id, .resume)
            try await again.advance(by: .hours(11))
            #expect(try await starts(again, job.id) == [isPaused ? "paused" : "fired"])
            try await again.close()
        }
    }

    @Test(
        "Who is told of all missed dates, by the daemon's own setting, is told of a start as well"
    )
    func told() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(cron: "@reboot")) {
                ($0.jitter, $0.misfire) = ("10h", .skip)
            }
            let second = try await restarted(test)
            var notices = NoticePolicy.Defaults()
            notices.places = [try #require(NoticePlace(NoticeSupport.place))]
            var machine = second.clock.machine
            machine.boot += 1
            _ = try await VirtualClock(
                machine,
                second.store,
                notices: notices,
                log: Logger(label: "test")
            )
            #expect(try await NoticeSupport.waiting(second).map(\.reason) == [.missed])
            try await second.close()
        }
    }
}
