// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("Calendars", .timeLimit(.minutes(2)))
struct CalendarTests {
    private let ann: UInt32 = 1001
    private let start = TestScheduler.start

    private func request(_ hours: Int64, from: Int64 = 0) -> ReadCalendar {
        ReadCalendar(
            from: start + .seconds(3600 * from),
            before: start + .seconds(3600 * (from + hours)),
            bucket: .hour
        )
    }

    /// What will fire, by the hours from the start of the test.
    private func coming(_ test: TestScheduler, _ request: ReadCalendar, from uid: UInt32 = 0)
        async throws -> [Int64: Int]
    {
        var (request, counts): (ReadCalendar, [Int64: Int]) = (request, [:])
        repeat {
            let answer = try await test.handler().handle(.jobCalendar(request), from: uid).get()
            let page = try #require(answer as? CalendarReply)
            for bucket in page.buckets { counts[hour(bucket.from), default: 0] += bucket.count }
            request.cursor = page.cursor
        } while request.cursor != nil
        return counts
    }

    /// What became of what was due, by the hours from the start of the test.
    private func past(_ test: TestScheduler, _ request: ReadCalendar, from uid: UInt32 = 0)
        async throws -> [Int64: DueCounts]
    {
        var (request, counts): (ReadCalendar, [Int64: DueCounts]) = (request, [:])
        repeat {
            let answer = try await test.handler().handle(.runCalendar(request), from: uid).get()
            let page = try #require(answer as? RunCalendarReply)
            for bucket in page.buckets {
                counts[hour(bucket.from), default: DueCounts()] += bucket.counts
            }
            request.cursor = page.cursor
        } while request.cursor != nil
        return counts
    }

    private func hour(_ date: Timestamp) -> Int64 { (date - start).microseconds / 3_600_000_000 }

    private func counts(
        succeeded: Int = 0,
        failed: Int = 0,
        missed: Int = 0,
        skipped: Int = 0,
        open: Int = 0
    ) -> DueCounts {
        var counts = DueCounts()
        (counts.succeeded, counts.failed, counts.missed) = (succeeded, failed, missed)
        (counts.skipped, counts.open) = (skipped, open)
        return counts
    }

    @Test("What will fire is counted by hours, of one's own jobs alone, with a tag if asked")
    func coming() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(every: "10m")) { $0.tags = ["x"] }
            try await test.add([ScheduleWords(at: "2026-12-01T09:30:00Z")], of: ann)
            try await test.add(ScheduleWords(every: "1s")) { $0.paused = true }
            #expect(try await coming(test, request(3)) == [0: 5, 1: 7, 2: 6])
            #expect(try await coming(test, request(3), from: ann) == [1: 1])
            var tagged = request(2, from: 1)
            tagged.tag = "x"
            #expect(try await coming(test, tagged) == [1: 6, 2: 6])
            var owned = request(3)
            owned.owner = "1001"
            #expect(try await coming(test, owned) == [1: 1])
        }
    }

    @Test("Dates that are dropped are not to come")
    func dropped() async throws {
        try await TestScheduler.with { test in
            for count in [nil, 3] {
                let job = try await test.add(ScheduleWords(every: "10m")) { $0.count = count }
                for count in [3, 4] { try await test.change(job.id, .skip(count)) }
                try await test.change(job.id, .setFireDate(start + .seconds(1800)))
                let seconds: [Int64] = [1800, 4800, 5400] + (count == nil ? [6000, 6600] : [])
                #expect(try await coming(test, request(2)) == [0: 1, 1: seconds.count - 1])
                let dates = ReadDates(from: start, before: start + .seconds(7200))
                let answer = try await test.handler().handle(.jobDates(dates), from: 0).get()
                let page = try #require(answer as? DatesReply)
                #expect(page.jobs.map(\.dates) == [seconds.map { start + .seconds($0) }])
                #expect(page.jobs.map(\.count) == [seconds.count])
                try await test.change(job.id, .invalidate)
            }
        }
    }

    @Test("More jobs than one page looks at are all counted, each once")
    func pages() async throws {
        try await TestScheduler.with { test in
            let words = Array(repeating: ScheduleWords(every: "30m"), count: 1000)
            for _ in 0..<2 { try await test.add(words, of: 0) }
            try await test.add(ScheduleWords(every: "30m"))
            let first = try await test.handler().handle(.jobCalendar(request(1)), from: 0).get()
            #expect((first as? CalendarReply)?.cursor == .job(JobID(rawValue: 1000)))
            #expect(try await coming(test, request(1)) == [0: 2001])

            var (dates, jobs): (ReadDates, [DatesReply.JobDates]) = (
                ReadDates(from: start, before: start + .seconds(3600)), []
            )
            dates.limit = 700
            repeat {
                let answer = try await test.handler().handle(.jobDates(dates), from: 0).get()
                let page = try #require(answer as? DatesReply)
                jobs += page.jobs
                dates.cursor = page.cursor
            } while dates.cursor != nil
            #expect(jobs.map(\.job.rawValue) == Array(1...2001))
            #expect(jobs.allSatisfy { $0.count == 1 && $0.dates == [start + .seconds(1800)] })
        }
    }

    @Test("What failed has failed though its run is kept no more", arguments: [0, 2])
    func trimmed(retries: Int) async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(1)
            let job = try await test.add(ScheduleWords(every: "10m"), command: ["c"]) {
                ($0.retries, $0.backoff, $0.keepRuns) = (retries, "1s", 2)
                $0.onFailure = ["alarm"]
            }
            test.runner.answer = { $0.argv == ["alarm"] ? .exited(0) : nil }
            try await test.advance(by: .seconds(3100))
            let runs = try await test.history(job.id)
            let without = runs.filter { $0.id == nil }
            #expect(!without.isEmpty && without.allSatisfy { $0.failed == true })
            let fires = Set(runs.map(\.fire)).count
            #expect(try await past(test, request(1))[0] == counts(failed: fires))
        }
    }

    /// How a task is over that no worker has finished.
    enum TaskEnd: CaseIterable {
        case killed, killedAfterFailure, replaced, failedOfEnded, leaseOfEnded
    }

    @Test(
        "A task that is over with an attempt that has failed, or was lost, has failed",
        arguments: TaskEnd.allCases
    )
    func tasks(end: TaskEnd) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1d")) {
                ($0.queue, $0.overlap) = ("mails", end == .replaced ? .replace : .allow)
                ($0.retries, $0.backoff) = (3, "0s")
            }
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            var task = try #require(try await test.reserve("mails").first)
            if end == .killedAfterFailure {
                _ = try await test.fail(task)
                task = try #require(try await test.reserve("mails").first)
            }
            switch end {
            case .killed, .killedAfterFailure:
                _ = try await test.scheduler.change(
                    .ids([job.id]),
                    .invalidate,
                    caller: TestScheduler.root,
                    kill: true
                )
            case .replaced:
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            case .failedOfEnded:
                try await test.change(job.id, .invalidate)
                #expect(try await test.fail(task).state == .done)
            case .leaseOfEnded:
                try await test.change(job.id, .invalidate)
                try await test.advance(by: .seconds(61))
            }
            try await test.settle()
            let counted = try await past(test, request(1))[0]
            #expect(counted == counts(failed: 1, open: end == .replaced ? 1 : 0))
        }
    }

    @Test("A dead task that was retried and finished has succeeded")
    func retried() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1d")) {
                ($0.queue, $0.retries) = ("mails", 0)
            }
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            let task = try #require(try await test.reserve("mails").first)
            #expect(try await test.fail(task).state == .dead)
            try await test.settle()
            #expect(try await past(test, request(1))[0] == counts(failed: 1))
            _ = try await test.scheduler.care(TestScheduler.root) {
                try $0.retry(.fires([task.fire]), TestScheduler.root)
            }
            let again = try #require(try await test.reserve("mails").first)
            _ = try await test.finish(again)
            try await test.settle()
            #expect(try await past(test, request(1))[0] == counts(succeeded: 1))
        }
    }

    @Test("What came of dates is counted by how their last attempt ended, or why there was none")
    func past() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(every: "20m"))
            try await test.add(ScheduleWords(every: "30m"), command: ["x"]) {
                ($0.retries, $0.backoff, $0.onFailure) = (1, "1s..1s", ["notify"])
            }
            let skipped = try await test.add(ScheduleWords(every: "15m"))
            try await test.change(skipped.id, .skip(2))
            test.runner.outcome = .exited(3)
            try await test.advance(by: .seconds(3600))
            #expect(
                try await past(test, request(2)) == [
                    0: counts(succeeded: 3, failed: 1, skipped: 2),
                    1: counts(succeeded: 2, open: 1),
                ]
            )
            #expect(try await past(test, request(2), from: ann) == [:])
            // What has fired is not to come, what is to come has not become anything.
            #expect(try await coming(test, request(1)) == [:])
            #expect(try await coming(test, request(1, from: 1)) == [1: 6])
            test.runner.isHolding = true
            try await test.change(skipped.id, .pause)
            try await test.advance(by: .seconds(1800))
            #expect(try await past(test, request(1, from: 1))[1]?.open == 1)
        }
    }

    @Test("Dates that passed in a row, stored as one, are spread over the hours in which they lay")
    func ranges() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1m")) { $0.misfire = .skip }
            try await test.change(job.id, .pause)
            try await test.advance(by: .seconds(3 * 3600 + 30))
            try await test.change(job.id, .resume)
            // The last of them is not late yet, and fires.
            try await test.advance(by: .seconds(1))
            let past = try await past(test, request(4))
            let all = past.values.map { $0.skipped + $0.missed + $0.succeeded }
            #expect(all.reduce(0, +) == 180)
            #expect(past[1].map { $0.skipped + $0.missed } == 60)
            // Those of the hour in the middle alone.
            let middle = try await self.past(test, request(1, from: 1))
            #expect(middle == [1: try #require(past[1])])
        }
    }

    @Test(
        "Numbers that there cannot be, of damaged rows, end nothing: neither the calendar nor a start"
    )
    func damaged() async throws {
        try await TestScheduler.with { test in
            for _ in 1...4 {
                let job = try await test.add(ScheduleWords(every: "5s"))
                try await test.change(job.id, .skip(4))
            }
            try await test.settle()
            func damage(_ column: String, in test: TestScheduler) async throws {
                try await test.store.writer.write { database in
                    try database.prepare(
                        "UPDATE fires SET \(column) = 4611686018427387903 WHERE last_date_us IS NOT NULL"
                    ).run()
                }
            }
            try await damage("dates", in: test)
            #expect(try await past(test, request(1))[0]?.skipped == 4 << 40)
            try await damage("wall_date_us", in: test)
            let after = try await test.crashedAndDown(for: .seconds(30))
            try await after.advance(by: .seconds(10))
            #expect(await after.scheduler.measures().counters.fires.event > 0)
            _ = try await past(after, request(1))
            try await after.close()
        }
    }

    @Test("Pages of any size count each fire and each range once")
    func pagesOfThePast() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<3 {
                let job = try await test.add(ScheduleWords(every: "7m"))
                try await test.change(job.id, .pause)
                try await test.advance(by: .seconds(3600))
                try await test.change(job.id, .resume)
                try await test.advance(by: .seconds(1200))
            }
            try await test.settle()
            let buckets = try #require(
                CalendarBuckets(hoursFrom: start, before: start + .seconds(18_000), atMost: 9)
            )
            func counts(_ limit: Int) async throws -> [DueCounts] {
                try await test.store.reader.read { database in
                    var (sum, cursor) = (
                        Array(repeating: DueCounts(), count: 5), nil as CalendarCursor?
                    )
                    repeat {
                        let part = try Queries(database).countsOfFires(
                            in: buckets,
                            tag: nil,
                            owner: nil,
                            after: cursor,
                            limit: limit
                        )
                        for (bucket, more) in part.found.enumerated() { sum[bucket] += more }
                        cursor = part.cursor
                    } while cursor != nil
                    return sum
                }
            }
            let whole = try await counts(1000)
            #expect(whole.map(\.succeeded).reduce(0, +) > 9)
            #expect(whole.map { $0.missed + $0.skipped }.reduce(0, +) > 9)
            for limit in [1, 2, 3, 7] { #expect(try await counts(limit) == whole, "\(limit)") }
        }
    }

    @Test("What a request gets wrong is refused with what is accepted")
    func refusals() async throws {
        try await TestScheduler.with { test in
            func message(_ request: Request) async -> String? {
                guard case .failure(let error) = await test.handler().handle(request, from: 0)
                else { return nil }
                return error.message
            }
            #expect(
                await message(.jobCalendar(request(801)))
                    == "parameter 'before' is 2027-01-03T17:00:00.000000Z, expected at most 800 buckets of an hour after "
                    + "'from', 2026-12-01T08:00:00.000000Z"
            )
            #expect(await message(.jobCalendar(request(800))) == nil)
            var unknown = request(24)
            (unknown.bucket, unknown.tz) = (.day, "Mars/Olympus")
            #expect(await message(.runCalendar(unknown))?.hasPrefix("parameter 'tz': ") == true)
        }
    }
}
