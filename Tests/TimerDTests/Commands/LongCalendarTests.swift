// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Calendars of thousands of years", .timeLimit(.minutes(2)))
struct LongCalendarTests {
    private let end = Timestamp(rfc3339: "9990-01-01T00:00:00Z") ?? .distantFuture

    /// Adds 20 jobs that fire each hour.
    private func addJobs(_ test: TestScheduler) async throws {
        for _ in 1...20 {
            try await test.add(ScheduleWords(cron: "0 * * * *", tz: "UTC")) {
                $0.count = 1_000_000_000
            }
        }
    }

    @Test("The dates of jobs come in pages of few jobs, each job once")
    func dates() async throws {
        try await TestScheduler.with { test in
            try await addJobs(test)
            var dates = ReadDates(from: TestScheduler.start, before: end)
            (dates.each, dates.limit) = (1, 1000)
            var pages: [Int] = []
            repeat {
                let answer = try await test.handler().handle(.jobDates(dates), from: 0).get()
                let page = try #require(answer as? DatesReply)
                pages.append(page.jobs.count)
                dates.cursor = page.cursor
            } while dates.cursor != nil
            #expect(pages.reduce(0, +) == 20)
            #expect(pages.count > 2)
        }
    }

    @Test("So does a calendar that begins behind them, of jobs with a last date")
    func calendar() async throws {
        try await TestScheduler.with { test in
            try await addJobs(test)
            var hours = ReadCalendar(from: end, before: end + .seconds(7200), bucket: .hour)
            var pages: [Int] = []
            repeat {
                let answer = try await test.handler().handle(.jobCalendar(hours), from: 0).get()
                let page = try #require(answer as? CalendarReply)
                pages.append(page.buckets.map(\.count).reduce(0, +))
                hours.cursor = page.cursor
            } while hours.cursor != nil
            #expect(pages.reduce(0, +) == 40)
            #expect(pages.count > 2)
        }
    }
}
