// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("How many notices there are", .timeLimit(.minutes(2))) struct NoticeLimitTests {
    @Test("In an hour one failure is told, and then a summary of those between")
    func summary() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            try await test.add(ScheduleWords(every: "10min"), command: ["false"]) {
                ($0.notify, $0.count, $0.name) = ([NoticeSupport.place], 5, "backup")
            }
            try await test.advance(by: .seconds(4199))
            #expect(NoticeSupport.told(test).count == 1)
            #expect(try await NoticeSupport.waiting(test).map(\.document.held) == [4])
            try await test.advance(by: .seconds(2))
            #expect(NoticeSupport.told(test).count == 2)
            let document = try NoticeSupport.document(NoticeSupport.told(test)[1])
            #expect(document.held == 4)
            #expect(document.heldFrom == TestScheduler.start + .seconds(1200))
            #expect(document.heldTo == TestScheduler.start + .seconds(3000))
            #expect(document.fireDate == document.heldTo, "it tells of the last")
            #expect(document.subject?.contains(", 4 more times: exit status 1") == true)
            try await test.advance(by: .seconds(100_000))
            #expect(NoticeSupport.told(test).count == 2)
        }
    }

    @Test("What is held back while a summary waits for its turn is counted in the next one alone")
    func crowdedSummary() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            let job = try await test.add(ScheduleWords(every: "10min"), command: ["false"]) {
                $0.notify = [NoticeSupport.place]
            }
            // The first summary is due after 4200 s. All that are on their way at once of this user hang by then.
            for _ in 1...2 {
                try await test.add(ScheduleWords(in: "4190s"), command: ["false"]) {
                    $0.notify = [NoticeSupport.place]
                }
            }
            try await test.advance(by: .seconds(4180))
            test.runner.holds = { $0.run < 0 }
            try await test.advance(by: .seconds(1930))
            #expect(try await NoticeSupport.waiting(test).count == 4)
            test.runner.holds = nil
            test.runner.end()
            try await test.settle()
            try await test.advance(by: .seconds(1700))
            let told = try NoticeSupport.told(test).map(NoticeSupport.document).filter {
                $0.job == job.id
            }
            #expect(told.map(\.held) == [nil, 5, 6])
            let waiting = try await NoticeSupport.waiting(test).map(\.document)
            let failed = test.runner.requests.count { $0.run > 0 } - 2
            #expect((told + waiting).reduce(0) { $0 + ($1.held ?? 1) } == failed)
        }
    }

    @Test(
        "A place that a job gets while a summary is held back hears of what follows, one that it has lost of no more",
        arguments: [(["command:b"], 1), (["command:a", "command:b"], 4)]
    )
    func changedPlaces(places: [String], held: Int) async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            let job = try await test.add(ScheduleWords(every: "10min"), command: ["false"]) {
                ($0.notify, $0.count) = (["command:a"], 5)
            }
            try await test.advance(by: .seconds(1210))
            #expect(try await NoticeSupport.waiting(test).map(\.document.held) == [1])
            try await NoticeSupport.change(test, job) { $0.notify = places }
            try await test.advance(by: .seconds(3000))
            let told = try NoticeSupport.told(test).map { request in
                (request.argv.last, try NoticeSupport.document(request).held)
            }
            #expect(told.filter { $0.0 == "a" }.map { $0.1 } == [nil, held])
            #expect(told.filter { $0.0 == "b" }.map { $0.1 } == [3])
        }
    }

    @Test(
        "What is held back is told by a shorter notifyEvery as soon as the job has it",
        arguments: [("45min", 290), ("0s", 0)] as [(String, Int64)]
    )
    func shorter(every: String, seconds: Int64) async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            let job = try await test.add(ScheduleWords(every: "20min"), command: ["false"]) {
                $0.notify = [NoticeSupport.place]
            }
            try await test.advance(by: .seconds(3610))
            #expect(try await NoticeSupport.waiting(test).map(\.document.held) == [2])
            try await NoticeSupport.change(test, job) { $0.notifyEvery = every }
            if seconds > 0 {
                try await test.advance(by: .seconds(seconds - 1))
                #expect(NoticeSupport.told(test).count == 1)
            }
            try await test.advance(by: .seconds(2))
            let told = try NoticeSupport.told(test).map { try NoticeSupport.document($0).held }
            #expect(told == [nil, 2])
        }
    }

    @Test(
        "A summary is due notifyEvery after the last notice, however often that is changed",
        arguments: [
            (["30min", "1h", "30min", "1h"], 3600), (["2h"], 7200),
            (["2h", "30min", "45min"], 2700),
        ] as [([String], Int64)]
    )
    func thereAndBack(spans: [String], due: Int64) async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            let job = try await test.add(ScheduleWords(every: "11min"), command: ["false"]) {
                $0.notify = [NoticeSupport.place]
            }
            // The first failure was told after 660 s; the second one is held back.
            try await test.advance(by: .seconds(1400))
            for span in spans {
                try await NoticeSupport.change(test, job) { $0.notifyEvery = span }
            }
            #expect(try await NoticeSupport.waiting(test).map(\.document.held) == [1])
            try await test.advance(by: .seconds(due + 660 - 1400 - 1))
            #expect(NoticeSupport.told(test).count == 1)
            try await test.advance(by: .seconds(2))
            #expect(NoticeSupport.told(test).count == 2)
        }
    }

    @Test("A place that is stated twice is told once")
    func statedTwice() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            try await test.add(ScheduleWords(every: "10min"), command: ["false"]) {
                ($0.notify, $0.count) = ([NoticeSupport.place, NoticeSupport.place], 3)
            }
            try await test.advance(by: .seconds(601))
            #expect(NoticeSupport.told(test).count == 1)
            try await test.advance(by: .seconds(3600))
            let told = try NoticeSupport.told(test).map { try NoticeSupport.document($0).held }
            #expect(told == [nil, 2])
        }
    }

    @Test("With notifyEvery 0s each failure is told")
    func each() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            try await test.add(ScheduleWords(every: "10s"), command: ["false"]) {
                ($0.notify, $0.notifyEvery, $0.count) = ([NoticeSupport.place], "0s", 3)
            }
            try await test.advance(by: .seconds(31))
            #expect(
                try NoticeSupport.told(test).map { try NoticeSupport.document($0).held } == [
                    nil, nil, nil,
                ]
            )
        }
    }

    @Test("A user's notices that wait are bounded; what comes beyond is counted in one of them")
    func bound() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1), told: .exited(75))
            try await test.add(ScheduleWords(every: "1s"), command: ["false"]) {
                $0.notify = NoticeSupport.places(8)
                ($0.notifyEvery, $0.count) = ("0s", 27)
            }
            try await test.advance(by: .seconds(30))
            let waiting = try await NoticeSupport.waiting(test)
            #expect(waiting.count == Limits.notices)
            #expect(waiting.compactMap(\.document.dropped).reduce(0, +) == 27 * 8 - Limits.notices)
        }
    }

    @Test(
        "What is dropped is counted where it is told: not in a ping, and pings keep no notice out"
    )
    func droppedBesidePings() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = { request in
                request.run < 0 ? .exited(75) : .exited(request.argv == ["true"] ? 0 : 1)
            }
            try await test.add(ScheduleWords(every: "1s"), command: ["false"]) {
                $0.notify = NoticeSupport.places(8)
                ($0.notifyEvery, $0.count) = ("0s", 29)
            }
            for delay in ["500ms", "27500ms"] {
                try await test.add(ScheduleWords(in: delay), command: ["true"]) {
                    $0.ping = "https://a.example/up"
                }
            }
            try await test.advance(by: .seconds(30))
            let waiting = try await NoticeSupport.waiting(test)
            let (pings, others) = (
                waiting.filter { $0.reason == .ping }, waiting.filter { $0.reason != .ping }
            )
            #expect(pings.count == 2 && pings.allSatisfy { $0.document.dropped == nil })
            #expect(others.count == Limits.notices)
            #expect(others.compactMap(\.document.dropped).reduce(0, +) == 29 * 8 - Limits.notices)
        }
    }

    @Test("What is dropped while the newest is on its way is told by another one")
    func droppedMeanwhile() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1), told: .exited(75))
            func fail(_ count: Int, places: Int, after first: Int64) async throws {
                try await test.add(ScheduleWords(every: "1s"), command: ["false"]) {
                    $0.notify = NoticeSupport.places(places)
                    ($0.notifyEvery, $0.count) = ("0s", count)
                }
                try await test.advance(by: .seconds(first))
            }
            try await fail((Limits.notices - 1) / 8, places: 8, after: 26)
            try await fail(1, places: (Limits.notices - 1) % 8, after: 2)
            // All have been tried, and wait for a minute. The last one that there is room for hangs.
            test.runner.answer = NoticeSupport.answers(.exited(1))
            test.runner.holds = { $0.run < 0 }
            try await fail(1, places: 1, after: 2)
            try await fail(5, places: 1, after: 6)
            #expect(try await NoticeSupport.waiting(test).count == Limits.notices)
            test.runner.holds = nil
            test.runner.end()
            let waiting = try await NoticeSupport.waiting(test)
            #expect(waiting.count == Limits.notices - 1)
            #expect(waiting.compactMap(\.document.dropped).reduce(0, +) == 5)
        }
    }
}
