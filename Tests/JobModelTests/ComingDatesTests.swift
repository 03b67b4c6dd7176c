// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import JobModel

@Suite("Dates to come of a job") struct ComingDatesTests {
    private static let start = Timestamp.start(0)
    private let moment = ClockReading(elapsed: start, wallOffset: .seconds(500))

    private func job(
        _ schedule: Schedule,
        next: Timestamp? = nil,
        _ change: (inout StoredJob) -> Void = { _ in }
    ) throws -> StoredJob {
        var job = try StoredJob.sample()
        job.clock = .wall
        job.schedule = schedule
        job.fireDate = next ?? schedule.nextFireDate(after: Self.start)
        change(&job)
        return job
    }

    private func dates(_ job: StoredJob, _ from: Int64, _ end: Int64) -> ComingDates {
        ComingDates(
            of: job,
            from: Self.start + .seconds(from),
            before: Self.start + .seconds(end),
            at: moment
        )
    }

    private func seconds(_ dates: [Timestamp]) -> [Int64] {
        dates.map { ($0 - Self.start).microseconds / 1_000_000 }
    }

    private func grid(_ seconds: Int64, from first: Int64 = 0) -> Schedule {
        .every(IntervalGrid(first: Self.start + .seconds(first), interval: .seconds(seconds)))
    }

    @Test("They begin with the next fire, and end before the end, or with 'count' and 'until'")
    func ends() throws {
        let hourly = try job(grid(3600), next: Self.start + .seconds(3600))
        #expect(seconds(dates(hourly, 0, 14_400).first(10)) == [3600, 7200, 10_800])
        #expect(seconds(dates(hourly, 7200, 14_400).first(10)) == [7200, 10_800])
        #expect(seconds(dates(hourly, 0, 14_401).first(2)) == [3600, 7200])
        #expect(dates(hourly, 0, 14_401).count == 4)
        var counted = hourly
        counted.policy.count = 5
        counted.fires = 2
        #expect(seconds(dates(counted, 0, 99_999).first(10)) == [3600, 7200, 10_800])
        #expect(dates(counted, 0, 99_999).count == 3)
        #expect(seconds(dates(counted, 7201, 99_999).first(10)) == [10_800])
        #expect(dates(counted, 10_801, 99_999).first(10).isEmpty)
        #expect(dates(counted, 10_801, 99_999).count == 0)
        var until = hourly
        until.policy.until = Self.start + .seconds(7200)
        #expect(seconds(dates(until, 0, 99_999).first(10)) == [3600, 7200])
    }

    @Test("Of elapsed time, they are told by the wall clock; 'until' is of the wall clock anyway")
    func elapsed() throws {
        let elapsed = try job(grid(3600), next: Self.start + .seconds(3600)) {
            $0.clock = .elapsed
            $0.policy.until = Self.start + .seconds(7700)
        }
        #expect(seconds(dates(elapsed, 0, 14_400).first(10)) == [4100, 7700])
        #expect(seconds(dates(elapsed, 4101, 14_400).first(10)) == [7700])
    }

    @Test("A date that was moved comes once, and the dates that it stands for do not")
    func moved() throws {
        let moved = try job(grid(3600), next: Self.start + .seconds(8000)) {
            $0.movedFrom = Self.start + .seconds(3600)
        }
        #expect(seconds(dates(moved, 0, 14_401).first(10)) == [8000, 10_800, 14_400])
        #expect(dates(moved, 0, 14_401).count == 3)
        #expect(seconds(dates(moved, 8001, 14_401).first(10)) == [10_800, 14_400])
    }

    @Test("A date that has its row already does not come, and takes nothing of 'count'")
    func taken() throws {
        let hourly = try job(grid(3600), next: Self.start + .seconds(3600)) {
            $0.policy.count = 3
        }
        func row(_ first: Int64, _ last: Int64) -> TakenDates {
            TakenDates(first: Self.start + .seconds(first), last: Self.start + .seconds(last))
        }
        // The last is of another grid.
        let rows = [row(3600, 3600), row(10_800, 14_400), row(18_001, 99_999)]
        for from: Int64 in [0, 7201] {
            let coming = ComingDates(
                of: hourly,
                without: rows,
                from: Self.start + .seconds(from),
                before: Self.start + .seconds(99_999),
                at: moment
            )
            let expected: [Int64] = [7200, 18_000, 21_600].filter { $0 >= from }
            #expect(seconds(coming.first(10)) == expected)
            #expect(coming.count == expected.count)
        }
    }

    @Test("Jobs that are paused, held or over, and those of the next start, have none")
    func none() throws {
        let hourly = try job(grid(3600))
        for change in [
            { $0.state = .paused }, { $0.state = .finished }, { $0.held = "gone" },
            { $0.fireDate = nil },
        ] as [(inout StoredJob) -> Void] {
            var job = hourly
            change(&job)
            #expect(dates(job, 0, 99_999).first(1).isEmpty && dates(job, 0, 99_999).count == 0)
        }
    }

    @Test(
        "By buckets, walked through or by arithmetic, there are as many as one after the other",
        arguments: [
            "* * * * * *", "*/7 * * * * *", "* * * * *", "17 */3 * * *", "30 2 * * *", "0 0 1 * *",
            "15 2,3 * * 6", "*/20 0-3 25 10 *",
        ]
    )
    func arithmetic(cron: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        // Over the change to winter time.
        let from = try #require(Timestamp(rfc3339: "2026-10-24T10:00:00Z"))
        let schedule = Schedule.cron(try CronExpression(parsing: cron, zone: zone))
        let buckets = try #require(
            CalendarBuckets(hoursFrom: from, before: from + .seconds(30 * 3600), atMost: 30)
        )
        // One range, and two that overlap.
        let ranges: [(Int64, Int64)] = [(7000, 12_000), (40_000, 60_000), (50_000, 61_000)]
        let dropped = ranges.map {
            TakenDates(first: from + .seconds($0.0), last: from + .seconds($0.1))
        }
        for count in [nil, 1, 64, 125, 130, 20_000] {
            for taken in [[], dropped] {
                let job = try job(schedule, next: schedule.nextFireDate(after: from)) {
                    $0.policy.count = count
                }
                let coming = ComingDates(
                    of: job,
                    without: taken,
                    from: from,
                    before: from + .seconds(30 * 3600),
                    at: moment
                )
                var expected = Array(repeating: 0, count: 30)
                let dates = coming.first(.max)
                for range in taken {
                    #expect(!dates.contains { range.first <= $0 && $0 <= range.last })
                }
                for date in dates { expected[try #require(buckets.index(of: date))] += 1 }
                var numbers = Array(repeating: 0, count: 30)
                let looked = coming.count(into: &numbers, by: buckets)
                #expect(numbers == expected, "count \(String(describing: count))")
                #expect(coming.count == expected.reduce(0, +))
                #expect(looked <= 2 * 30 + 64 + 30)
            }
        }
    }

    @Test("A date that is not the schedule's own comes, also in between dropped ones")
    func movedBetweenDropped() throws {
        let cron = ScheduleWords(cron: "0 * * * *")
        let schedule = try cron.schedule(anchor: Self.start, zone: .utc)
        let lone = try job(schedule, next: Self.start + .seconds(5400))
        let (first, last) = (Self.start + .seconds(3600), Self.start + .seconds(7200))
        let coming = ComingDates(
            of: lone,
            without: [TakenDates(first: first, last: last)],
            from: Self.start,
            before: Self.start + .seconds(14_401),
            at: moment
        )
        #expect(seconds(coming.first(10)) == [5400, 10_800, 14_400])
        #expect(coming.count == 3)
    }

    @Test("What it takes to count them grows with the years that they are counted over")
    func work() throws {
        let schedule = try ScheduleWords(cron: "0 * * * *").schedule(anchor: Self.start, zone: .utc)
        let (hourly, century): (StoredJob, Int64) = (try job(schedule), 100 * 365 * 86_400)
        let counted = try job(schedule) { $0.policy.count = 1_000_000_000 }
        #expect(dates(hourly, 0, 14_400).work == 0)
        #expect(dates(hourly, 0, century + 86_400).work == 800)
        #expect(dates(hourly, century, century + 86_400).work == 0)
        #expect(dates(counted, century, century + 86_400).work == 800)
        #expect(try dates(job(grid(3600)), 0, century + 86_400).work == 0)
        #expect(try dates(job(schedule) { $0.state = .paused }, 0, century).work == 0)
    }
}
