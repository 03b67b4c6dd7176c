// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import Testing
import TimerControl

@testable import TimerWeb

@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct CalendarTests {
    /// A page of a daemon with one job an hour, on the clocks of Berlin unless others are named.
    private func page(
        _ path: String,
        zone: String = "Europe/Berlin",
        _ body: (RawClient.Reply, TestServer) async throws -> Void
    ) async throws {
        let daemon = try await TestDaemon()
        try await daemon.connected { client in
            var definition = JobDefinition(
                schedule: ScheduleWords(cron: "15 * * * *", tz: "Europe/Berlin")
            )
            definition.name = "hourly"
            _ = try await client.addJob(definition)
        }
        try await TestServer.run(socket: daemon.socket, zone: try Zone(named: zone)) { server in
            try await body(try await server.get(path), server)
        }
    }

    @Test("An hour that clocks go forward over is not there, and the page says why")
    func spring() async throws {
        try await page("/calendar?view=week&date=2031-03-30") { reply, _ in
            #expect(reply.body.contains("24 to 30 March 2031"))
            #expect(
                reply.body.contains("On Sun 30 Mar 2031 clocks go forward from 02:00 to 03:00.")
            )
            #expect(reply.body.ranges(of: "<td class=\"gone\">").count == 1)
            #expect(reply.body.ranges(of: "class=\"h-planned").count == 7 * 24 - 1)
            #expect(reply.body.ranges(of: "clocks +1 h</td>").count == 1)
        }
        let troll = "Antarctica/Troll"
        try await page("/calendar?view=week&date=2031-03-30", zone: troll) { reply, _ in
            #expect(reply.body.ranges(of: "clocks +2 h</td>").count == 2)
        }
    }

    @Test("An hour that comes twice is two cells, each with its zone")
    func autumn() async throws {
        try await page("/calendar?view=week&date=2031-10-26") { reply, _ in
            #expect(
                reply.body.contains(
                    "On Sun 26 Oct 2031 clocks go back from 03:00 to 02:00: 02:00 to 03:00 comes twice."
                )
            )
            #expect(reply.body.contains("02:00 to 02:00 CEST: 1 date to come"))
            #expect(reply.body.contains("02:00 to 03:00 CET: 1 date to come"))
        }
    }

    @Test(
        "A day of a clock change has 23 or 25 hours",
        arguments: [("2031-03-30", 23), ("2031-10-26", 25)]
    )
    func day(_ date: String, _ hours: Int) async throws {
        try await page("/calendar?view=day&date=\(date)") { reply, _ in
            #expect(reply.body.ranges(of: "will fire</a>").count == hours)
        }
    }

    @Test("A month is whole weeks, and a cell leads to its jobs")
    func month() async throws {
        try await page("/calendar?view=month&date=2031-11-24") { reply, server in
            #expect(reply.body.contains("November 2031"))
            #expect(reply.body.ranges(of: "class=\"h-planned").count == 35)
            let mark = try #require(reply.body.firstRange(of: "href=\"/calendar/dates")?.lowerBound)
            let link = reply.body[mark...].dropFirst(6).prefix { $0 != "\"" }
            let dates = try await server.get(String(link.replacing("&amp;", with: "&")))
            #expect(dates.status == 200)
            #expect(dates.body.contains("<bdi>hourly</bdi>"))
            #expect(dates.body.contains("24 times"))
        }
    }

    @Test("A row of many dates is shown in each stretch that has one of them, and in no other")
    func across() async throws {
        let daemon = try await TestDaemon()
        try await daemon.connected { client in
            let daily = JobDefinition(
                schedule: ScheduleWords(every: "1d", from: "2099-01-01T09:30:00Z")
            )
            let job = try await client.addJob(daily).job
            let first = try #require(job.fireDate)
            _ = try await client.skipJobs(SkipJobs(jobs: .ids([job.id]), count: 10))
            let day = TimeSpan.seconds(86_400)
            let now = first + .seconds(30 * 86_400)
            let session = try await Session(client)
            func page(_ from: Timestamp) async throws -> String {
                let link = Link("calendar", "dates").with("from", from.rfc3339)
                    .with("before", (from + .seconds(3600)).rfc3339)
                let visit = daemon.visit(link, now: now)
                return text(try await CalendarDatesPage(visit, session).page.content)
            }
            var date = first
            for _ in 0..<10 {
                #expect(try await page(date).contains("dropped on request"))
                #expect(try await page(date + .seconds(7200)).contains("Nothing was due."))
                date = date + day
            }
            #expect(try await page(date).contains("Nothing was due."))
            #expect(try await page(first - day).contains("Nothing was due."))
        }
    }

    @Test(
        "What is due in the first and in the last hour that there is has its page",
        arguments: [
            ("9999-12-31T23:00:00Z", "9999-12-31T23:59:59Z", "31 Dec 9999, 23:00 to 23:59 UTC"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:30:00Z", "Mon 1 Jan 1, "),
        ]
    )
    func ends(_ from: String, _ before: String, _ title: String) async throws {
        try await page("/calendar/dates?from=\(from)&before=\(before)") { reply, _ in
            #expect(reply.status == 200)
            #expect(reply.body.contains(title))
        }
    }

    @Test(
        "An address that means nothing is told, and shows nothing",
        arguments: ["?view=year", "?date=x", "?date=0000-00-00", "?view=month&date=9999-12-31"]
    )
    func nonsense(_ query: String) async throws {
        try await page("/calendar\(query)") { reply, _ in
            #expect(reply.status == 400)
            #expect(reply.body.contains("class=\"conflict\""))
            #expect(!reply.body.contains("/calendar/dates"))
        }
    }
}
