// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

/// The examples of TimerControl.docc, word for word, as DocumentTests check, against a daemon.
@Suite("The article on TimerControl", .timeLimit(.minutes(2)))
struct ArticleTests {
    private func addMoveAndEnd(_ path: String) async throws -> JobID {
        let client = try await ControlClient.connect(to: path)
        var definition = JobDefinition(schedule: ScheduleWords(every: "5s"))
        definition.name = "heartbeat"
        definition.command = ["curl", "-fsS", "https://example.org/ping"]
        let job = try await client.addJob(definition).job

        _ = try await client.setFireDate(of: .id(job.id), to: "tomorrow 09:00")
        _ = try await client.invalidateJobs(.name("heartbeat"))
        await client.close()
        return job.id
    }

    /// Watches until it is cancelled.
    private func watch(
        _ client: ControlClient,
        from start: Int64,
        _ report: @escaping @Sendable (String) -> Void
    ) async throws {
        var lastSeen = start
        var request = Subscribe()
        request.since = lastSeen
        request.types = [.fireFired]
        try await client.subscribe(request) { lost in
            report("events \(lost.after + 1) to \(lost.through) are no longer kept")
        }
        for try await event in client.events {
            report("job \(event.job) has fired")
            lastSeen = event.seq
        }
    }

    private func ask(_ client: ControlClient, _ report: (String) -> Void) async throws {
        do {
            _ = try await client.job(.name("nightly"))
        } catch let error as ControlError where error.reason == .notFound {
            report("there is no such job: \(error.message)")
        } catch let error as ClientError {
            report("no answer: \(error.message)")
        }
    }

    @Test("A job is added, moved and ended; a watcher sees a fire; a refusal says why")
    func article() async throws {
        try await DaemonProcess.with { daemon in
            let id = try await addMoveAndEnd(daemon.socket)
            #expect(try await daemon.job(Int(id.rawValue))["state"] == .string("invalidated"))

            let client = try await ControlClient.connect(to: daemon.socket)
            var reports: [String] = []
            try await ask(client) { reports.append($0) }
            #expect(reports.first?.hasPrefix("there is no such job: ") == true)

            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            let watcher = Task { try await watch(client, from: 0) { continuation.yield($0) } }
            try await daemon.timerctl("add", "--in", "1ms")
            #expect(await lines.first { _ in true } == "job 2 has fired")
            watcher.cancel()
            await client.close()
            _ = await watcher.result
        }
    }
}
