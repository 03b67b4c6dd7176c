// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// Jobs that end with a connection or a process.
@Suite("Tied jobs", .timeLimit(.minutes(2))) struct TiedJobsTests {
    /// Adds jobs that end with `life`, in one request.
    private static func add(
        _ count: Int,
        _ test: TestScheduler,
        with life: ConnectionLife
    ) async throws -> [StoredJob] {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.whileConnected = true
        let jobs = try (0..<count).map { _ in
            try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
        }
        var caller = TestScheduler.root
        caller.life = life
        return try await test.scheduler.add(jobs, replace: false, caller: caller)
    }

    private static func live(_ test: TestScheduler) async throws -> Int {
        try await test.settle()
        return try await test.store.reader.read { try Queries($0).liveJobs().scheduled }
    }

    @Test("A connection's end ends its jobs, many a write, and none that is tied to another")
    func connection() async throws {
        try await TestScheduler.with { test in
            let (life, other) = (ConnectionLife(), ConnectionLife())
            let jobs = try await Self.add(4 * SaidByStore.slice, test, with: life)
            _ = try await Self.add(1, test, with: other)
            #expect(try await Self.live(test) == jobs.count + 1)
            let before = test.store.writer.statistics.writes
            life.end()
            #expect(try await Self.live(test) == 1)
            // A write for each job would be 256, beside those of their events.
            #expect(test.store.writer.statistics.writes - before < jobs.count / 2)
            #expect(try await test.job(jobs[0].id).endReason == .targetGone)
            let told = test.sink.all(.jobInvalidated)
            #expect(told.map(\.job).sorted() == jobs.map(\.id))
            #expect(told.allSatisfy { $0.reason == "targetGone" })
            other.end()
            #expect(try await Self.live(test) == 0)
        }
    }

    @Test("While they are ended no fire of them begins, and another user's is on time")
    func fires() async throws {
        try await TestScheduler.with { test in
            let life = ConnectionLife()
            let jobs = try await Self.add(2 * SaidByStore.slice, test, with: life)
            let quiet = try await test.add([ScheduleWords(in: "1h")], of: 1001)[0]
            try await test.advance(by: .seconds(3599))
            let gate = DispatchSemaphore(value: 0)
            test.store.thread.perform { gate.wait() }
            life.end()
            // Whatever is asked of the loop now comes behind the news.
            await test.loop.flush()
            await test.advanceWithoutStore(by: .seconds(2))
            gate.signal()
            try await test.settle()
            #expect(test.fired(quiet.id) == [3600])
            #expect(jobs.allSatisfy { test.fired($0.id).isEmpty })
            #expect(try await Self.live(test) == 0)
        }
    }

    @Test("What a crash leaves of it the next daemon ends")
    func crash() async throws {
        try await TestScheduler.with { test in
            let life = ConnectionLife()
            let jobs = try await Self.add(4 * SaidByStore.slice, test, with: life)
            try await test.settle()
            life.end()
            let after = try await test.killedAndDown(for: .seconds(1))
            #expect(try await Self.live(after) == 0)
            for job in [jobs.first, jobs.last].compactMap(\.self) {
                #expect(try await after.job(job.id).endReason == .targetGone)
            }
            try await after.close()
        }
    }

    @Test("A job that is there by its key is tied to nothing by who adds it again")
    func existing() async throws {
        try await TestScheduler.with { test in
            let life = ConnectionLife()
            var caller = TestScheduler.root
            caller.life = life
            var definition = JobDefinition(schedule: ScheduleWords(in: "1h"))
            (definition.queue, definition.key) = ("mails", "order-7")
            let plain = definition
            definition.whileConnected = true
            let connected = definition
            (definition.whileConnected, definition.whilePid) = (nil, getpid())
            let ticks = try #require(ProcessIdentity.ticks(of: getpid()))
            let process = ProcessIdentity(pid: getpid(), ticks: ticks)
            var added: [StoredJob] = []
            for definition in [plain, connected, definition] {
                var job = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
                if definition.whilePid != nil {
                    try test.scheduler.targets.hold(process, for: 0)
                    job.process = process
                }
                added += try await test.scheduler.add([job], replace: false, caller: caller)
            }
            #expect(added.map(\.isExisting) == [false, true, true])
            #expect(test.scheduler.targets.count == 0, "nobody holds the process")
            life.end()
            #expect(try await test.job(added[0].id).state == .scheduled)
        }
    }

    @Test("A job that has ended is forgotten; its connection's end is registered once")
    func forgotten() {
        let life = ConnectionLife()
        var tied = TiedJobs()
        let isFirst = (1...3 as ClosedRange<Int64>).map {
            tied.tie(JobID(rawValue: $0), of: 7, to: life)
        }
        #expect(isFirst == [true, false, false])
        for job in 1...3 as ClosedRange<Int64> { tied.forget(JobID(rawValue: job)) }
        let again = tied.tie(JobID(rawValue: 4), of: 8, to: life)
        #expect(!again)
        let gone = [tied.end(life), tied.end(life)]
        #expect(gone == [[JobID(rawValue: 4): 8], [:]])
    }

    @Test("A process by a number of another PID namespace than the daemon's is refused")
    func namespace() async throws {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.whilePid = getpid()
        let add = Request.addJobs(AddJobs(definition))
        try await TestScheduler.with { test in
            // Whose process has no number here is in another one.
            let foreign = await test.handler()
                .handle(add, from: Owner(uid: 0), over: ConnectionLife(process: 0))
            let error = #expect(throws: ControlError.self) { _ = try foreign.get() }
            #expect(error?.reason == .invalidParams)
            #expect(error?.message.contains("PID namespace") == true)
            for life in [ConnectionLife(process: getpid()), ConnectionLife()] {
                _ = try await test.handler().handle(add, from: Owner(uid: 0), over: life).get()
            }
        }
    }

    @Test(
        "In how many namespaces a process has a number is told by its status",
        arguments: [
            ("Name:\tsleep\nNSpid:\t4711\nNSpgid:\t4711\n", 1), ("NSpid:\t4711\t2\t1\n", 3),
            ("Name:\tNSpid:\n", nil), ("", nil), (nil, nil),
        ] as [(String?, Int?)]
    )
    func depth(status: String?, expected: Int?) {
        #expect(PIDNamespace.depth(status) == expected)
    }
}
