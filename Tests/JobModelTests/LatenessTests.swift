// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("Lateness") struct LatenessTests {
    /// The wall clock is seven seconds ahead of the job's.
    private static let offset = TimeSpan.seconds(7)

    private static func reading(_ date: Timestamp) -> ClockReading {
        ClockReading(elapsed: date, wallOffset: offset)
    }

    private static func job() throws -> StoredJob {
        try StoredJob.sample(ScheduleWords(every: "1h")) {
            ($0.command, $0.jitter, $0.tolerance) = (["x"], "30min", "1min")
        }
    }

    @Test("A fire is due by what its jitter and its tolerance put it off, by the wall clock")
    func dueBy() throws {
        let job = try Self.job()
        let date = try #require(job.fireDate)
        let due = job.dates.due(date)
        try #require(due > date)
        #expect(
            job.dueBy(date, at: Self.reading(due)) == due + .seconds(60) + Self.offset
        )
        let plain = try StoredJob.sample(ScheduleWords(every: "1h"))
        #expect(plain.dueBy(date, at: Self.reading(due)) == nil)
    }

    @Test("A date that was moved alone is due when it was moved to, without jitter")
    func moved() throws {
        var job = try Self.job()
        let date = try #require(job.fireDate)
        (job.movedFrom, job.fireDate) = (date, date + .seconds(5))
        #expect(
            job.dueBy(date + .seconds(5), at: Self.reading(date)) == date + .seconds(65)
                + Self.offset
        )
    }

    @Test("A command that was spread, or put off to share a wake-up, is not among the late ones")
    func command() throws {
        let job = try Self.job()
        let date = try #require(job.fireDate)
        let last = job.dates.due(date) + .seconds(60)
        var fire = CommandFire(
            id: FireID(rawValue: 1),
            job: job,
            fireDate: date + Self.offset,
            dueBy: last + Self.offset
        )
        #expect(!fire.isLate(at: Self.reading(last + CommandFire.lateness)))
        #expect(
            fire.isLate(at: Self.reading(last + CommandFire.lateness + TimeSpan(microseconds: 1)))
        )
        fire.missed = 1
        #expect(fire.isLate(at: Self.reading(date)))
        fire.missed = 0
        fire.dueBy = nil
        #expect(!fire.isLate(at: Self.reading(date + .seconds(1))))
        #expect(fire.isLate(at: Self.reading(date + .seconds(2))))
    }

    @Test("What has begun is no later for its next attempt, unless it made up for missed dates")
    func begun() throws {
        let job = try Self.job()
        let date = try #require(job.fireDate)
        var fire = CommandFire(
            id: FireID(rawValue: 1),
            job: job,
            fireDate: date + Self.offset,
            firedAt: date + Self.offset,
            attempt: 2
        )
        #expect(!fire.isLate(at: Self.reading(date + .seconds(3600))))
        fire.missed = 1
        #expect(fire.isLate(at: Self.reading(date + .seconds(3600))))
    }
}
