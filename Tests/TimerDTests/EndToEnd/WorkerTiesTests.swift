// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Tasks that are tied to their worker", .timeLimit(.minutes(2))) struct WorkerTiesTests {
    private static func add(_ count: Int, _ client: ControlClient) async throws {
        for _ in 0..<count {
            var job = JobDefinition(schedule: ScheduleWords(in: "0s"))
            job.queue = "mails"
            _ = try await client.addJob(job)
        }
    }

    @Test("The next worker has at once what one had that was killed, however long the lease")
    func killed() async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            try await Self.add(1, client)
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let work = "timerctl queue work mails --lease 1h -- sh -c 'kill -KILL $PPID'; echo $?"
            #expect(try await shell(work).output == "137\n")
            var reserve = ReserveTasks(queues: ["mails"])
            reserve.wait = "1min"
            let task = try #require(try await client.reserveTasks(reserve).first)
            #expect(task.attempt == 2)
            await client.close()
        }
    }

    @Test("A worker that is stopped keeps what is in progress, though it waits for no more")
    func stopped() async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            let (began, begins) = AsyncStream.makeStream(of: Void.self)
            let (mayEnd, ends) = AsyncStream.makeStream(of: Void.self)
            var settings = TimerWorker.Settings(socket: daemon.socket, queues: ["mails"])
            (settings.concurrency, settings.lease) = (2, "1h")
            let isFirst = Locked(true)
            let worker = TimerWorker(settings) { _ in
                // What becomes of the first is told at once: its connection for that is there from then on.
                if isFirst.withLock({ first in
                    defer { first = false }
                    return first
                }) {
                    return .finished
                }
                begins.yield()
                for await _ in mayEnd { break }
                return .finished
            }
            try await client.subscribe()
            async let run: Void = worker.run()
            try await Self.add(2, client)
            for await _ in began { break }
            for try await event in client.events where event.outcome == .finished { break }
            worker.stop()
            // This one's, and the one that says what becomes of the task: no event tells of connections.
            while try await client.status().connections > 2 { await Task.yield() }
            ends.yield()
            try await run
            let runs = try await client.listRuns().runs
            #expect(runs.map(\.attempt) == [1, 1])
            #expect(runs.map(\.outcome) == [.finished, .finished])
            await client.close()
        }
    }
}
