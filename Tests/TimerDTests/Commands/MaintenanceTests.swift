// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Maintenance", .timeLimit(.minutes(1))) struct MaintenanceTests {
    @discardableResult
    private func ask(
        _ test: TestScheduler,
        _ request: Request,
        as uid: UInt32 = 1000
    ) async throws -> [Job] {
        let reply = try await test.handler().handle(request, from: uid).get()
        if let one = reply as? JobReply { return [one.job] }
        return try #require(reply as? JobsReply).jobs
    }

    private func add(
        _ test: TestScheduler,
        _ name: String,
        as uid: UInt32 = 1000,
        replace: Bool = false,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> Job {
        var definition = JobDefinition(schedule: ScheduleWords(every: "10s"))
        definition.name = name
        definition.misfire = .skip
        change(&definition)
        return try await ask(test, .addJobs(AddJobs(definition, replace: replace)), as: uid)[0]
    }

    /// Which jobs fire within the next ten seconds.
    private func firing(_ test: TestScheduler) async throws -> Set<String> {
        let before = test.sink.all(.fireFired).count
        try await test.advance(by: .seconds(10))
        return Set(test.sink.all(.fireFired).dropFirst(before).compactMap(\.name))
    }

    @Test("All jobs are paused, those that are added meanwhile too, and go on as they were")
    func onAndOff() async throws {
        try await TestScheduler.with { test in
            _ = try await add(test, "a")
            _ = try await add(test, "paused") { $0.paused = true }
            _ = try await add(test, "hers", as: 1001)
            let paused = try await ask(test, .beginMaintenance(nil))
            #expect(paused.map(\.definition.name) == ["a"])
            #expect(paused.map(\.maintenance) == [true])
            let new = try await add(test, "new")
            #expect(new.state == .paused && new.maintenance)
            let newPaused = try await add(test, "new and paused") { $0.paused = true }
            #expect(!newPaused.maintenance)
            let again = try await add(test, "a", replace: true) { $0.tags = ["replaced"] }
            #expect(again.state == .paused && again.maintenance)
            #expect(try await firing(test) == ["hers"])
            // Twice is as once, also after a crash.
            let crashed = try await test.crashed()
            #expect(try await ask(crashed, .beginMaintenance(nil)).isEmpty)
            #expect(try await firing(crashed) == ["hers"])
            let resumed = try await ask(crashed, .endMaintenance(nil))
            #expect(resumed.map(\.definition.name) == ["a", "new"])
            #expect(resumed.allSatisfy { !$0.maintenance && $0.state == .scheduled })
            #expect(try await firing(crashed) == ["a", "new", "hers"])
            #expect(try await ask(crashed, .endMaintenance(nil)).isEmpty)
            let later = try await add(crashed, "later")
            #expect(later.state == .scheduled)
            try await crashed.close()
        }
    }

    @Test("What is paused or resumed by hand in between stays as that left it")
    func byHand() async throws {
        try await TestScheduler.with { test in
            for name in ["paused", "resumed", "changed", "ended"] { _ = try await add(test, name) }
            try await ask(test, .beginMaintenance(nil))
            try await ask(test, .pauseJobs(.name("paused")))
            try await ask(test, .resumeJobs(.name("resumed")))
            try await ask(test, .invalidateJobs(InvalidateJobs(.name("ended"))))
            let job = try await ask(test, .getJob(.name("changed")))[0]
            var definition = job.definition
            definition.tags = ["t"]
            let change = Request.applyJobs(ApplyJobs(change: [JobRevision(of: job, definition)]))
            _ = try await test.handler().handle(change, from: 1000).get()
            #expect(try await firing(test) == ["resumed"])
            // As of a client that has missed the answer.
            #expect(try await ask(test, .beginMaintenance(nil)).isEmpty)
            #expect(try await firing(test) == ["resumed"])
            // Resumed and paused again, it is the owner's.
            try await ask(test, .pauseJobs(.name("resumed")))
            let resumed = try await ask(test, .endMaintenance(nil))
            #expect(resumed.map(\.definition.name) == ["changed"])
            #expect(try await firing(test) == ["changed"])
        }
    }

    @Test("A change that ends the pause of a definition does not end the maintenance")
    func definedPause() async throws {
        try await TestScheduler.with { test in
            let paused = try await add(test, "paused") { $0.paused = true }
            let resumed = try await add(test, "resumed") { $0.paused = true }
            try await ask(test, .resumeJobs(.ids([resumed.id])))
            try await ask(test, .beginMaintenance(nil))
            for (job, says) in [(paused, nil), (resumed, nil), (resumed, false)] as [(Job, Bool?)] {
                var definition = job.definition
                definition.paused = says
                let change = ApplyJobs(change: [JobRevision(id: job.id, definition: definition)])
                _ = try await test.handler().handle(.applyJobs(change), from: 1000).get()
                #expect(try await firing(test) == (says == false ? ["resumed"] : []))
            }
            let resumedAtEnd = try await ask(test, .endMaintenance(nil))
            #expect(resumedAtEnd.map(\.definition.name) == ["paused"])
        }
    }

    @Test("An administrator's word concerns another user; nobody else's does")
    func others() async throws {
        try await TestScheduler.with { test in
            _ = try await add(test, "a")
            let hers = try await add(test, "hers", as: 1001)
            await #expect(throws: ControlError.self) {
                try await ask(test, .beginMaintenance(hers.owner), as: 1000)
            }
            let paused = try await ask(test, .beginMaintenance(hers.owner), as: 0)
            #expect(paused.map(\.definition.name) == ["hers"])
            #expect(try await firing(test) == ["a"])
            await #expect(throws: ControlError.self) {
                try await ask(test, .beginMaintenance("nobody at all"), as: 0)
            }
            // Who has no job yet may be in maintenance: the first one begins paused.
            #expect(try await ask(test, .beginMaintenance(nil), as: 1002).isEmpty)
            #expect(try await add(test, "first", as: 1002).maintenance)
        }
    }
}
