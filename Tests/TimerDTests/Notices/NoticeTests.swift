// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// From the fact to the program that tells of it, in time that the test moves.
@Suite("Notices", .timeLimit(.minutes(2))) struct NoticeTests {
    @Test("A failure is told once the retries are used up, with the end of what the run wrote")
    func failed() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(3))
            test.runner.output = CapturedOutput(
                stdout: Array("out\n".utf8),
                stderr: Array(String(repeating: "x", count: 5000).utf8) + Array("end".utf8)
            )
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                ($0.name, $0.notify, $0.retries) = ("backup", [NoticeSupport.place], 1)
                $0.env = ["CHANNEL": "ops", "TIMERD_REASON": "no", "TIMERD_OWNER": "no"]
            }
            try await test.advance(by: .seconds(300))
            #expect(test.runner.requests.filter { $0.run > 0 }.count == 2)
            let request = try #require(NoticeSupport.told(test).first)
            #expect(NoticeSupport.told(test).count == 1)
            #expect(request.argv == ["/bin/sh", "-c", "tell"])
            #expect(request.environment["TIMERD_REASON"] == "failed")
            #expect(request.environment["TIMERD_OWNER"] == "root")
            #expect(request.environment["CHANNEL"] == "ops", "what the job gives to commands")
            let document = try NoticeSupport.document(request)
            #expect(document.version == 1 && document.reason == "failed")
            #expect(document.job == job.id && document.name == "backup" && document.attempt == 2)
            #expect(document.outcome == .exited && document.status == 3)
            #expect(document.fireDate == TestScheduler.start + .seconds(10))
            #expect(document.startedAt != nil && document.endedAt != nil)
            #expect(document.stdout == "out\n")
            #expect(
                document.stderr?.utf8.count == 4092 && document.stderr?.hasSuffix("xend") == true
            )
            let host = try #require(document.host)
            #expect(document.subject == "[timerd] backup failed on \(host): exit status 3")
            #expect(try await NoticeSupport.waiting(test).isEmpty, "it was handed over")
        }
    }

    @Test("Pings that hang keep their user from hearing of no failure")
    func besidePings() async throws {
        try await TestScheduler.with { test in
            test.runner.holds = { $0.run < 0 && $0.argv.first?.hasSuffix("curl") == true }
            for _ in 1...5 {
                try await test.add(ScheduleWords(in: "5s"), command: ["true"]) {
                    $0.ping = "https://a.example/up"
                }
            }
            try await test.advance(by: .seconds(6))
            #expect(test.runner.heldCount == 2, "two of a user's pings are on their way at once")
            test.runner.answer = NoticeSupport.answers(.exited(1))
            try await test.add(ScheduleWords(in: "5s"), command: ["false"]) {
                $0.notify = [NoticeSupport.place]
            }
            try await test.advance(by: .seconds(6))
            let told = NoticeSupport.told(test).filter { $0.argv.last == "tell" }
            #expect(try told.map { try NoticeSupport.document($0).reason } == ["failed"])
            test.runner.holds = nil
            test.runner.end()
            try await test.settle()
        }
    }

    @Test("A success after a failure is told, and no other unless the job wants it")
    func recovered() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(every: "2h"), command: ["true"]) {
                $0.notify = [NoticeSupport.place]
            }
            try await test.add(ScheduleWords(every: "2h"), command: ["true"]) {
                ($0.notify, $0.notifyOn) = ([NoticeSupport.place], ["succeeded"])
            }
            for outcome: RunOutcome in [.exited(0), .exited(1), .exited(1), .exited(0), .exited(0)]
            {
                test.runner.answer = NoticeSupport.answers(outcome)
                try await test.advance(by: .seconds(7200))
            }
            let told = try NoticeSupport.told(test).map(NoticeSupport.document)
            let first = told.filter { $0.job.rawValue == 1 }.map(\.reason)
            #expect(first == ["failed", "failed", "recovered"])
            let second = told.filter { $0.job.rawValue == 2 }.map(\.reason)
            #expect(second == ["succeeded", "succeeded", "succeeded"])
        }
    }

    @Test(
        "A success while nobody is told ends the failure before it",
        arguments: [(true, ["failed"]), (false, ["failed", "recovered"])]
    )
    func recoveredUntold(isBetween: Bool, reasons: [String]) async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            let job = try await test.add(ScheduleWords(every: "2h"), command: ["true"]) {
                $0.notify = [NoticeSupport.place]
            }
            try await test.advance(by: .seconds(7200))
            test.runner.answer = nil
            try await NoticeSupport.change(test, job) { $0.notify = nil }
            if isBetween { try await test.advance(by: .seconds(7200)) }
            try await NoticeSupport.change(test, job) { $0.notify = [NoticeSupport.place] }
            try await test.advance(by: .seconds(7200))
            let told = try NoticeSupport.told(test).map { try NoticeSupport.document($0).reason }
            #expect(told == reasons)
        }
    }

    @Test("A date that nothing stands for is told as missed, with how many there were")
    func missed() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10min"), command: ["true"]) {
                ($0.notify, $0.misfire) = ([NoticeSupport.place], .skip)
            }
            let after = try await test.crashedAndDown(for: .seconds(3630))
            try await after.advance(by: .seconds(1))
            let document = try NoticeSupport.document(try #require(NoticeSupport.told(after).first))
            #expect(document.reason == "missed" && document.job == job.id)
            #expect(document.skipped == .misfire && (document.dates ?? 0) >= 5)
            #expect(document.subject?.contains("missed \(document.dates ?? 0) dates") == true)
            try await after.close()
        }
    }

    @Test("A date that the run before kept from firing is told where the job asks for it")
    func skipped() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            try await test.add(ScheduleWords(every: "10s"), command: ["sleep"]) {
                ($0.notify, $0.notifyOn, $0.count) = ([NoticeSupport.place], ["skipped"], 2)
            }
            try await test.advance(by: .seconds(25))
            let request = try #require(NoticeSupport.told(test).first)
            #expect(try NoticeSupport.document(request).skipped == .overlap)
            test.runner.end()
        }
    }

    @Test("A fire that begins later than notifyLate is told, of a job without a command as well")
    func late() async throws {
        try await TestScheduler.with { test in
            for command in [["true"], nil] {
                try await test.add(ScheduleWords(in: "10s"), command: command) {
                    ($0.notify, $0.notifyLate) = ([NoticeSupport.place], "5min")
                }
                try await test.add(ScheduleWords(in: "10s"), command: command) {
                    ($0.notify, $0.notifyLate) = ([NoticeSupport.place], "15min")
                }
                // It may begin that late, to share a wake-up.
                try await test.add(ScheduleWords(in: "10s"), command: command) {
                    ($0.notify, $0.notifyLate) = ([NoticeSupport.place], "5min")
                    $0.tolerance = "10min"
                }
            }
            let after = try await test.crashedAndDown(for: .seconds(610))
            try await after.advance(by: .seconds(1))
            let told = try NoticeSupport.told(after).map(NoticeSupport.document)
            #expect(Set(told.map(\.job.rawValue)) == [1, 4])
            #expect(told.allSatisfy { $0.reason == "late" && $0.lateBy == "10min" }, "\(told)")
            try await after.close()
        }
    }

    @Test("What somebody ended on purpose is no failure to tell of")
    func stopped() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            try await test.add(ScheduleWords(in: "10s"), command: ["sleep"]) {
                $0.notify = [NoticeSupport.place]
            }
            try await test.advance(by: .seconds(11))
            _ = try await test.scheduler.endRun(
                RunID(rawValue: 1),
                caller: TestScheduler.root
            )
            try await test.settle()
            #expect(test.runner.heldCount == 0 && NoticeSupport.told(test).isEmpty)
        }
    }

    @Test(
        "A notice that is not taken is tried again, with its number, and given up after a day, aloud"
    )
    func retried() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1), told: .exited(75))
            test.runner.output = CapturedOutput(
                stderr: Array("busy\nhttps://a.example/secret\n".utf8)
            )
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.notify = ["https://a.example/secret"]
            }
            try await test.advance(by: .seconds(11))
            let first = try #require(try await NoticeSupport.waiting(test).first)
            #expect(first.attempts == 1)
            #expect(first.error == "exit status 75: https://a.example/…")
            try await test.advance(by: .seconds(60))
            #expect(NoticeSupport.told(test).count == 2)
            try await test.advance(by: .seconds(120))
            #expect(NoticeSupport.told(test).count == 3)
            #expect(Set(NoticeSupport.told(test).map(\.run)).count == 3, "each try has its own")
            try await test.advance(by: .seconds(90_000))
            #expect(try await NoticeSupport.waiting(test).isEmpty)
            let tries = NoticeSupport.told(test).count
            #expect((24...32).contains(tries))
            let event = try #require(test.sink.all(.noticeFailed).first)
            #expect(
                event.reason == "failed to https://a.example/…: exit status 75: https://a.example/…"
            )
            try await test.advance(by: .seconds(90_000))
            #expect(NoticeSupport.told(test).count == tries)
        }
    }

    @Test("A notice on its way when the daemon is killed is handed over by the next one")
    func crash() async throws {
        try await TestScheduler.with { test in
            try await NoticeSupport.holdTries(test)
            let before = try NoticeSupport.document(try #require(NoticeSupport.told(test).first))
            let after = try await test.crashedAndDown(for: .seconds(200))
            let document = try NoticeSupport.document(try #require(NoticeSupport.told(after).first))
            #expect(document.reason == "failed" && document.notice == before.notice)
            #expect(try await NoticeSupport.waiting(after).isEmpty)
            try await after.close()
            test.runner.end()
        }
    }

    @Test("A notice whose row cannot be read keeps no other waiting, and is given up aloud")
    func unread() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = { request in
                request.input.isEmpty && request.run < 0
                    ? .exited(65) : .exited(request.run < 0 ? 75 : 1)
            }
            for _ in 0..<2 {
                try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                    $0.notify = [NoticeSupport.place]
                }
            }
            try await test.advance(by: .seconds(11))
            #expect(try await NoticeSupport.waiting(test).count == 2)
            try await test.store.writer.write { transaction in
                try transaction.execute(
                    "UPDATE notices SET document = '{', reason = 'tea', place = 'pot' WHERE job_id = 1"
                )
            }
            test.runner.answer = { $0.argv.last == "tell" ? .exited(0) : .exited(65) }
            try await test.advance(by: .seconds(61))
            let waiting = try await NoticeSupport.waiting(test)
            #expect(waiting.map(\.job.rawValue) == [1], "the other one was handed over")
            #expect(waiting.first?.isUnread == true && waiting.first?.error == "exit status 65")
            try await test.advance(by: .seconds(25 * 3600))
            #expect(try await NoticeSupport.waiting(test).isEmpty)
            #expect(test.sink.all(.noticeFailed).count == 1)
        }
    }

    @Test("One user's notices that hang delay nobody else's, and two of them hang at once")
    func turns() async throws {
        try await TestScheduler.with(accounts: Accounts()) { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            test.runner.holds = { $0.run < 0 && $0.credentials?.uid == 65_534 }
            for (uid, count) in [(UInt32(65_534), 5), (1, 1)] {
                // try?: who has no entry goes by the number.
                let owner = Owner(uid: uid, name: (try? Account.find(uid: uid))?.name)
                for _ in 0..<count {
                    var definition = JobDefinition(
                        schedule: ScheduleWords(in: uid == 1 ? "20s" : "10s")
                    )
                    (definition.command, definition.notify) = (["false"], [NoticeSupport.place])
                    let new = try NewJob(definition, owner: owner, at: test.clock.now(), zone: .utc)
                    let caller = Caller(owner, isAdministrator: false)
                    _ = try await test.scheduler.add([new], replace: false, caller: caller)
                }
            }
            try await test.advance(by: .seconds(21))
            let told = NoticeSupport.told(test).map { $0.credentials?.uid }
            #expect(told.sorted { ($0 ?? 0) < ($1 ?? 0) } == [1, 65_534, 65_534])
            #expect(try await NoticeSupport.waiting(test).allSatisfy { $0.owner.uid == 65_534 })
            test.runner.holds = nil
            test.runner.end()
            try await test.settle()
            #expect(NoticeSupport.told(test).count == 6, "the others have their turn")
            #expect(try await NoticeSupport.waiting(test).isEmpty)
        }
    }

    @Test("A ping goes when a run has succeeded; a newer one takes the place of one that waits")
    func ping() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(0), told: .exited(7))
            try await test.add(ScheduleWords(every: "10s"), command: ["true"]) {
                ($0.ping, $0.count) = ("https://ping.example/secret", 3)
            }
            try await test.advance(by: .seconds(31))
            #expect(
                NoticeSupport.told(test).map(\.argv)
                    == Array(repeating: ["curl", "-q", "-K", "-"], count: 3)
            )
            let waiting = try await NoticeSupport.waiting(test)
            #expect(waiting.count == 1 && waiting.first?.document.run == RunID(rawValue: 3))
            let input = String(decoding: NoticeSupport.told(test)[0].input, as: UTF8.self)
            #expect(input.contains("url = \"https://ping.example/secret\"\n"))
            #expect(!input.contains("data"), "it is a GET")
            test.runner.answer = NoticeSupport.answers(.exited(1))
            try await test.advance(by: .seconds(600))
            #expect(try await NoticeSupport.waiting(test).isEmpty)
        }
    }

    @Test("A job that says nowhere is not told of, whatever the daemon's default is")
    func defaults() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            settings.notices.defaults.places = [.mail(nil)]
            settings.notices.mailProgram = "/opt/mail"
            await test.scheduler.reload(settings)
            test.runner.answer = NoticeSupport.answers(.exited(1))
            let told = try await test.add(ScheduleWords(in: "10s"), command: ["false"])
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.notify = ["none"]
            }
            try await test.advance(by: .seconds(11))
            let requests = NoticeSupport.told(test)
            #expect(requests.map(\.argv) == [["/opt/mail", "-i", "-t"]])
            let mail = String(decoding: try #require(requests.first).input, as: UTF8.self)
            #expect(mail.hasPrefix("To: root\nSubject: [timerd] job \(told.id) failed on "))
        }
    }
}
