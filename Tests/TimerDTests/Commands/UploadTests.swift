// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

@Suite("Changes in parts", .timeLimit(.minutes(1))) struct UploadTests {
    private static func definition(_ name: String, every: String = "1h") -> JobDefinition {
        var definition = JobDefinition(schedule: ScheduleWords(every: every))
        definition.name = name
        definition.command = ["true"]
        return definition
    }

    private func ask(
        _ test: TestScheduler,
        _ request: Request,
        as uid: UInt32 = 1000
    ) async throws -> any Encodable & Sendable {
        try await test.handler().handle(request, from: uid).get()
    }

    @discardableResult
    private func put(
        _ test: TestScheduler,
        _ part: Int,
        _ jobs: ApplyJobs,
        of upload: String = "big",
        as uid: UInt32 = 1000
    ) async throws -> Upload {
        let request = Request.putPart(PutPart(upload: upload, part: part, jobs: jobs))
        return try #require(try await ask(test, request, as: uid) as? UploadReply).upload
    }

    @discardableResult
    private func apply(
        _ test: TestScheduler,
        _ upload: String = "big",
        dryRun: Bool = false,
        as uid: UInt32 = 1000
    ) async throws -> UploadedReply {
        let request = Request.applyJobs(ApplyJobs(dryRun: dryRun, upload: upload))
        return try #require(try await ask(test, request, as: uid) as? UploadedReply)
    }

    private func uploads(_ test: TestScheduler, as uid: UInt32 = 1000) async throws -> [Upload] {
        try #require(try await ask(test, .listUploads, as: uid) as? UploadsReply).uploads
    }

    private func names(_ test: TestScheduler) async throws -> [String] {
        let reply = try await ask(test, .listJobs(ListJobs())) as? JobsReply
        return try #require(reply).jobs.compactMap(\.definition.name)
    }

    @Test(
        "Parts are one change: nothing is done before the last, and then all of it, in their order"
    )
    func together() async throws {
        try await TestScheduler.with { test in
            let old = try #require(
                try await ask(test, .addJobs(AddJobs(Self.definition("old")))) as? JobReply
            ).job.id
            let kept = try #require(
                try await ask(test, .addJobs(AddJobs(Self.definition("kept")))) as? JobReply
            ).job.id
            let first = ApplyJobs(
                invalidate: [old],
                change: [JobRevision(id: kept, definition: Self.definition("kept", every: "2h"))],
                add: [Self.definition("a")]
            )
            // In any order, and the same one again.
            try await put(test, 1, ApplyJobs(add: [Self.definition("b"), Self.definition("c")]))
            try await put(test, 0, ApplyJobs(add: [Self.definition("never")]))
            let upload = try await put(test, 0, first)
            #expect(upload.parts == [0, 1] && upload.jobs == 5)
            #expect(try await names(test) == ["old", "kept"])
            let reply = try await apply(test)
            #expect(reply.invalidated == [old] && reply.changed == [kept])
            #expect(reply.added.count == 3)
            #expect(try await names(test) == ["kept", "a", "b", "c"])
            #expect(try await uploads(test).isEmpty)
            // It is over: a client that asks again, having missed the answer, has nothing done twice.
            await #expect(throws: ControlError.noUpload("big")) { try await apply(test) }
        }
    }

    @Test("What is refused in one part is refused as a whole, and the parts stay to be mended")
    func refused() async throws {
        try await TestScheduler.with { test in
            _ = try await ask(test, .addJobs(AddJobs(Self.definition("taken"))))
            try await put(test, 0, ApplyJobs(add: [Self.definition("a")]))
            try await put(test, 1, ApplyJobs(add: [Self.definition("taken")]))
            await #expect(throws: ControlError.self) { try await apply(test) }
            #expect(try await names(test) == ["taken"])
            await #expect(throws: ControlError.self) { try await apply(test, dryRun: true) }
            try await put(test, 1, ApplyJobs(add: [Self.definition("b")]))
            #expect(try await apply(test, dryRun: true).added.count == 2)
            #expect(try await names(test) == ["taken"])
            #expect(try await apply(test).added.count == 2)
            #expect(try await names(test) == ["taken", "a", "b"])
        }
    }

    @Test("Two parts may not name the same job, or give two jobs one name")
    func twice() async throws {
        try await TestScheduler.with { test in
            let job = try #require(
                try await ask(test, .addJobs(AddJobs(Self.definition("job")))) as? JobReply
            ).job.id
            try await put(test, 0, ApplyJobs(invalidate: [job]))
            try await put(test, 1, ApplyJobs(invalidate: [job]))
            await #expect(
                throws: ControlError(
                    .invalidParams,
                    "job \(job) is named twice in 'invalidate'"
                )
            ) { try await apply(test) }
            try await put(test, 0, ApplyJobs(add: [Self.definition("same")]))
            try await put(test, 1, ApplyJobs(add: [Self.definition("same")]))
            await #expect(throws: ControlError.self) { try await apply(test) }
            #expect(try await names(test) == ["job"])
        }
    }

    @Test("A part that cannot be is refused when it comes; one that is missing is named")
    func partial() async throws {
        try await TestScheduler.with { test in
            var bad = Self.definition("bad")
            bad.schedule = ScheduleWords(cron: "0 0 30 2 *")
            await #expect(throws: ControlError.self) {
                try await put(test, 0, ApplyJobs(add: [Self.definition("good"), bad]))
            }
            #expect(try await uploads(test).isEmpty)
            try await put(test, 1, ApplyJobs(add: [Self.definition("b")]))
            await #expect(
                throws: ControlError(
                    .conflict,
                    "part 0 of upload 'big' is missing; nothing was done"
                )
            ) { try await apply(test) }
        }
    }

    @Test("An upload is its owner's alone, and outlives the daemon; dropped, it is gone")
    func owners() async throws {
        try await TestScheduler.with { test in
            try await put(test, 0, ApplyJobs(add: [Self.definition("a")]))
            #expect(try await uploads(test, as: 1001).isEmpty)
            for other in [UInt32(1001), 0] {
                await #expect(throws: ControlError.noUpload("big")) {
                    try await apply(test, as: other)
                }
                await #expect(throws: ControlError.noUpload("big")) {
                    _ = try await ask(test, .dropUpload("big"), as: other)
                }
            }
            let crashed = try await test.crashed()
            #expect(try await uploads(crashed).map(\.parts) == [[0]])
            _ = try await ask(crashed, .dropUpload("big"))
            #expect(try await uploads(crashed).isEmpty)
            #expect(try await names(crashed).isEmpty)
            try await crashed.close()
        }
    }

    @Test(
        "A user's uploads are bounded in parts, jobs and bytes, each told; another user's have room"
    )
    func bounds() async throws {
        try await TestScheduler.with { test in
            let many = ApplyJobs(invalidate: (1...10_000).map { JobID(rawValue: $0) })
            for part in 0..<10 { try await put(test, part, many) }
            await #expect(
                throws: ControlError(
                    .limitReached,
                    "your uploads would hold 100001 jobs, at most 100000 are accepted; "
                        + "'upload.list' shows them, 'upload.drop' and 'job.apply' make room"
                )
            ) { try await put(test, 0, ApplyJobs(add: [Self.definition("a")]), of: "other") }
            // In the place of another one there is room.
            try await put(test, 9, ApplyJobs(add: [Self.definition("a")]))
            try await put(test, 0, ApplyJobs(add: [Self.definition("a")]), as: 1001)
            _ = try await ask(test, .dropUpload("big"))

            var large = Self.definition("large")
            large.userInfo = JSONText(.string(String(repeating: "x", count: 60_000)))
            let part = ApplyJobs(
                add: (0..<16).map { _ in large }.enumerated().map { index, job in
                    var job = job
                    job.name = "large-\(index)"
                    return job
                }
            )
            var refusal: ControlError?
            for number in 0..<40 where refusal == nil {
                do { try await put(test, number, part) } catch let error as ControlError {
                    refusal = error
                }
            }
            #expect(refusal?.reason == .limitReached)
            #expect(refusal?.message.contains("bytes, at most 33554432 are accepted") == true)
        }
    }

    @Test(
        "An upload is kept for a day from its oldest part, then removed whole; another that is put meanwhile stays"
    )
    func age() async throws {
        try await TestScheduler.with { test in
            let first = try await put(test, 0, ApplyJobs(add: [Self.definition("a")]))
            #expect(first.until == TestScheduler.start + .seconds(86_400))
            try await test.advance(by: .seconds(3600))
            try await put(test, 0, ApplyJobs(add: [Self.definition("b")]), of: "late")
            let second = try await put(test, 1, ApplyJobs(add: [Self.definition("c")]))
            #expect(second.until == first.until)
            try await test.advance(by: .seconds(83_000))
            try await test.settle()
            #expect(try await uploads(test).map(\.name) == ["late"])
            try await test.advance(by: .seconds(3600))
            try await test.settle()
            #expect(try await uploads(test).isEmpty)
        }
    }

    @Test("Parts that were changed after they were read are not done as if they were the same")
    func meanwhile() throws {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
        defer { database.close() }
        try Migrator(.released).migrate(database)
        let moment = ClockReading(elapsed: TestScheduler.start, wallOffset: .zero)
        var transaction = JobTransaction(database, at: moment, horizon: .distantPast)
        let caller = Caller(Owner(uid: 1000, name: "ann"), isAdministrator: false)
        let jobs = ApplyJobs(add: [Self.definition("a")])
        let part = PutPart(upload: "big", part: 0, jobs: jobs)
        let line = try Request.applyJobs(jobs).line(id: nil)
        _ = try transaction.put(part, line, caller: caller)
        let owner = try Owners(database).id(of: caller.owner)
        func read() throws -> ReadUpload {
            ReadUpload(
                name: "big",
                rows: try UploadStore(database).parts(of: owner).map(\.id)
            )
        }
        let first = try read()
        // Another part in its place, and the same after it was dropped.
        let others = ApplyJobs(add: [Self.definition("b")])
        _ = try transaction.put(
            PutPart(upload: "big", part: 0, jobs: others),
            Request.applyJobs(others).line(id: nil),
            caller: caller
        )
        #expect(throws: ControlError.self) { try transaction.take(first, of: owner) }
        _ = try transaction.dropUpload("big", caller: caller)
        _ = try transaction.put(part, line, caller: caller)
        #expect(throws: ControlError.self) { try transaction.take(first, of: owner) }
        let now = try read()
        // The same part once more changes nothing.
        _ = try transaction.put(part, line, caller: caller)
        #expect(try read() == now)
        try transaction.take(now, of: owner)
        #expect(throws: ControlError.self) { try transaction.take(now, of: owner) }
    }

    @Test("The tags of all jobs of an upload or a list are bounded, but for root's")
    func tags() async throws {
        try await TestScheduler.with { test in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.tags = (0..<64).map { "\($0)" }
            let half = Array(repeating: definition, count: 782)
            let handler = test.handler()
            for part in 0...1 { try await put(test, part, ApplyJobs(add: half)) }
            let all = ApplyJobs(add: half + half)
            for request in [
                Request.applyJobs(ApplyJobs(upload: "big")), .applyJobs(all),
                .addJobs(AddJobs(all.add)),
            ] {
                let refusal = await #expect(throws: ControlError.self) {
                    _ = try await ask(test, request)
                }
                #expect(refusal?.reason == .limitReached)
                #expect(
                    refusal?.message
                        == "the jobs have 100096 tags together, at most 100000 are written at once; "
                        + "accepted are fewer jobs, or fewer tags of each"
                )
            }
            #expect(try await uploads(test).first?.jobs == 1564, "nothing of it is done")
            let changes = try handler.changes(of: all, TestScheduler.root)
            #expect(changes.add.count == 1564)
            #expect(changes.writeUnits == 1564 * 9)
        }
    }

    @Test("Once the daemon stops no part is kept, and no upload dropped")
    func stopping() async throws {
        try await TestScheduler.with { test in
            try await put(test, 0, ApplyJobs(add: [Self.definition("a")]))
            await test.scheduler.stop(.end(after: .zero))
            let jobs = ApplyJobs(add: [Self.definition("b")])
            for request in [
                Request.putPart(PutPart(upload: "big", part: 1, jobs: jobs)), .dropUpload("big"),
            ] {
                await #expect(throws: ControlError.stoppingForGood) {
                    _ = try await ask(test, request)
                }
            }
        }
    }
}
