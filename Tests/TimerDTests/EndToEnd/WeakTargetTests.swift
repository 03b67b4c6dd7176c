// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Jobs whose life is tied to something", .timeLimit(.minutes(2)))
struct WeakTargetTests {
    private static func sleeper() throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sleep")
        process.arguments = ["1000"]
        try process.run()
        return process
    }

    /// Waits for the event that says how the job ended.
    private static func end(of job: JobID, _ daemon: DaemonProcess) async throws -> String? {
        let client = try await ControlClient.connect(to: daemon.socket)
        var subscribe = Subscribe()
        subscribe.since = 0
        subscribe.jobs = [job]
        subscribe.types = [.jobInvalidated, .jobFinished]
        _ = try await client.subscribe(subscribe)
        var reason: String?
        for try await event in client.events {
            reason = event.reason
            break
        }
        await client.close()
        return reason
    }

    @Test("A job ends itself when the process it is tied to has gone, and fires no more")
    func process() async throws {
        try await DaemonProcess.with { daemon in
            let process = try Self.sleeper()
            let pid = String(process.processIdentifier)
            let added = try await daemon.timerctl("add", "--every", "1h", "--while-pid", pid)
            let id = try #require(Int64(added.output.dropLast()))
            kill(process.processIdentifier, SIGKILL)
            #expect(try await Self.end(of: JobID(rawValue: id), daemon) == "targetGone")
            let shown = try await daemon.timerctl("show", "\(id)")
            #expect(shown.output.contains("what its life was tied to has gone"))
        }
    }

    @Test("A process that went while no daemon ran is missed by the next; one that is there is not")
    func processAndRestart() async throws {
        try await DaemonProcess.with { daemon in
            let (gone, there) = (try Self.sleeper(), try Self.sleeper())
            var ids: [JobID] = []
            for process in [gone, there] {
                let pid = String(process.processIdentifier)
                let added = try await daemon.timerctl("add", "--every", "1h", "--while-pid", pid)
                ids.append(JobID(rawValue: try #require(Int64(added.output.dropLast()))))
            }
            await daemon.end(SIGKILL)
            kill(gone.processIdentifier, SIGKILL)
            gone.waitUntilExit()
            try await daemon.start()
            #expect(try await Self.end(of: ids[0], daemon) == "targetGone")
            let client = try await ControlClient.connect(to: daemon.socket)
            let reply: JobReply = try await client.call(.getJob(.id(ids[1])))
            #expect(reply.job.state == .scheduled)
            kill(there.processIdentifier, SIGKILL)
            #expect(try await Self.end(of: ids[1], daemon) == "targetGone")
            await client.close()
        }
    }

    @Test("A process that is not there is refused")
    func noProcess() async throws {
        try await DaemonProcess.with { daemon in
            let gone = try await daemon.timerctl("add", "--in", "1h", "--while-pid", "4194305")
            #expect(gone.status == 64)
            #expect(gone.errors.contains("--while-pid is 4194305, but there is no such process"))
            for pid in ["0", "-1"] {
                let answer = try await daemon.timerctl("add", "--in", "1h", "--while-pid", pid)
                #expect(answer.status == 64)
                let refusal = "--while-pid is \(pid), expected the number of a process"
                #expect(answer.errors.contains(refusal))
            }
        }
    }

    @Test("A job ends itself when the connection that added it is over, or the daemon")
    func connection() async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.whileConnected = true
            let first = try await client.addJob(definition).job
            let other = try await client.addJob(
                JobDefinition(schedule: ScheduleWords(in: "1h"))
            ).job
            await client.close()
            #expect(try await Self.end(of: first.id, daemon) == "targetGone")
            let next = try await ControlClient.connect(to: daemon.socket)
            let second = try await next.addJob(definition).job
            await daemon.end(SIGKILL)
            try await daemon.start()
            #expect(try await Self.end(of: second.id, daemon) == "targetGone")
            let last = try await ControlClient.connect(to: daemon.socket)
            let reply: JobReply = try await last.call(.getJob(.id(other.id)))
            #expect(reply.job.state == .scheduled, "it is tied to nothing")
            await last.close()
            await next.close()
        }
    }

    @Test("timerctl add --while-connected stays until its job has ended")
    func command() async throws {
        try await DaemonProcess.with { daemon in
            async let added = daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "tied",
                "--while-connected"
            )
            let client = try await ControlClient.connect(to: daemon.socket)
            var subscribe = Subscribe()
            subscribe.since = 0
            subscribe.types = [.jobAdded]
            _ = try await client.subscribe(subscribe)
            for try await _ in client.events { break }
            let shown = try await daemon.timerctl("show", "--name", "tied")
            #expect(shown.output.contains("the connection that added it"))
            _ = try await daemon.timerctl("invalidate", "--name", "tied")
            let answer = try await added
            #expect(answer.status == 0)
            #expect(answer.output == "1\n")
            await client.close()
        }
    }
}
