// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("JobDates") struct JobDatesTests {
    typealias Skipped = MisfirePolicy.SkippedDates

    /// The dates of a job every ten seconds by the wall clock, the one at 30 perhaps moved.
    private static func dates(movedTo to: Double? = nil) throws -> JobDates {
        var dates = JobDates(try StoredJob.sample(ScheduleWords(cron: "*/10 * * * * *")).schedule)
        dates.moved = to.map { JobDates.Moved(from: .start(30), to: .start($0)) }
        return dates
    }

    @Test(
        "The date that was moved takes its place; the schedule goes on behind both",
        arguments: [
            // As it is.
            (nil, 20, 30), (nil, 30, 40),
            // Moved earlier, later, and past others.
            (22, 20, 22), (22, 22, 40), (22, 29, 40),
            (35, 20, 35), (35, 30, 35), (35, 35, 40),
            (55, 20, 55), (55, 40, 55), (55, 55, 60), (55, 58, 60),
        ] as [(Double?, Double, Double)]
    )
    func next(moved: Double?, after: Double, expected: Double) throws {
        #expect(try Self.dates(movedTo: moved).next(after: .start(after)) == .start(expected))
    }

    @Test("Dates that have passed are counted from the moved one, which stands for those it passed")
    func passed() throws {
        let dates = try Self.dates(movedTo: 55)
        let all = dates.passed(from: .start(55), through: .start(85), newest: 2)
        #expect(all.count == 4)
        #expect(all.first == .start(55))
        #expect(all.newest == [.start(70), .start(80)])
        let alone = dates.passed(from: .start(55), through: .start(59), newest: 2)
        #expect(alone.count == 1)
        #expect(alone.newest == [.start(55)] && alone.last == .start(55))
        let few = dates.passed(from: .start(55), through: .start(65), newest: 5)
        #expect(few.newest == [.start(55), .start(60)])
        // The one that is due at this instant has passed too.
        #expect(dates.passed(from: .start(55), through: .start(60), newest: 1).last == .start(60))
        // From behind it, they are the schedule's own.
        #expect(dates.passed(from: .start(60), through: .start(85), newest: 9).count == 3)
    }

    @Test("The date that was moved earlier is none of those behind the one that it was moved to")
    func passedEarlier() throws {
        let dates = try Self.dates(movedTo: 22)
        let passed = dates.passed(from: .start(22), through: .start(45), newest: 9)
        #expect(passed.count == 2)
        #expect(passed.newest == [.start(22), .start(40)])
        let last = dates.last(of: 2, from: .start(22), through: .start(65))
        #expect(last.date == .start(40))
        #expect(last.count == 2)
    }

    @Test("The last of so many dates is counted from the moved one, which is always one of them")
    func last() throws {
        let dates = try Self.dates(movedTo: 55)
        for (number, end, last, count) in [
            (1, 85, 55, 1), (3, 85, 70, 3), (9, 85, 80, 4), (2, 50, 55, 1),
        ] as [(Int, Double, Double, Int)] {
            let found = dates.last(of: number, from: .start(55), through: .start(end))
            #expect(found.date == .start(last))
            #expect(found.count == count)
        }
    }

    @Test("Skipped dates that begin with one moved earlier are two ranges: between lies another")
    func parts() throws {
        let range = Skipped(first: .start(22), last: .start(60), count: 4, reason: .misfire)
        let parts = try Self.dates(movedTo: 22).parts(of: range)
        #expect(
            parts == [
                Skipped(first: .start(22), last: .start(22), count: 1, reason: .misfire),
                Skipped(first: .start(40), last: .start(60), count: 3, reason: .misfire),
            ]
        )
        #expect(try Self.dates().parts(of: range) == [range])
        let alone = Skipped(first: .start(22), last: .start(22), count: 1, reason: .misfire)
        #expect(try Self.dates(movedTo: 22).parts(of: alone) == [alone])
        let later = Skipped(first: .start(40), last: .start(60), count: 3, reason: .misfire)
        #expect(try Self.dates(movedTo: 22).parts(of: later) == [later])
    }

    @Test("Skipped dates that begin with one moved later are one range", arguments: [50, 55])
    func whole(to: Double) throws {
        let range = Skipped(first: .start(to), last: .start(80), count: 4, reason: .skip)
        #expect(try Self.dates(movedTo: to).parts(of: range) == [range])
    }

    @Test("Behind a date comes the next, up to the job's count and to its 'until' itself")
    func following() throws {
        var moment = ClockReading(elapsed: .start(0), wallOffset: .zero)
        var job = try StoredJob.sample()
        job.policy.count = 3
        #expect(job.next(after: .start(10), fires: 2, at: moment) == .date(.start(20)))
        #expect(job.next(after: .start(10), fires: 3, at: moment) == .ended(.count))
        (job.policy.count, job.policy.until) = (nil, .start(20))
        #expect(job.next(after: .start(10), fires: 9, at: moment) == .date(.start(20)))
        #expect(job.next(after: .start(20), fires: 9, at: moment) == .ended(.until))
        // That is a date of the wall clock, which may have been set since.
        moment.wallOffset = .seconds(1)
        #expect(job.next(after: .start(10), fires: 9, at: moment) == .ended(.until))
        let once = try StoredJob.sample(ScheduleWords(in: "10s"))
        #expect(once.next(after: .start(10), fires: 1, at: moment) == .ended(.once))
        #expect(once.next(after: .start(10), fires: 0, at: moment) == .ended(.missed))
    }

    @Test("Jitter puts a date off by the same each time, never to the next, and no moved one")
    func jitter() throws {
        var dates = try Self.dates(movedTo: 35)
        dates.jitter = .seconds(60)
        var offsets: Set<TimeSpan> = []
        for job in 1...50 as ClosedRange<Int64> {
            dates.job = JobID(rawValue: job)
            let due = dates.due(.start(50))
            #expect(due == dates.due(.start(50)))
            #expect(.start(50) <= due && due <= .start(60), "\(due)")
            offsets.insert(due - .start(50))
            #expect(dates.due(.start(35)) == .start(35))
        }
        #expect(offsets.count > 40, "jobs of one date spread")
    }

    @Test("The dates that are due end before one that its jitter puts off")
    func dueEnd() throws {
        var dates = try Self.dates()
        #expect(dates.dueEnd(from: .start(10), at: .start(20)) == .start(20))
        dates.jitter = .seconds(9)
        dates.job = JobID(rawValue: 1)
        let due = dates.due(.start(20))
        try #require(due > .start(20), "the offset of this job and date is not nothing")
        let before = due - TimeSpan(microseconds: 1)
        #expect(dates.dueEnd(from: .start(10), at: before) < .start(20))
        #expect(dates.dueEnd(from: .start(10), at: due) == due)
        #expect(dates.dueEnd(from: .start(20), at: before) < .start(20), "none is due")
    }
}
