// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import NIOCore
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("fire --wait", .timeLimit(.minutes(2)))
struct FireWaitTests {
    /// Adds a job that is not due for long, fires it and waits.
    private func fire(
        _ daemon: DaemonProcess,
        _ options: [String] = [],
        command: [String]
    ) async throws -> DaemonProcess.Answer {
        let words = ["add", "--every", "1h"] + options + (command.isEmpty ? [] : ["--"] + command)
        let id = try await daemon.timerctl(words).output.dropLast()
        return try await daemon.timerctl(["fire", "--wait", String(id)])
    }

    @Test("It ends as the command did, and says how")
    func ends() async throws {
        try await DaemonProcess.with { daemon in
            let well = try await fire(daemon, ["--name", "well"], command: ["true"])
            #expect(well.status == 0)
            #expect(well.output.hasPrefix("job 1 (well): exit 0 after "))
            #expect(try await fire(daemon, command: ["sh", "-c", "exit 3"]).status == 3)
            #expect(try await fire(daemon, command: ["sh", "-c", "kill -KILL $$"]).status == 137)
            let slow = try await fire(daemon, ["--timeout", "1ms"], command: ["sleep", "60"])
            #expect(slow.status == 124)
            let missing = try await fire(daemon, command: ["/no/such/program"])
            #expect(missing.status == 127)
            #expect(missing.output.contains("not started: "))
            let event = try await fire(daemon, command: [])
            #expect(event.status == 0)
            #expect(event.output.contains("it has no command to wait for"))
        }
    }

    @Test("Of a command that is tried again, each attempt is told, and the last one counts")
    func retries() async throws {
        try await DaemonProcess.with { daemon in
            let mark = daemon.folder + "/tried"
            let script = "test -e \(mark) && exit 0; touch \(mark); exit 5"
            let tried = try await fire(
                daemon,
                ["--retries", "2", "--backoff", "1ms..2ms", "--on-failure", "true"],
                command: ["sh", "-c", script]
            )
            #expect(tried.status == 0)
            #expect(tried.errors.contains("exit 5"))
            #expect(tried.output.contains("attempt 2"))
            let failed = try await fire(
                daemon,
                ["--retries", "1", "--backoff", "1ms..2ms", "--on-failure", "true"],
                command: ["sh", "-c", "exit 6"]
            )
            #expect(failed.status == 6)
        }
    }

    @Test("Where its job is changed into an event between two attempts, the last one counts")
    func commandless() async throws {
        try await DaemonProcess.with { daemon in
            async let waited = fire(
                daemon,
                ["--name", "a", "--retries", "1", "--backoff", "1h..1h"],
                command: ["sh", "-c", "exit 3"]
            )
            _ = try await daemon.event(.runFinished)
            var event = JobDefinition(schedule: ScheduleWords(every: "1h"))
            event.name = "a"
            let revision = JobRevision(id: JobID(rawValue: 1), definition: event)
            let client = try await ControlClient.connect(to: daemon.socket)
            _ = try await client.applyJobs(ApplyJobs(change: [revision]))
            await client.close()
            let answer = try await waited
            #expect(answer.status == 3)
            #expect(answer.output.contains("exit 3"))
        }
    }

    /// A job that waits for the gate and ends with 9 the first time, and at once with 0 afterwards.
    private func gated(_ daemon: DaemonProcess, _ gate: FileGate) -> JobDefinition {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.overlap = .allow
        let script = "mkdir \(daemon.folder)/once 2>/dev/null || exit 0; \(gate.wait); exit 9"
        definition.command = ["/bin/sh", "-c", script]
        return definition
    }

    @Test(
        "However many fires of the job come meanwhile, and whatever is kept of it, it ends as its own did",
        arguments: [(1, 1), (1, 40), (1000, 110)]
    )
    func manyNewer(kept: Int, newer: Int) async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            let client = try await ControlClient.connect(to: daemon.socket)
            var definition = gated(daemon, gate)
            definition.keepRuns = kept
            let job = try await client.addJob(definition).job
            var subscribe = Subscribe()
            subscribe.types = [.runStarted, .runFinished]
            try await client.subscribe(subscribe)
            var events = client.events.makeAsyncIterator()
            async let waited = daemon.timerctl("fire", "--wait", "\(job.id)")
            let begin = try await events.next()
            #expect(begin?.type == .runStarted)
            for _ in 0..<newer { try await client.fireJob(.id(job.id)) }
            var finished = 0
            while finished < newer, let event = try await events.next() {
                if event.type == .runFinished { finished += 1 }
            }
            gate.open()
            let answer = try await waited
            #expect(answer.status == 9)
            #expect(answer.output.hasPrefix("job 1: exit 9"))
            #expect(answer.output.contains("no longer kept") == (kept == 1))
            await client.close()
        }
    }

    @Test("It hears late that the run has ended, and the on-failure command has taken its row")
    func late() async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            let client = try await ControlClient.connect(to: daemon.socket)
            var definition = gated(daemon, gate)
            (definition.keepRuns, definition.onFailure) = (1, ["/bin/true"])
            let job = try await client.addJob(definition).job
            var subscribe = Subscribe()
            subscribe.types = [.runStarted, .runFinished]
            try await client.subscribe(subscribe)
            var events = client.events.makeAsyncIterator()
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket])
            let pid = daemon.folder + "/pid"
            async let waited = shell("echo $$ >\(pid); exec timerctl fire --wait \(job.id)")
            // It has fired, so the pid is written and it has subscribed.
            let begin = try await events.next()
            #expect(begin?.type == .runStarted)
            let text = try String(contentsOfFile: pid, encoding: .utf8)
            let waiter = try #require(Int32(text.dropLast()))
            kill(waiter, SIGSTOP)
            // Also where the test fails: its end is waited for.
            defer { kill(waiter, SIGCONT) }
            gate.open()
            while let event = try await events.next() {
                if event.type == .runFinished, event.onFailure == true { break }
            }
            kill(waiter, SIGCONT)
            let answer = try await waited
            #expect(answer.status == 9)
            #expect(answer.output.contains("exit 9"))
            await client.close()
        }
    }

    @Test("Where the daemon is killed, or stopped, it goes on with the next one")
    func restarts() async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            let client = try await ControlClient.connect(to: daemon.socket)
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.command = ["/bin/sh", "-c", "\(gate.wait); exit 3"]
            let job = try await client.addJob(definition).job
            var subscribe = Subscribe()
            subscribe.types = [.runStarted]
            try await client.subscribe(subscribe)
            var events = client.events.makeAsyncIterator()
            async let waited = daemon.timerctl("fire", "--wait", "\(job.id)")
            let begin = try await events.next()
            #expect(begin?.type == .runStarted)
            await client.close()
            await daemon.end(SIGKILL)
            try await daemon.start()
            await daemon.end(SIGTERM)
            // It ends while no daemon runs.
            gate.open()
            try await daemon.start()
            let answer = try await waited
            #expect(answer.status == 3)
            #expect(answer.output.hasPrefix("job 1: exit 3"))
            #expect(answer.errors.contains("looking for it for 60 s, the fire goes on"))
        }
    }

    @Test("Where the answer to the fire is lost, it says that the job may have been fired")
    func unanswered() async throws {
        let daemon = try await FakeDaemon.start { line, context in
            let request = try? JSONValue(parsing: line)
            let result: String
            switch request?["method"] {
            case .string("job.get")?:
                result = """
                    {"job":{"id":7,"addedAt":"2026-12-01T08:00:00.000000Z","command":["true"],\
                    "fires":0,"owner":"ann","schedule":{"every":"1h"},"state":"scheduled"}}
                    """
            case .string("events.subscribe")?: result = #"{"seq":0}"#
            default: return context.close(promise: nil)
            }
            let id = request?["id"]?.jsonText ?? "null"
            let reply = #"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"# + "\n"
            context.writeAndFlush(NIOAny(ByteBuffer(string: reply)), promise: nil)
        }
        let shell = Shell(variables: ["TIMERD_SOCKET": daemon.path])
        let answer = try await shell("timerctl fire --wait 7")
        #expect(answer.status == 75)
        #expect(answer.errors.contains("job 7 may have been fired: 'timerctl runs 7' shows it"))
        try await daemon.stop()
        let nobody = try await shell("timerctl fire --wait 7")
        #expect(nobody.status == 69)
    }

    @Test("A fire that becomes a task is not called an event")
    func task() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--queue", "mail")
            let answer = try await daemon.timerctl("fire", "--wait", "1")
            #expect(answer.status == 0)
            #expect(answer.output == "job 1: fired; the task is for the workers of queue 'mail'\n")
        }
    }

    @Test("It is for one job that is there")
    func refusals() async throws {
        try await DaemonProcess.with { daemon in
            let two = try await daemon.timerctl(["fire", "--wait", "1", "2"])
            #expect(two.status == 64)
            #expect(two.errors.contains("--wait is for one job; 2 are named"))
            let none = try await daemon.timerctl(["fire", "--wait", "7"])
            #expect(none.status == 1)
            #expect(none.errors.contains("there is no job 7"))
        }
    }
}
