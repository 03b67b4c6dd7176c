// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import Testing
import TimerControl

@testable import TimerWeb

/// The pages of a real daemon.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct PageTests {
    private static let evil = "<img src=x onerror=alert(1)>\"'&amp;\u{202e}x"

    private static let paths = [
        "/", "/jobs", "/jobs?state=failing", "/jobs?sort=name&q=x", "/runs", "/runs?failed=1",
        "/queues", "/doctor",
        "/calendar", "/calendar?view=day", "/calendar?view=month", "/add",
    ]

    @Test("A hostile name is harmless in every field of every page")
    func hostile() async throws {
        let daemon = try await TestDaemon()
        let (job, run) = try await daemon.connected { client -> (JobID, RunID) in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.name = Self.evil
            definition.tags = [Self.evil]
            definition.command = [
                "/bin/sh", "-c", "printf '\(Self.evil.filter { $0 != "'" })'; exit 3", Self.evil,
            ]
            definition.env = ["E": Self.evil]
            definition.userInfo = try JSONText(encoding: [Self.evil])
            definition.notify = ["none"]
            let job = try await client.addJob(definition).job
            var queued = JobDefinition(schedule: ScheduleWords(in: "1ms"))
            (queued.name, queued.queue) = ("q", Self.evil.filter { $0 != "\u{202e}" })
            _ = try await client.addJob(queued)
            try await client.subscribe()
            try await client.fireJob(.id(job.id))
            for try await event in client.events where event.type == .runFinished {
                return (job.id, try #require(event.run))
            }
            throw CancellationError()
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let all =
                Self.paths + [
                    "/jobs/\(job)", "/jobs/\(job)/change", "/jobs/\(job)/end", "/runs/\(run)",
                    "/runs/\(run)/kill",
                    "/jobs?q=%3Cimg%20src%3Dx&tag=%3Cimg&state=%22%3E%3Cimg%20src%3D",
                    "/runs?q=%3Cimg%20&since=%3Cimg",
                    "/add?name=%3Cimg%20src%3D%22&command=%3C%2Ftextarea%3E%3Cimg%20src%3D",
                    "/%3Cimg%20src%3D",
                    "/calendar?tag=%22%3E%3Cimg%20src%3D",
                ]
            for path in all {
                let reply = try await server.get(path)
                #expect(reply.head.contains("text/html; charset=utf-8"), "\(path)")
                #expect(!reply.body.contains("<img"), "\(path)")
                // What a field holds comes back with its form, and is not shown as text.
                let shown = reply.body.replacing(/value="[^"]*"|<textarea[^>]*>[^<]*/, with: "")
                #expect(!shown.contains("\u{202e}"), "\(path)")
                #expect(!reply.body.contains("style="), "\(path)")
                #expect(
                    !reply.body.contains("http://") && !reply.body.contains("https://"),
                    "\(path)"
                )
            }
            let isShown = try await server.get("/jobs/\(job)").body.contains(
                "&lt;img src=x onerror=alert(1)&gt;"
            )
            #expect(isShown)
        }
    }

    @Test("Each action is done, says so once, and offers to undo what can be undone")
    func actions() async throws {
        let daemon = try await TestDaemon()
        let id = try await daemon.connected { client in
            var definition = JobDefinition(schedule: ScheduleWords(cron: "30 2 * * *"))
            (definition.name, definition.command) = ("nightly", ["true"])
            return try await client.addJob(definition).job.id
        }
        func job() async throws -> Job { try await daemon.connected { try await $0.job(.id(id)) } }
        try await TestServer.run(socket: daemon.socket) { server in
            let paused = try await server.follow("/jobs/\(id)/pause")
            #expect(paused.body.contains("is paused: no date fires until it is resumed."))
            #expect(paused.body.contains("action=\"/jobs/\(id)/resume\""))
            // It would be refused: its next date is not known.
            #expect(!paused.body.contains("action=\"/jobs/\(id)/skip\""))
            let stateOfPaused = try await job().state
            #expect(stateOfPaused == .paused)
            _ = try await server.follow("/jobs/\(id)/resume")
            let resumed = try await job().state
            #expect(resumed == .scheduled)

            let before = try await job().fireDate
            _ = try await server.follow("/jobs/\(id)/skip", "count=2")
            let skipped = try await job().fireDate
            #expect(skipped == before.map { $0 + .seconds(2 * 86_400) })
            let moved = try await server.follow("/jobs/\(id)/move", "to=%2B10min")
            #expect(moved.body.contains("Undo"))
            let isRefused = try await server.follow("/jobs/\(id)/move", "to=never").body.contains(
                "flash failed"
            )
            #expect(isRefused)
            let isFired = try await server.follow("/jobs/\(id)/fire").body.contains("was fired.")
            #expect(isFired)

            let question = try await server.get("/jobs/\(id)/end")
            #expect(question.body.contains("id=\"confirm\""))
            #expect(question.body.contains("It fires no more."))
            let asked = try await job().state
            #expect(asked == .scheduled)
            let ended = try await server.post("/jobs/\(id)/end", "")
            let location = try #require(ended.field("Location"))
            let isTold = try await server.get(location).body.contains("is ended: it fires no more.")
            #expect(isTold)
            // Once.
            let isToldAgain = try await server.get(location).body.contains(
                "is ended: it fires no more."
            )
            #expect(!isToldAgain)
            let stateOfEnded = try await job().state
            #expect(stateOfEnded == .invalidated)
            _ = try await server.follow("/jobs/\(id)/undo")
            let restored = try await job().state
            #expect(restored == .scheduled)
            let unknown = try await server.post("/jobs/99/fire", "").status
            #expect(unknown == 404)
        }
    }

    @Test("A job is tried, added and changed by a form, and what is wrong is told at its field")
    func form() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            let fields =
                "kind=cron&schedule=30+2+*+*+*&tz=Europe%2FBerlin&name=nightly&command=echo+%22a+b%22"
            let preview = try await server.post("/add", fields + "&do=preview")
            #expect(preview.status == 200)
            #expect(preview.body.contains("Runs at 02:30 every day, Europe/Berlin"))
            #expect(
                preview.body.contains("timerctl add --cron &#39;30 2 * * *&#39;")
                    || preview.body.contains("timerctl add --cron '30 2 * * *'")
            )
            let isUntouched = try await daemon.connected { try await $0.listJobs().jobs.isEmpty }
            #expect(isUntouched)

            let wrong = try await server.post(
                "/add",
                "kind=cron&schedule=61+2+*+*+*&timeout=2+parsecs&do=save"
            )
            #expect(wrong.status == 422)
            #expect(
                wrong.body.contains("id=\"e-schedule\"") && wrong.body.contains("id=\"e-timeout\"")
            )

            let added = try await server.follow("/add", fields + "&do=save")
            #expect(added.body.contains("was added"))
            let job = try #require(
                try await daemon.connected { try await $0.listJobs().jobs.first }
            )
            #expect(job.definition.command == ["echo", "a b"])
            let isTaken = try await server.post("/add", fields + "&do=save").body.contains(
                "id=\"e-name\""
            )
            #expect(isTaken)

            let form = try await server.get("/jobs/\(job.id)/change")
            let revision = try #require(form.hidden("revision"))
            let change =
                fields + "&retries=2&overlap=skip&misfire=once&do=save&revision=\(revision)"
            _ = try await server.follow("/jobs/\(job.id)/change", change)
            let changed = try await daemon.connected { try await $0.job(.id(job.id)) }
            #expect(changed.definition.retries == 2)
            // The form was made of what is no more.
            let stale = try await server.post(
                "/jobs/\(job.id)/change",
                change.replacing("retries=2", with: "retries=3")
            )
            #expect(stale.status == 422)
        }
    }

    @Test("Several jobs, or all that match, are asked of first and changed then")
    func bulk() async throws {
        let daemon = try await TestDaemon()
        try await daemon.connected { client in
            let jobs = (0..<150).map { index in
                var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
                (definition.name, definition.tags) = (
                    "poll-\(index)", [index < 140 ? "poll" : "other"]
                )
                return definition
            }
            _ = try await client.addJobs(jobs)
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let first = try await server.get("/jobs?tag=poll")
            #expect(first.body.contains("rel=\"next\""))
            let question = try await server.post("/jobs/act", "do=pause&all=1&query=%3Ftag%3Dpoll")
            #expect(question.body.contains("Pause 140 jobs?"))
            let ids = try #require(question.hidden("ids"))
            let done = try await server.follow(
                "/jobs/act",
                "do=pause&confirmed=1&ids=\(ids)&query=%3Ftag%3Dpoll"
            )
            #expect(done.body.contains("140 jobs were paused."))
            let isFound = try await server.get("/jobs?state=paused&q=poll-1").body.contains(
                "51 jobs"
            )
            #expect(isFound)
            let nothingChosen = try await server.post("/jobs/act", "do=pause").status
            #expect(nothingChosen == 303)
        }
    }

    @Test(
        "A page says as of which event it is, and a stream begins behind that, over a restart of the daemon"
    )
    func stream() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            let page = try await server.get("/")
            let mark = try #require(page.body.firstRange(of: "data-seq=\"")?.upperBound)
            let seq = page.body[mark...].prefix { $0 != "\"" }
            func add(_ name: String) async throws {
                var definition = JobDefinition(schedule: ScheduleWords(in: "1h"))
                definition.name = name
                _ = try await daemon.connected { try await $0.addJob(definition) }
            }
            try await add("before")
            let head =
                "GET /events?since=\(seq) HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(server.cookie)\r\n\r\n"
            let (texts, told) = AsyncStream<String>.makeStream()
            async let reading: Void = server.client.connected(head) { text in
                told.yield(text)
                return !text.contains("after")
            }
            var all = ""
            var iterator = texts.makeAsyncIterator()
            func read(until words: String) async throws {
                while !all.contains(words) { all += try #require(await iterator.next()) }
            }
            try await read(until: "\"name\":\"before\"")
            #expect(all.contains("text/event-stream"))
            for name in ["between", "after"] {
                // Each time anew.
                all = ""
                // Not by a crash: what was told just before one is told again.
                daemon.stop(SIGTERM)
                try await read(until: "event: away")
                try await daemon.start()
                try await read(until: "event: back")
                try await add(name)
                try await read(until: "\"name\":\"\(name)\"")
                #expect(all.components("\"type\":\"job.added\"") == 1, "\(all)")
            }
            try await reading
        }
    }

    @Test("The stop of the program ends its streams at once")
    func stop() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            let head =
                "GET /events HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(server.cookie)\r\n\r\n"
            let stop = server.stop
            var isFirst = true
            try await server.client.connected(head) { _ in
                if isFirst { Task { await stop() } }
                isFirst = false
                return true
            }
        }
    }

    @Test("What a run writes is followed to its end, and kept as a file")
    func output() async throws {
        let daemon = try await TestDaemon()
        let run = try await daemon.connected { client -> RunID in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.command = [
                "/bin/sh", "-c", "printf '\\033[31mred\\033[0m\\n'; echo err >&2",
            ]
            let job = try await client.addJob(definition).job
            try await client.subscribe()
            try await client.fireJob(.id(job.id))
            for try await event in client.events where event.type == .runStarted {
                return try #require(event.run)
            }
            throw CancellationError()
        }
        try await TestServer.run(socket: daemon.socket) { server in
            var text = ""
            let head =
                "GET /runs/\(run)/output/stream HTTP/1.1\r\nHost: \(server.host)\r\n"
                + "Cookie: \(server.cookie)\r\n\r\n"
            try await server.client.connected(head) { piece in
                text += piece
                return !text.contains("event: end")
            }
            #expect(text.contains(#"<span class=\"f-1\">red</span>"#))
            let page = try await server.get("/runs/\(run)")
            #expect(page.body.contains("<span class=\"f-1\">red</span>"))
            #expect(page.body.contains("<span class=\"err\">err\n</span>"))
            let file = try await server.get("/runs/\(run)/output.txt?stream=stdout")
            #expect(
                file.field("Content-Disposition")
                    == "attachment; filename=\"run-\(run)-stdout.txt\""
            )
            #expect(file.body.contains("\u{1b}[31mred\u{1b}[0m\n"))
            let noRun = try await server.get("/runs/99999/output.txt").status
            #expect(noRun == 404)
        }
    }
}

extension String {
    /// How often a text is in it.
    fileprivate func components(_ part: String) -> Int { ranges(of: part).count }
}
