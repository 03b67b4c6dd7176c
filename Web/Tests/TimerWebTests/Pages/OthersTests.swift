// SPDX-License-Identifier: Apache-2.0

import Glibc
import HTML
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

/// What somebody else does between a page and its form.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct OthersTests {
    private func add(_ name: String, _ daemon: TestDaemon) async throws -> JobID {
        var definition = JobDefinition(schedule: ScheduleWords(cron: "30 2 * * *"))
        (definition.name, definition.command) = (name, ["true"])
        return try await daemon.connected { [definition] in try await $0.addJob(definition).job.id }
    }

    private func job(_ id: JobID, _ daemon: TestDaemon) async throws -> Job {
        try await daemon.connected { try await $0.job(.id(id)) }
    }

    /// The field of the undo of what was just done; nil where nothing undoes it.
    private func offered(_ page: RawClient.Reply, _ action: String) -> RawClient.Reply? {
        guard let mark = page.body.firstRange(of: "id=\"flash\"") else { return nil }
        let flash = page.body[mark.lowerBound...]
        guard let end = flash.firstRange(of: "</div>") else { return nil }
        let text = flash[..<end.lowerBound]
        return text.contains("action=\"\(action)\"") ? RawClient.Reply("\r\n\r\n\(text)") : nil
    }

    @Test("A move, and its undo, leave what somebody has moved since")
    func move() async throws {
        let daemon = try await TestDaemon()
        let id = try await add("moved", daemon)
        let (mine, others) = ("2126-01-01T10:00:00Z", "2126-02-02T10:00:00Z")
        func move(to date: String) async throws {
            try await daemon.connected { _ = try await $0.setFireDate(of: .id(id), to: date) }
        }
        try await TestServer.run(socket: daemon.socket) { server in
            for path in ["/jobs/\(id)", "/jobs/\(id)/move"] {
                let form = try await server.get(path)
                let from = try #require(form.hidden("from"), "\(path)")
                try await move(to: others)
                let refused = try await server.follow(
                    "/jobs/\(id)/move",
                    "to=\(mine)&from=\(from)"
                )
                #expect(refused.body.contains("flash failed"))
                let date = try await job(id, daemon).fireDate
                #expect(date == Timestamp(rfc3339: others))
                try await move(to: "2125-01-01T10:00:00Z")
            }
            let page = try await server.get("/jobs/\(id)")
            let from = try #require(page.hidden("from"))
            let moved = try await server.follow("/jobs/\(id)/move", "to=\(mine)&from=\(from)")
            let undo = try #require(offered(moved, "/jobs/\(id)/move"))
            let (back, since) = (undo.hidden("to") ?? "", undo.hidden("from") ?? "")
            let fields = "to=\(back)&from=\(since)"
            try await move(to: others)
            let refused = try await server.follow("/jobs/\(id)/move", fields)
            #expect(refused.body.contains("flash failed"))
            let kept = try await job(id, daemon).fireDate
            #expect(kept == Timestamp(rfc3339: others))
            // Nobody was in between.
            try await move(to: mine)
            _ = try await server.follow("/jobs/\(id)/move", fields)
            let undone = try await job(id, daemon).fireDate
            #expect(undone == Timestamp(rfc3339: "2125-01-01T10:00:00Z"))
        }
    }

    @Test("What somebody else has paused, resumed or ended is not undone")
    func states() async throws {
        let daemon = try await TestDaemon()
        let (one, two) = (try await add("one", daemon), try await add("two", daemon))
        try await TestServer.run(socket: daemon.socket) { server in
            for (verb, opposite) in [("pause", "resume"), ("resume", "pause"), ("end", "undo")] {
                func asSomebody(_ id: JobID) async throws {
                    try await daemon.connected { client in
                        switch verb {
                        case "pause": _ = try await client.pauseJobs(.ids([id]))
                        case "resume": _ = try await client.resumeJobs(.ids([id]))
                        default: _ = try await client.invalidateJobs(.ids([id]))
                        }
                    }
                }
                try await asSomebody(two)
                let alone = try await server.follow("/jobs/\(two)/\(verb)")
                #expect(alone.body.contains("already"), "\(verb)")
                #expect(offered(alone, "/jobs/\(two)/\(opposite)") == nil, "\(verb)")
                let words = "confirmed=1&do=\(verb)&ids="
                let both = try await server.follow("/jobs/act", "\(words)\(one)%2C\(two)")
                #expect(both.body.contains("1 job was "), "\(verb)")
                let undone = try #require(offered(both, "/jobs/act"), "\(verb)")
                #expect(undone.hidden("ids") == "\(one)", "\(verb)")
                let again = try await server.follow("/jobs/act", "\(words)\(one)%2C\(two)")
                #expect(again.body.contains("flash failed"), "\(verb)")
                #expect(offered(again, "/jobs/act") == nil, "\(verb)")
            }
        }
    }

    @Test("The form that would change another user's job says so, and has nothing to fill in")
    func form() async throws {
        let daemon = try await TestDaemon()
        var job = try await job(try await add("job", daemon), daemon)
        let site = Site(
            access: Access(way: .loopback(port: 1)),
            options: WebOptions(socket: daemon.socket, listening: .port(0), zone: .utc)
        )
        let dates = LocalDate(now: .now, zone: .utc)
        let visit = Visit(link: Link("jobs"), form: [], back: nil, dates: dates, site: site)
        for (owner, isOwn) in [(site.user, true), ("somebody-else", false)] {
            job.owner = owner
            let form = JobForm(
                parts: Parts(visit),
                job: job,
                draft: JobDraft(job.definition, zone: .utc),
                definition: job.definition,
                errors: FormErrors(),
                preview: SchedulePreview(job.definition, of: job, RunTimes([]), dates),
                isRefused: false
            )
            let text = String(decoding: form.page.content.rendered, as: UTF8.self)
            #expect(text.contains("who alone may change it") == !isOwn)
            #expect(text.contains("name=\"schedule\"") == isOwn)
        }
    }

    @Test("A job that a form would replace by what it can show is not changed by one")
    func unchangeable() async throws {
        let daemon = try await TestDaemon()
        var job = try await job(try await add("job", daemon), daemon)
        #expect(job.reasonNotToChange == nil)
        job.stored = .object([:])
        #expect(job.reasonNotToChange?.contains("cannot be read") == true)
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        (definition.name, definition.whilePid) = ("tied", getpid())
        let tied = try await daemon.connected { [definition] in
            try await $0.addJob(definition).job
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let path = "/jobs/\(tied.id)/change"
            let form = try await server.get(path)
            #expect(form.status == 409)
            #expect(form.body.contains("is tied to a process"))
            let sent = try await server.post(path, "kind=every&schedule=2h&do=save")
            #expect(sent.status == 409)
            let words = try await daemon.connected { try await $0.job(.id(tied.id)) }.definition
            #expect(words.schedule.every == "1h")
        }
    }

    @Test("A job that was added paused and resumed since goes on behind a change, and its undo")
    func resumed() async throws {
        let daemon = try await TestDaemon()
        let id = try await daemon.connected { client in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            (definition.command, definition.paused) = (["true"], true)
            let job = try await client.addJob(definition).job
            _ = try await client.resumeJobs(.ids([job.id]))
            return job.id
        }
        let before = try await job(id, daemon)
        #expect(before.definition.paused != true && before.state == .scheduled)
        try await TestServer.run(socket: daemon.socket) { server in
            let path = "/jobs/\(id)/change"
            let revision = try #require(try await server.get(path).hidden("revision"))
            let fields = "kind=every&schedule=1h&tz=&command=true&retries=2&revision=\(revision)"
            let changed = try await server.follow(path, fields + "&do=save")
            #expect(changed.body.contains("was changed"))
            let job = try await self.job(id, daemon)
            #expect(job.definition.retries == 2 && job.state == .scheduled)
            let undo = Revert(of: job, to: before).undo
            let sent = try #require(undo?.fields.first { $0.name == "definition" })
            #expect(!sent.value.contains("paused"))
        }
    }

    @Test("An undo of other dates leaves as many fires as were left of the job's count")
    func count() async throws {
        let daemon = try await TestDaemon()
        let id = try await add("counted", daemon)
        var before = try await job(id, daemon)
        var changed = before
        (before.definition.count, before.fires) = (8, 5)
        func left() throws -> Int? {
            let fields = Revert(of: changed, to: before).undo?.fields
            let text = try #require(fields?.first { $0.name == "definition" }).value
            return try JSONText(parsing: text).decoded(as: JobDefinition.self).count
        }
        (changed.definition.count, changed.fires) = (8, 0)
        #expect(try left() == 3)
        changed.fires = 5
        #expect(try left() == 8, "its dates are the same")
    }

    @Test("Before a job is fired by hand for the last time it is said that this finishes it")
    func lastFire() async throws {
        let daemon = try await TestDaemon()
        let (once, often) = try await daemon.connected { client in
            let words = [
                ScheduleWords(at: "2126-01-01T10:00:00Z"), ScheduleWords(cron: "30 2 * * *"),
            ]
            let jobs = try await client.addJobs(words.map { JobDefinition(schedule: $0) }).jobs
            return (jobs[0].id, jobs[1].id)
        }
        try await TestServer.run(socket: daemon.socket) { server in
            for (job, words) in [(once, "is finished with that"), (often, "Its other dates stay")] {
                #expect(try await server.get("/jobs/\(job)/fire").body.contains(words))
            }
            let asked = try await server.post("/jobs/act", "do=fire&id=\(once)&id=\(often)")
            #expect(asked.body.contains("1 of them has no other date, and is finished with that."))
        }
    }

    @Test("Limits of a queue that somebody has changed since stay, and so does its pause")
    func queue() async throws {
        let daemon = try await TestDaemon()
        func set(_ change: (inout SetQueue) -> Void) async throws {
            var request = SetQueue(queue: "q")
            change(&request)
            try await daemon.connected { [request] in _ = try await $0.setQueue(request) }
        }
        func queue() async throws -> TaskQueue? {
            try await daemon.connected { try await $0.listQueues().first }
        }
        try await set { ($0.maxReserved, $0.maxRate) = (5, "10/s") }
        try await TestServer.run(socket: daemon.socket) { server in
            let page = try await server.get("/queues/q")
            let shown = try ["shownReserved", "shownRate"].map { name in
                "\(name)=\(try #require(page.hidden(name)).replacing("/", with: "%2F"))"
            }.joined(separator: "&")
            try await set { $0.maxReserved = 77 }
            // What the form leaves as it was shows what it was.
            _ = try await server.follow(
                "/queues/q/limit",
                "\(shown)&maxReserved=5&maxRate=9%2Fs"
            )
            let both = try await queue()
            #expect(both?.maxReserved == 77 && both?.maxRate == "9/s")
            let refused = try await server.follow(
                "/queues/q/limit",
                "\(shown)&maxReserved=6&maxRate=9%2Fs"
            )
            #expect(refused.body.contains("flash failed"))
            #expect(refused.body.contains("is 77 now, not 5"))
            let kept = try await queue()
            #expect(kept?.maxReserved == 77)
            let mine = try await server.follow("/queues/q/pause")
            #expect(offered(mine, "/queues/q/resume") != nil)
            let others = try await server.follow("/queues/q/pause")
            #expect(others.body.contains("was paused already"))
            #expect(offered(others, "/queues/q/resume") == nil)
        }
    }

    @Test("What is done with a queue of another user's is done with that one")
    func queueOfAnother() async throws {
        let daemon = try await TestDaemon()
        let site = Site(
            access: Access(way: .loopback(port: 1)),
            options: WebOptions(socket: daemon.socket, listening: .port(0), zone: .utc)
        )
        let visit = Visit(
            link: Link("queues", "q"),
            form: [],
            back: nil,
            dates: LocalDate(now: .now, zone: .utc),
            site: site
        )
        for (owner, query) in [(site.user, ""), ("ann", "?owner=ann")] {
            let queue = TaskQueue(queue: "q", owner: owner, delayed: 1, dead: 1)
            let actions = QueueActions(queue: queue, parts: Parts(visit)).sections
            let text = String(decoding: actions.rendered, as: UTF8.self)
            for verb in ["pause", "limit", "kick", "retry"] {
                #expect(text.contains("action=\"/queues/q/\(verb)\(query)\""), "\(verb)")
            }
        }
        // Who says whose queue it is makes none.
        let owned = "owner=\(site.user)"
        try await TestServer.run(socket: daemon.socket) { server in
            for verb in ["pause", "limit", "kick"] {
                _ = try await server.post("/queues/q/\(verb)?\(owned)", "")
            }
            let none = try await daemon.connected { try await $0.listQueues() }
            #expect(none.isEmpty)
            let made = try await server.follow("/queues/q/pause")
            #expect(offered(made, "/queues/q/resume") != nil)
            let resumed = try await server.follow("/queues/q/resume?\(owned)")
            #expect(offered(resumed, "/queues/q/pause?\(owned)") != nil)
            let one = try await daemon.connected { try await $0.listQueues() }
            #expect(one.map(\.paused) == [false])
        }
    }
}
