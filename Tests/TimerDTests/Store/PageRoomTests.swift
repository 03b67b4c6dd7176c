// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Pages that end by their bytes", .timeLimit(.minutes(2))) struct PageRoomTests {
    @Test(
        "Rows fit up to the limit, the first whatever it has, and none behind one that did not",
        arguments: [
            ([40, 40, 20], [true, true, true]), ([40, 61, 1], [true, false, false]),
            ([500, 1], [true, false]), ([100, 0, 1], [true, true, false]),
            ([0, 100], [true, true]),
        ]
    )
    func rows(sizes: [Int], fits: [Bool]) {
        let room = PageRoom(100)
        let isTaken = sizes.map { room.takes($0) }
        #expect(isTaken == fits)
        #expect(room.isFull == fits.contains(false))
    }

    /// 40 jobs, some large: each page but the last has its cursor, and together they are all.
    @Test(
        "A page of jobs ends at 256 KiB with its cursor, in either order",
        arguments: [nil, .nextFire] as [ListJobs.Order?]
    )
    func jobs(order: ListJobs.Order?) async throws {
        try await TestScheduler.with { test in
            let sizes = [60_000, 0, 100, 65_000, 30_000]
            var ids: Set<JobID> = []
            for index in 0..<40 {
                let job = try await test.add(ScheduleWords(in: "1h")) {
                    $0.userInfo = JSONText(.string(String(repeating: "x", count: sizes[index % 5])))
                    $0.paused = index % 3 == 0
                }
                ids.insert(job.id)
            }
            var filter = ListJobs()
            (filter.order, filter.limit) = (order, 1000)
            var (seen, pages): ([JobID], [JobsReply]) = ([], [])
            repeat {
                let page = try await test.handler().listJobs(filter, TestScheduler.root)
                let reply = try #require(page as? JobsReply)
                seen += reply.jobs.map(\.id)
                pages.append(reply)
                filter.cursor = reply.cursor
            } while filter.cursor != nil
            #expect(seen.count == 40)
            #expect(Set(seen) == ids)
            #expect((5...9).contains(pages.count), "1.2 MB in pages of at most 256 KiB")
            for page in pages {
                let size = try JSONValue(encoding: page).jsonBytes.count
                #expect(size <= Limits.pageBytes + 1000)
            }
        }
    }

    @Test("A job that is larger than a page is a page of its own")
    func largeJob() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<3 {
                try await test.add(ScheduleWords(in: "1h"), command: ["echo"]) {
                    $0.command?.append(String(repeating: "\u{1}", count: 100_000))
                }
            }
            var filter = ListJobs()
            var pages = 0
            repeat {
                let page = try await test.handler().listJobs(filter, TestScheduler.root)
                let reply = try #require(page as? JobsReply)
                #expect(reply.jobs.count == 1)
                pages += 1
                filter.cursor = reply.cursor
            } while filter.cursor != nil
            #expect(pages == 3)
        }
    }

    @Test("Pages of tasks and of runs end by what is written: of a control character six bytes")
    func written() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<20 { try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" } }
            let reason = String(repeating: "\u{1}", count: 4000)
            for task in try await test.reserve("mails", count: 20) {
                _ = try await test.fail(task, reason)
            }
            try await test.settle()
            let (handler, root) = (test.handler(), TestScheduler.root)
            let tasks = try #require(
                try await handler.listTasks(ListTasks(), root) as? TasksReply
            )
            var request = ListRuns()
            request.limit = 1000
            let runs = try #require(try await handler.listRuns(request, root) as? RunsReply)
            #expect(tasks.cursor != nil && runs.cursor != nil)
            for size in try [JSONValue(encoding: tasks), JSONValue(encoding: runs)].map({
                $0.jsonBytes.count
            }) {
                #expect((200_000...Limits.pageBytes + 1000).contains(size))
            }
        }
    }

    @Test("A change of many jobs tells of those that have room, and the numbers of the rest")
    func changes() async throws {
        try await TestScheduler.with { test in
            let info = JSONText(.string(String(repeating: "x", count: 60_000)))
            var ids: [JobID] = []
            for _ in 0..<12 {
                let job = try await test.add(ScheduleWords(in: "2s")) {
                    ($0.userInfo, $0.tags) = (info, ["many"])
                }
                ids.append(job.id)
            }
            func told(_ answer: any Encodable) throws -> [JobID] {
                let reply = try #require(answer as? JobsReply)
                #expect(reply.jobs.count == 4, "4 of 60 KB are less than 256 KiB")
                #expect(reply.jobs.allSatisfy { $0.definition.userInfo == info })
                #expect(try JSONValue(encoding: reply).jsonBytes.count < Limits.pageBytes + 1000)
                return reply.jobs.map(\.id) + (reply.others ?? [])
            }
            let (handler, root) = (test.handler(), TestScheduler.root)
            #expect(try told(await handler.changeJobs(.tag("many"), .pause, root)) == ids)
            #expect(try told(await handler.changeJobs(.tag("many"), .resume, root)) == ids)
            #expect(try told(await handler.changeJobs(.ids(ids), .pause, root)) == ids)
            let end = InvalidateJobs(.tag("many"))
            #expect(try told(await handler.invalidateJobs(end, root)) == ids)
        }
    }

    @Test("What there was no room to tell of fires as it was added")
    func untoldFires() async throws {
        try await TestScheduler.with { test in
            let info = JSONText(.string(String(repeating: "x", count: 60_000)))
            for _ in 0..<12 {
                try await test.add(ScheduleWords(in: "2s")) {
                    ($0.userInfo, $0.tags) = (info, ["many"])
                }
            }
            for change in [JobChange.pause, .resume] {
                _ = try await test.handler().changeJobs(.tag("many"), change, TestScheduler.root)
            }
            try await test.advance(by: .seconds(5))
            let fired = test.sink.all(.fireFired)
            #expect(fired.count == 12)
            #expect(fired.allSatisfy { $0.userInfo == info })
        }
    }

    @Test("What `apply` invalidates is told the same way")
    func applied() async throws {
        try await TestScheduler.with { test in
            var ids: [JobID] = []
            for _ in 0..<12 {
                let job = try await test.add(ScheduleWords(in: "1h")) {
                    $0.userInfo = JSONText(.string(String(repeating: "x", count: 60_000)))
                }
                ids.append(job.id)
            }
            for isDryRun in [true, false] {
                var request = ApplyJobs(invalidate: ids)
                request.dryRun = isDryRun
                let answer = try await test.handler().applyJobs(request, TestScheduler.root)
                let reply = try #require(answer as? ApplyReply)
                #expect(reply.invalidated.count == 4)
                #expect(reply.invalidated.map(\.id) + (reply.others ?? []) == ids)
            }
        }
    }

    @Test("A page of events ends by its bytes too, and says whether it was the last")
    func events() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<20 {
                try await test.add(ScheduleWords(in: "1s")) {
                    $0.userInfo = JSONText(.string(String(repeating: "x", count: 20_000)))
                }
            }
            try await test.advance(by: .seconds(5))
            let source = test.store.events(after: test.scheduler)
            let told = test.sink.all
            var (seqs, after): ([Int64], Int64) = ([], 0)
            while true {
                let page = try await source(after, nil, .init(events: 1000, bytes: 65_536))
                seqs += page.events.map(\.seq)
                let size = page.events.reduce(0) { $0 + ReplyLine.event($1).count }
                #expect(size < 70_000)
                guard !page.isLast, let last = page.events.last else { break }
                after = last.seq
            }
            #expect(seqs == told.map(\.seq))
        }
    }
}
