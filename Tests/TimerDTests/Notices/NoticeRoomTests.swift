// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("Room for notices", .timeLimit(.minutes(2))) struct NoticeRoomTests {
    /// Has as many notices of a job wait as are kept, 25 to each of eight places that take none.
    private static func fill(_ test: TestScheduler) async throws {
        test.runner.answer = { request in
            request.run < 0 ? .exited(request.argv.last == "well" ? 0 : 75) : .exited(1)
        }
        try await test.add(ScheduleWords(every: "1s"), command: ["false"]) {
            ($0.notify, $0.notifyEvery) = (NoticeSupport.places(8), "0s")
            $0.count = Limits.notices / 8
        }
        try await test.advance(by: .seconds(26))
        #expect(try await NoticeSupport.waiting(test).count == Limits.notices)
    }

    @Test("Summaries that are held back keep no first failure from being told")
    func besideSummaries() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            for _ in 1...(Limits.notices / 8) {
                try await test.add(ScheduleWords(every: "10min"), command: ["false"]) {
                    ($0.notify, $0.count) = (NoticeSupport.places(8), 2)
                }
            }
            try await test.advance(by: .seconds(1201))
            #expect(try await NoticeSupport.waiting(test).count == Limits.notices)
            try await test.add(ScheduleWords(in: "1s"), command: ["false"]) {
                $0.notify = ["command:well"]
            }
            try await test.advance(by: .seconds(2))
            #expect(NoticeSupport.told(test).last?.argv.last == "well")
            let waiting = try await NoticeSupport.waiting(test)
            #expect(waiting.count == Limits.notices)
            #expect(waiting.compactMap(\.document.dropped) == [])
        }
    }

    @Test("A place that takes none keeps none from another, and what it gives up is told with it")
    func besideDeadPlaces() async throws {
        try await TestScheduler.with { test in
            try await Self.fill(test)
            try await test.add(ScheduleWords(in: "1s"), command: ["false"]) {
                $0.notify = ["command:well"]
            }
            try await test.advance(by: .seconds(2))
            #expect(NoticeSupport.told(test).contains { $0.argv.last == "well" })
            let waiting = try await NoticeSupport.waiting(test)
            #expect(waiting.count == Limits.notices - 1)
            let counting = waiting.filter { $0.document.dropped != nil }
            #expect(counting.map(\.document.dropped) == [1])
            #expect(waiting.count { $0.place == counting.first?.place } == 24)
            // Each try from now on is the last.
            try await test.store.writer.write {
                try $0.execute("UPDATE notices SET until_us = not_before_us + 1000000")
            }
            try await test.advance(by: .seconds(200))
            #expect(try await NoticeSupport.waiting(test).isEmpty)
            let reasons = test.sink.all(.noticeFailed).compactMap(\.reason)
            #expect(reasons.count == Limits.notices - 1)
            #expect(reasons.count { $0.hasSuffix(": exit status 75; 1 more not kept") } == 1)
        }
    }

    @Test("Two places that hang, with many that wait, delay what goes to another by one try")
    func besideHangingPlaces() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1))
            test.runner.holds = { $0.run < 0 && $0.argv.last != "well" }
            try await test.add(ScheduleWords(every: "1s"), command: ["false"]) {
                ($0.notify, $0.notifyEvery) = (NoticeSupport.places(2), "0s")
                $0.count = 20
            }
            try await test.advance(by: .seconds(21))
            try await test.add(ScheduleWords(in: "1s"), command: ["false"]) {
                // In the order of their texts it comes last.
                $0.notify = ["command:well"]
            }
            try await test.advance(by: .seconds(2))
            #expect(test.runner.heldCount == 2)
            test.runner.end(.exited(75))
            try await test.settle()
            #expect(NoticeSupport.told(test).count { $0.argv.last == "well" } == 1)
            test.runner.holds = nil
            test.runner.end()
            try await test.settle()
        }
    }

    @Test("A notice that there was no room for holds no later one back")
    func untold() async throws {
        try await TestScheduler.with { test in
            try await Self.fill(test)
            let job = try await test.add(ScheduleWords(every: "10min"), command: ["false"]) {
                ($0.notify, $0.count) = ([NoticeSupport.place], 2)
            }
            try await test.advance(by: .seconds(610))
            let waiting = try await NoticeSupport.waiting(test)
            #expect(waiting.count == Limits.notices && !waiting.contains { $0.job == job.id })
            let tries = NoticeSupport.told(test).count
            test.runner.answer = NoticeSupport.answers(.exited(1))
            try await test.advance(by: .seconds(600))
            let told = try NoticeSupport.told(test).dropFirst(tries).map(NoticeSupport.document)
            #expect(told.filter { $0.job == job.id }.map(\.held) == [nil])
            #expect(told.compactMap(\.dropped) == [1])
        }
    }
}
