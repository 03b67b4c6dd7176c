// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

/// What a page lists, and counts, of what there is.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct ListTests {
    /// A list of the daemon by the numbers of its pages; counts how many were asked for.
    private func read(
        _ pages: [[Int]],
        enough: Int = 1,
        from start: Int? = nil
    ) async -> (rows: [Int], cursor: Int?, asked: Int) {
        var asked = 0
        let (rows, cursor) = await ListReader.rows(enough, from: start) { cursor in
            asked += 1
            let page = cursor ?? 0
            return (pages[page], page + 1 < pages.count ? page + 1 : nil)
        }
        return (rows, cursor, asked)
    }

    @Test("Pages without a row are passed over, as far as that is bounded")
    func pages() async {
        let found = await read([[], [], [1, 2], [3]])
        #expect((found.rows, found.cursor) == ([1, 2], 3))
        let enough = await read([[], [], [1, 2], [3]], enough: 3)
        #expect((enough.rows, enough.cursor) == ([1, 2, 3], nil))
        let rest = await read([[1], [], [2]], from: 1)
        #expect((rest.rows, rest.cursor) == ([2], nil))
        let none = await read(Array(repeating: [], count: 1000))
        #expect((none.rows, none.cursor, none.asked) == ([], ListReader.most, ListReader.most))
    }

    @Test(
        "A job that ends between two pages of a list takes no other one with it",
        arguments: ["sort=name", "sort=-name", "sort=last", "sort=-next", "q=page"]
    )
    func ended(_ order: String) async throws {
        let daemon = try await TestDaemon()
        let ids = try await daemon.connected { client in
            var ids: Set<JobID> = []
            for number in 1...(JobReader.rows + 20) {
                var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
                // The mark goes with what stands before it, as in an address.
                definition.name = "\u{301}page \(number)"
                ids.insert(try await client.addJob(definition).job.id)
            }
            return ids
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let first = try await server.get("/jobs?\(order)").body
            let shown = first.chosen
            #expect(shown.count == JobReader.rows)
            let gone = try #require(shown.first)
            _ = try await daemon.connected { try await $0.invalidateJobs(.ids([gone])) }
            let next = try #require(first.nextPage)
            let second = try await server.get(next).body
            #expect(Set(shown + second.chosen) == ids)
            #expect(second.contains("100 to 119 of 119"))
        }
    }

    @Test(
        "A place in a list is the same behind an address, whatever the name has",
        arguments: [
            "", "a", "a.b.", "\u{301}", ".", "1.2.3",
        ]
    )
    func place(_ name: String) {
        let place = JobPlace(date: -5, name: name, id: JobID(rawValue: 7))
        #expect(JobPlace(place.text) == place)
    }

    @Test("A place by name goes through an address, also of a name with all marks that it may have")
    func marks() async throws {
        let daemon = try await TestDaemon()
        let job = try await daemon.connected { client in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            // In small letters it has one mark more: "i" and a dot above.
            definition.name = "\u{130}" + String(repeating: "\u{301}", count: 64)
            return try await client.addJob(definition).job
        }
        let place = JobQuery([Link.Field("sort", "name")]).place(of: job)
        let field = PercentCoding.decoded(PercentCoding.encoded(place.text))
        #expect(field.flatMap(JobPlace.init) == place)
    }

    @Test("Tasks are asked for with the queue's owner: an administrator is told of others' too")
    func owner() {
        let queue = TaskQueue(queue: "mails", owner: "ann")
        let request = QueuePage.request(for: queue, .dead)
        #expect((request.queue, request.owner, request.state) == ("mails", "ann", .dead))
    }

    @Test("The queue of another user's job is that user's, not one's own of that name")
    func queueOfJob() async throws {
        let daemon = try await TestDaemon()
        var job = try await daemon.connected { client in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.queue = "mails"
            return try await client.addJob(definition).job
        }
        let site = Site(
            access: Access(way: .loopback(port: 1)),
            options: WebOptions(socket: daemon.socket, listening: .port(0), zone: .utc)
        )
        let dates = LocalDate(now: .now, zone: .utc)
        let visit = Visit(link: Link(), form: [], back: nil, dates: dates, site: site)
        for (owner, link) in [
            (site.user, "/queues/mails"), ("ann", "/queues/mails?owner=ann"),
        ] {
            job.owner = owner
            let status = try await daemon.connected { try await $0.status() }
            let facts = JobFacts(job: job, status: status, parts: Parts(visit)).section
            let text = String(decoding: facts.rendered, as: UTF8.self)
            #expect(text.contains("href=\"\(link)\""))
        }
    }

    @Test("What has come stands before the dates ahead that were dropped, however many these are")
    func droppedAhead() async throws {
        let daemon = try await TestDaemon()
        try await daemon.connected { client in
            let daily = JobDefinition(
                schedule: ScheduleWords(every: "1d", from: "2099-01-01T09:30:00Z")
            )
            // Each request makes a row, and a page of the daemon has 100 at most; as many are kept of a job.
            for _ in 0..<2 {
                let job = try await client.addJob(daily).job
                _ = try await client.fireJob(.id(job.id))
                for _ in 0..<60 { try await client.skipJobs(SkipJobs(jobs: .ids([job.id]))) }
            }
        }
        try await TestServer.run(socket: daemon.socket) { server in
            for link in ["/runs", "/runs?outcome=skipped"] {
                let body = try await server.get(link).body
                let halves = body.split(separator: "<h2>Will not fire</h2>")
                try #require(halves.count == 2)
                #expect(halves[0].contains("by hand") == (link == "/runs"))
                #expect(!halves[0].contains("dropped on request"))
                #expect(halves[1].contains("dropped on request"))
                #expect(halves[1].contains("110 more, farther ahead, will not fire either."))
            }
        }
    }

    @Test("A task that stands behind many of other queues is shown")
    func farTask() async throws {
        let daemon = try await TestDaemon()
        try await daemon.connected { client in
            func task(_ queue: String) -> JobDefinition {
                var definition = JobDefinition(schedule: ScheduleWords(in: "1ms"))
                definition.queue = queue
                return definition
            }
            // More than the daemon looks at for one page.
            _ = try await client.addJobs(Array(repeating: task("many"), count: 2100))
            _ = try await client.addJobs([task("few")])
            // Once it is there.
            var order = ReserveTasks(queues: ["few"])
            order.wait = "20s"
            _ = try await client.reserveTasks(order)
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let page = try await server.get("/queues/few")
            #expect(!page.body.contains("There is none."))
            #expect(page.body.contains("Choose task "))
        }
    }

    @Test("An ordinary user's own jobs are counted, not those of all users that the daemon counts")
    func counts() async throws {
        let daemon = try await TestDaemon()
        let site = Site(
            access: Access(way: .loopback(port: 1)),
            options: WebOptions(socket: daemon.socket, listening: .port(0), zone: .utc)
        )
        let visit = Visit(
            link: Link(),
            form: [],
            back: nil,
            dates: LocalDate(now: .now, zone: .utc),
            site: site
        )
        try await daemon.connected { client in
            let jobs = [false, true].map { isPaused in
                var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
                definition.paused = isPaused
                return definition
            }
            _ = try await client.addJobs(jobs)
            var status = try await client.status()
            (status.scheduled, status.paused, status.held) = (900, 90, 9)
            for isAdministrator in [true, false] {
                // Who may not know it is not told.
                status.nextFireDate = isAdministrator ? visit.dates.now : nil
                let session = Session(client: client, status: status)
                let now = try await NowPage(visit, session).page.content
                let text = String(decoding: now.rendered, as: UTF8.self)
                #expect(text.contains("<b>990</b> jobs") == isAdministrator)
                #expect(text.contains("<b>2</b> jobs") == !isAdministrator)
                #expect(text.contains("<b>90</b> paused") == isAdministrator)
                #expect(text.contains("<b>1</b> paused") == !isAdministrator)
                #expect(text.contains("</b> held") == isAdministrator)
                let doctor = try await DoctorPage(visit, session).page.content
                let words = String(decoding: doctor.rendered, as: UTF8.self)
                #expect(words.contains("waiting, of all users") == !isAdministrator)
                #expect(!words.contains("held, and fire"))
            }
        }
    }

    @Test("What a change leaves out is told before and after it")
    func leftOut() async throws {
        let daemon = try await TestDaemon()
        let job = try await daemon.connected { client in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            (definition.command, definition.cwd) = (["true"], "/")
            return try await client.addJob(definition).job
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let path = "/jobs/\(job.id)/change"
            let fields = "kind=every&schedule=1h&tz=&command=&cwd=%2F&revision=\(job.revision)"
            let words = "Left out, as it has no effect any more: cwd."
            let preview = try await server.post(path, "\(fields)&do=preview")
            #expect(preview.body.contains(words))
            let changed = try await server.follow(path, "\(fields)&do=save")
            #expect(changed.body.contains("Job \(job.id) was changed"))
            #expect(changed.body.contains(words))
        }
    }

    @Test("The end of a long output is shown, also where it takes several replies of the daemon")
    func longOutput() async throws {
        let daemon = try await TestDaemon()
        let run = try await daemon.connected { client -> RunID in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.outputKept = "1M"
            // JSON takes six bytes for each of these.
            definition.command = [
                "/bin/sh", "-c", "head -c 400000 /dev/zero | tr '\\0' '\\1'; echo the last line",
            ]
            let job = try await client.addJob(definition).job
            try await client.subscribe()
            try await client.fireJob(.id(job.id))
            for try await event in client.events where event.type == .runFinished {
                return try #require(event.run)
            }
            throw CancellationError()
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let page = try await server.get("/runs/\(run)")
            #expect(page.body.contains("The end of it: the whole is in the file."))
            #expect(page.body.contains("the last line\n</pre>"))
        }
    }
}

extension String {
    /// The numbers of the boxes of a list, in its order.
    fileprivate var chosen: [JobID] {
        split(separator: "name=\"id\" value=\"").dropFirst().compactMap { rest in
            Int64(rest.prefix { $0 != "\"" }).map { JobID(rawValue: $0) }
        }
    }

    /// The address of the next page; nil on the last one.
    fileprivate var nextPage: String? {
        split(separator: "href=\"").dropFirst().first { link in
            link.prefix { $0 != ">" }.contains("rel=\"next\"")
        }
        .map { String($0.prefix { $0 != "\"" }).replacing("&amp;", with: "&") }
    }
}
