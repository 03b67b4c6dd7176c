// SPDX-License-Identifier: Apache-2.0

import Logging
import Schedules
import ServiceLifecycle
import Testing
import TimerControl
import TimerService

@testable import TimerD

@Suite("Workers as services", .timeLimit(.minutes(2)))
struct WorkerServiceTests {
    @Test("A worker stops with its program's services, and the task in hand comes to its end first")
    func stops() async throws {
        try await DaemonProcess.with { daemon in
            let (began, begins) = AsyncStream.makeStream(of: Void.self)
            let (mayEnd, ends) = AsyncStream.makeStream(of: Void.self)
            let settings = TimerWorker.Settings(socket: daemon.socket, queues: ["mails"])
            let worker = TimerWorker(settings) { _ in
                begins.yield()
                // The worker has heard of it before: its own handler is the older one.
                await withGracefulShutdownHandler {
                    for await _ in mayEnd { break }
                } onGracefulShutdown: {
                    ends.yield()
                }
                return .finished
            }
            let group = ServiceGroup(
                services: [TimerWorkerService(worker)],
                logger: Logger(label: "test")
            )
            let running = Task { try await group.run() }
            let client = try await ControlClient.connect(to: daemon.socket)
            for _ in 0..<2 {
                var job = JobDefinition(schedule: ScheduleWords(in: "0s"))
                job.queue = "mails"
                _ = try await client.addJob(job)
            }
            for await _ in began { break }
            await group.triggerGracefulShutdown()
            try await running.value
            let queue = try #require(try await client.listQueues().first)
            // Of the two the second was not taken any more.
            #expect((queue.ready, queue.reserved, queue.dead) == (1, 0, 0))
            await client.close()
        }
    }
}
