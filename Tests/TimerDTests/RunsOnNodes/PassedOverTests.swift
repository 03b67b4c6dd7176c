// SPDX-License-Identifier: Apache-2.0

import Cluster
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What a node tells of jobs once its lease is over, and it has not stopped yet: another may have changed them.
@Suite("A node that was passed over", .timeLimit(.minutes(2)))
struct PassedOverTests {
    /// All that tells of jobs and changes nothing.
    private static func reads(of job: JobID, _ run: RunID, at date: Timestamp) -> [Request] {
        let calendar = ReadCalendar(
            from: date - .seconds(3600),
            before: date + .seconds(3600),
            bucket: .hour
        )
        var running = ListRuns()
        running.running = true
        let definition = JobDefinition(schedule: ScheduleWords(in: "1h"))
        return [
            .getJob(.id(job)), .getJob(.name("kept")), .listJobs(ListJobs()),
            .listRuns(ListRuns()), .listRuns(running), .getRun(RunReference(id: run)),
            .readOutput(ReadOutput(id: run)), .listNotices(ListNotices()),
            .jobCalendar(calendar), .runCalendar(calendar),
            .jobDates(ReadDates(from: calendar.from, before: calendar.before)),
            .listTasks(ListTasks()), .listQueues(ListQueues()), .listUploads,
            .reserveTasks(ReserveTasks(queues: ["none"])),
            .addJobs(AddJobs(definition, dryRun: true)),
            .applyJobs(ApplyJobs(add: [definition], dryRun: true)),
        ]
    }

    /// A scheduler with a job and a run in progress, and what reads of these.
    private static func with(
        node: String?,
        _ body: (TestScheduler, [Request]) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, node: node)
        test.runner.isHolding = true
        let job = try await test.add(ScheduleWords(every: "5s"), command: ["x"]) {
            $0.name = "kept"
        }
        try await test.advance(by: .seconds(6))
        let run = RunID(rawValue: try #require(test.runner.requests.last).run)
        try await body(test, Self.reads(of: job.id, run, at: test.clock.now().wall))
        test.runner.end()
        try await test.close()
    }

    @Test("It answers no read, and the words are those that changes are refused with")
    func reads() async throws {
        try await Self.with(node: "a") { test, reads in
            let fence = try #require(test.scheduler.fence)
            for read in reads {
                let refusal = await test.refusal(read)
                #expect(refusal == nil, "\(read)")
            }
            fence.close()
            for read in reads {
                let refusal = await test.refusal(read)
                #expect(refusal?.reason == .stopping, "\(read)")
                #expect(
                    refusal?.message.hasPrefix("'a' leads no more: its lease could not") == true,
                    "\(read)"
                )
            }
            // Nothing but the time has passed for one that was suspended.
            fence.extend(to: Fence.now() - 1)
            #expect(await test.refusal(reads[0])?.reason == .stopping)
            // It leads again.
            fence.extend(to: .max)
            for read in reads {
                let refusal = await test.refusal(read)
                #expect(refusal == nil, "\(read)")
            }
        }
    }

    @Test("What is asked as it stops is refused with the reason for that")
    func stops() async throws {
        try await Self.with(node: "a") { test, reads in
            let fence = try #require(test.scheduler.fence)
            fence.close()
            let reason = ControlError.noMoreLed(by: "a", "'b' leads")
            test.scheduler.terms.setRefusal(reason)
            #expect(await test.refusal(reads[0]) == reason)
            test.scheduler.terms.setRefusal(nil)
            fence.extend(to: .max)
        }
    }

    @Test("What tells of no jobs it answers: the dates of a schedule")
    func schedules() async throws {
        try await Self.with(node: "a") { test, _ in
            let fence = try #require(test.scheduler.fence)
            fence.close()
            let preview = PreviewSchedule(schedule: ScheduleWords(every: "5s"))
            #expect(await test.refusal(.previewSchedule(preview)) == nil)
            fence.extend(to: .max)
        }
    }

    @Test("A daemon alone answers always: it has no lease")
    func alone() async throws {
        try await Self.with(node: nil) { test, reads in
            #expect(test.scheduler.passedOver == nil)
            for read in reads {
                let refusal = await test.refusal(read)
                #expect(refusal == nil, "\(read)")
            }
        }
    }

    @Test("A cursor of the node that leads by now is no mistake: the client is to ask again")
    func subscription() async throws {
        let fence = Fence()
        let passedOver = { @Sendable in
            fence.isOpen ? nil : ControlError.leaseIsOver(at: "a")
        }
        try await TestSocket.with(newest: 16, passedOver: passedOver) { server in
            let line =
                #"{"jsonrpc":"2.0","id":1,"method":"events.subscribe","#
                + #""params":{"since":65583}}"#
            let client = try await server.connect()
            try await client.send(line + "\n")
            let refused = try await client.nextValue()
            let reason = refused["error"]?["data"]?["reason"]
            #expect(reason == .string("stopping"), "\(refused)")
            #expect(server.bus.watcherCount == 0)
            fence.extend(to: .max)
            try await client.send(line + "\n")
            let mistaken = try await client.nextValue()
            let other = mistaken["error"]?["data"]?["reason"]
            #expect(other == .string("invalidParams"), "\(mistaken)")
        }
    }
}
