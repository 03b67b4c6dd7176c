// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("How notices stand", .timeLimit(.minutes(2))) struct NoticeStandingTests {
    private struct Standing: Equatable {
        var waiting: Int
        var held: Int
        var oldest: Timestamp?

        init(_ waiting: Int, _ held: Int, _ oldest: Timestamp?) {
            (self.waiting, self.held, self.oldest) = (waiting, held, oldest)
        }
    }

    /// By the counters; checked against the rows.
    private static func standing(_ test: TestScheduler) async throws -> Standing {
        try await test.settle()
        return try await test.store.reader.read { database in
            let store = NoticeStore(database)
            let (waiting, held, oldest) = try store.standing()
            let rows = try store.list(of: nil, after: NoticeID(rawValue: 0), limit: 1000)
            let isHeld = { (notice: StoredNotice) in
                notice.document.held != nil && notice.attempts == 0
            }
            #expect(waiting == rows.count { !isHeld($0) })
            #expect(held == rows.count(where: isHeld))
            #expect(oldest == rows.filter { !isHeld($0) }.map(\.addedAt).min())
            if let owner = rows.first?.ownerID {
                let own = try store.standing(of: owner)
                #expect(own.waiting == waiting && own.held == held && own.oldest == oldest)
            }
            return Standing(waiting, held, oldest)
        }
    }

    private static func counted(_ test: TestScheduler) async -> [Int] {
        let notices = await test.scheduler.measures().counters.notices
        return [notices.handedOver, notices.failedTries, notices.givenUp]
    }

    @Test(
        "A notice that is not taken waits since it was stored, its tries are counted, and its end is"
    )
    func givenUp() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = { $0.run < 0 ? .exited(75) : .exited(1) }
            #expect(try await Self.standing(test) == Standing(0, 0, nil))
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.notify = ["command:tell"]
            }
            try await test.advance(by: .seconds(11))
            let since = TestScheduler.start + .seconds(10)
            #expect(try await Self.standing(test) == Standing(1, 0, since))
            #expect(await Self.counted(test) == [0, 1, 0])
            try await test.advance(by: .seconds(60))
            #expect(
                try await Self.standing(test) == Standing(1, 0, since),
                "no try makes it younger"
            )
            #expect(await Self.counted(test) == [0, 2, 0])
            try await test.advance(by: .seconds(90_000))
            #expect(try await Self.standing(test) == Standing(0, 0, nil))
            #expect(await Self.counted(test).last == 1)
        }
    }

    @Test("A page of notices ends at 256 KiB as it is written, and the next goes on behind it")
    func pages() async throws {
        try await TestScheduler.with { test in
            try await test.store.writer.write { database in
                let store = NoticeStore(database)
                let place = try #require(NoticePlace("command:tell"))
                let later = TestScheduler.start + .seconds(86_400)
                for number in 1...20 {
                    let document = NoticeDocument(
                        reason: .failed,
                        job: JobID(rawValue: 1),
                        name: nil,
                        owner: "root"
                    )
                    try store.insert(
                        document,
                        .failed,
                        to: place,
                        of: .root,
                        at: TestScheduler.start,
                        notBefore: later
                    )
                    let error = String(repeating: "\u{1}", count: 4000)
                    try store.markFailed(NoticeID(rawValue: Int64(number)), error, notBefore: later)
                }
            }
            var (request, seen, pages) = (ListNotices(limit: 1000), [NoticeID](), 0)
            repeat {
                let answer = try await test.handler().listNotices(request, TestScheduler.root)
                let reply = try #require(answer as? NoticesReply)
                #expect(try JSONValue(encoding: reply).jsonBytes.count <= Limits.pageBytes)
                seen += reply.notices.map(\.id)
                pages += 1
                request.cursor = reply.cursor
            } while request.cursor != nil
            #expect(seen == (1...20).map { NoticeID(rawValue: $0) })
            #expect(pages == 2)
        }
    }

    @Test("A notice that is being tried is told as such, one that waits for a try is not")
    func trying() async throws {
        try await TestScheduler.with { test in
            try await NoticeSupport.holdTries(test)
            let request = ListNotices()
            let during = try await test.handler().listNotices(request, TestScheduler.root)
            let tried = try #require(during as? NoticesReply).notices
            #expect(tried.map(\.trying) == [true] && tried.map(\.attempts) == [1])
            test.runner.holds = nil
            test.runner.end(.exited(75))
            try await test.settle()
            let after = try await test.handler().listNotices(request, TestScheduler.root)
            let left = try #require(after as? NoticesReply).notices
            #expect(left.map(\.trying) == [nil] && left.map(\.attempts) == [1])
        }
    }

    @Test("What is held back for a summary does not wait until its turn, nor is it old then")
    func held() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = { $0.run < 0 ? .exited(0) : .exited(1) }
            try await test.add(ScheduleWords(every: "10min"), command: ["false"]) {
                ($0.notify, $0.count) = (["command:tell"], 5)
            }
            try await test.advance(by: .seconds(4199))
            #expect(try await Self.standing(test) == Standing(0, 1, nil))
            #expect(await Self.counted(test) == [1, 0, 0])
            test.runner.answer = { $0.run < 0 ? .exited(75) : .exited(1) }
            try await test.advance(by: .seconds(2))
            let tried = try await Self.standing(test)
            #expect(tried.waiting == 1 && tried.held == 0)
            let oldest = try #require(tried.oldest)
            #expect(oldest >= TestScheduler.start + .seconds(4200), "it was held back until then")
            try await test.advance(by: .seconds(60))
            #expect(try await Self.standing(test) == tried, "no try makes it younger")
            #expect(await Self.counted(test) == [1, 2, 0])
            test.runner.answer = { _ in .exited(0) }
            try await test.advance(by: .seconds(600))
            #expect(try await Self.standing(test) == Standing(0, 0, nil))
            #expect(await Self.counted(test) == [2, 2, 0])
        }
    }

    @Test("The counts are right after a crash, and a ping that another replaces is counted once")
    func crash() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = { $0.run < 0 ? .exited(75) : .exited(0) }
            try await test.add(ScheduleWords(every: "10s"), command: ["true"]) {
                $0.ping = "https://a.example/up"
            }
            try await test.advance(by: .seconds(35))
            #expect(try await Self.standing(test).waiting == 1)
            let after = try await test.crashed()
            #expect(try await Self.standing(after).waiting == 1)
            try await after.close()
        }
    }

    @Test("The oldest is found by an index, however many notices there are")
    func index() async throws {
        try await TestScheduler.with { test in
            let plan = try await test.store.reader.read { database in
                try database.prepare("EXPLAIN QUERY PLAN " + NoticeStore.SQL.oldest).first {
                    try $0.get(3, as: String.self)
                }
            }
            #expect(plan?.contains("INDEX notices_waiting") == true, "\(plan ?? "")")
        }
    }

    @Test("daemon.status tells an administrator of all notices, and a user of their own")
    func status() async throws {
        try await DaemonProcess.with { daemon in
            _ = try await daemon.timerctl(
                "add",
                "--in",
                "1h",
                "--notify",
                "command:exit 75",
                "--",
                "false"
            )
            #expect(!(try await daemon.timerctl("status").output.contains("notices")))
            _ = try await daemon.timerctl("fire", "1")
            await daemon.logs("a notice was not handed over")
            let status = try await daemon.timerctl("status").output
            #expect(status.contains("\nnotices   1 waits, the oldest since "), "\(status)")
            let json = try await daemon.timerctl("status", "--json").output
            #expect(json.contains("\"givenUp\":0"), "\(json)")
            let metrics = try await daemon.timerctl("metrics").output
            #expect(metrics.contains("\ntimerd_notice_tries_total{outcome=\"failed\"} 1\n"))
            #expect(metrics.contains("\ntimerd_waiting_notices{state=\"due\"} 1\n"))
            #expect(metrics.contains("\ntimerd_notices_given_up_total 0\n"))
        }
    }
}
