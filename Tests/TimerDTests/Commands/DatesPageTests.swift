// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Others' lists wait for a page that is read and counted.
@Suite("Pages of dates", .timeLimit(.minutes(1)))
struct DatesPageTests {
    private let start = TestScheduler.start

    private func page(_ test: TestScheduler, _ request: ReadDates) async throws -> DatesReply {
        let answer = try await test.handler().handle(.jobDates(request), from: 0).get()
        return try #require(answer as? DatesReply)
    }

    @Test("One ends where counting takes long, and the next one goes on there")
    func longCounts() async throws {
        try await TestScheduler.with { test in
            // Until the year 9999 each is counted year by year.
            try await test.add(
                Array(repeating: ScheduleWords(cron: "0 9 * * *"), count: 20),
                of: 0
            )
            var request = ReadDates(from: start, before: .distantFuture)
            var pages: [[Int64]] = []
            repeat {
                let page = try await page(test, request)
                pages.append(page.jobs.map(\.job.rawValue))
                request.cursor = page.cursor
            } while request.cursor != nil
            #expect(pages.count > 2 && pages.allSatisfy { !$0.isEmpty })
            #expect(pages.flatMap(\.self) == Array(1...20))
        }
    }

    @Test("One of a calendar ends where it takes long how many fires a job has left by its dates")
    func longCountsBeforeCalendar() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<20 {
                try await test.add(ScheduleWords(cron: "0 9 * * *")) { $0.count = 1_000_000_000 }
            }
            let last = Timestamp.distantFuture + .seconds(-86_400)
            var request = ReadCalendar(
                from: last,
                before: last + .seconds(3600),
                bucket: .hour
            )
            var pages = 0
            repeat {
                let answer = try await test.handler().handle(.jobCalendar(request), from: 0).get()
                request.cursor = try #require(answer as? CalendarReply).cursor
                pages += 1
            } while request.cursor != nil
            #expect(pages > 2)
        }
    }
}
