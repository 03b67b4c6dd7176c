// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import Schedules
import Testing
import TimerControl

@testable import TimerWeb

/// What becomes of what was typed into a form that was made before the page was started anew.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct StaleFormTests {
    /// What a form is answered, of a page behind a proxy: at the address of the one before.
    private func send(
        _ path: String,
        _ fields: [String: String],
        _ daemon: TestDaemon
    ) async throws -> (status: HTTPResponse.Status, page: String, key: String) {
        let origin = try #require(Origin("https://timers.example.org"))
        let site = Site(
            access: Access(way: .proxy(origin: origin)),
            options: WebOptions(socket: daemon.socket, listening: .port(0), zone: .utc)
        )
        let form = fields.map { Link.Field($0.key, $0.value) } + [Link.Field("csrf", "before")]
        let request = HTTPRequest(
            method: .post,
            scheme: "https",
            authority: "timers.example.org",
            path: path
        )
        guard case .page(let status, let node) = await site.answer(request, form) else {
            throw CancellationError()
        }
        return (status, text(node), site.access.form.text)
    }

    @Test("It is in the form again, which has the new key; nothing is added or changed")
    func again() async throws {
        let daemon = try await TestDaemon()
        let job = try await daemon.connected { client in
            let rare = ScheduleWords(cron: "30 2 29 2 *")
            return try await client.addJob(JobDefinition(schedule: rare)).job
        }
        for path in ["/add", "/jobs/\(job.id)/change"] {
            var fields = [
                "kind": "cron", "schedule": "0 5 * * *", "tz": "UTC", "name": "typed", "do": "save",
            ]
            let (status, page, key) = try await send(path, fields, daemon)
            #expect(status == .unprocessableContent)
            #expect(page.contains("the page was started anew meanwhile: send the form once more"))
            #expect(page.contains("value=\"typed\""))
            #expect(page.contains("name=\"csrf\" value=\"\(key)\""))
            // What it will do is shown all the same, while one types.
            fields["do"] = "preview"
            let tried = try await send(path, fields, daemon)
            #expect(tried.status == .ok && tried.page.contains("<ol class=\"dates\">"))
            #expect(tried.page.contains("name=\"csrf\" value=\"\(tried.key)\""))
        }
        let jobs = try await daemon.connected { try await $0.listJobs(ListJobs()).jobs }
        #expect(jobs.map(\.definition) == [job.definition])
    }

    @Test("One in which nothing is typed is refused")
    func refused() async throws {
        let daemon = try await TestDaemon()
        let (status, page, _) = try await send("/jobs/1/fire", [:], daemon)
        #expect(status == .forbidden)
        #expect(page.contains("That form is too old"))
    }
}
