// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix
import Schedules
import Testing

@testable import TimerControl

/// A worker that is stopped while its daemon does not answer.
@Suite("TimerWorker, without an answer", .timeLimit(.minutes(3))) struct StoppedWorkerTests {
    /// Hands out one task, and leaves unanswered what it is told then.
    private func server(told: AsyncStream<Void>.Continuation? = nil) throws -> ScriptedServer {
        try ScriptedServer { call in
            guard call.method == "task.reserve" else {
                if call.method != "task.extend" { told?.yield() }
                return .silence
            }
            var task = QueuedTask(
                fire: FireID(rawValue: 1),
                job: JobID(rawValue: 1),
                queue: "mails",
                fireDate: Samples.date,
                attempt: 1
            )
            task.token = RunID(rawValue: 101)
            guard let result = try? JSONValue(encoding: TasksReply(tasks: [task])) else {
                return .end
            }
            return .result(result)
        }
    }

    private func settings(_ server: ScriptedServer, lease: String) -> TimerWorker.Settings {
        var settings = TimerWorker.Settings(socket: server.path, queues: ["mails"])
        settings.lease = lease
        return settings
    }

    @Test("It ends with the lease of what it cannot tell of, whether the daemon hangs or is gone")
    func leaseOver() async throws {
        for isGone in [false, true] {
            let (told, tell) = AsyncStream<Void>.makeStream()
            let server = try server(told: tell)
            defer { server.close() }
            let worker = TimerWorker(settings(server, lease: "2s")) { _ in .finished }
            async let run: Void = worker.run()
            for await _ in told { break }
            if isGone { server.close() }
            worker.stop()
            // Else it would never end.
            try await run
        }
    }

    @Test("It ends with a lease also where what runs has ended after the stop")
    func endedLater() async throws {
        let server = try server()
        defer { server.close() }
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Void>.makeStream()
        let worker = TimerWorker(settings(server, lease: "1s")) { _ in
            begin.yield()
            for await _ in ended { break }
            return .finished
        }
        async let run: Void = worker.run()
        for await _ in begun { break }
        worker.stop()
        end.yield()
        try await run
        #expect(server.methods.contains("task.finish"))
    }

    @Test("Stopped at once it ends after a second, however long the lease")
    func atOnce() async throws {
        let (told, tell) = AsyncStream<Void>.makeStream()
        let server = try server(told: tell)
        defer { server.close() }
        let worker = TimerWorker(settings(server, lease: "1h")) { _ in .finished }
        async let run: Void = worker.run()
        for await _ in told { break }
        worker.stop()
        worker.stopNow()
        // Else it would end with the lease.
        try await run
    }

    @Test(
        "A link that was stopped while it connected has no connection, on which it would wait for a task"
    )
    func stoppedWhileConnecting() async throws {
        let server = try server()
        defer { server.close() }
        let link = WorkerLink(server.path, longestPause: .seconds(10))
        link.stop()
        let error = await #expect(throws: ClientError.self) { _ = try await link.client() }
        #expect(error?.reason == .closed)
    }

    @Test(
        "Tasks that fail on one lost connection lengthen the pause once, and leave the next connection alone"
    )
    func sharedConnection() async throws {
        let server = try server()
        defer { server.close() }
        let link = WorkerLink(server.path, longestPause: .seconds(10))
        let first = try await link.client()
        for _ in 0..<8 { await link.drop(first) }
        #expect(link.pause == .milliseconds(100))
        let second = try await link.client()
        await link.drop(first)
        #expect(link.pause == .milliseconds(100))
        #expect(try await link.client() === second)
        #expect(await second.isConnected())
        await link.drop(second)
        #expect(link.pause == .milliseconds(200))
        link.hasWorked()
        #expect(link.pause == nil)
    }

    @Test("A daemon that is away is waited for no longer than the longest pause")
    func longestPause() async throws {
        let link = WorkerLink("/nowhere/timerd.sock", longestPause: .milliseconds(150))
        for pause in [100, 150, 150] {
            await #expect(throws: ClientError.self) { _ = try await link.client() }
            #expect(link.pause == .milliseconds(pause))
        }
    }

    @Test("A connection is not handed on to programs")
    func descriptor() async throws {
        let server = try server()
        defer { server.close() }
        let flags = Flags()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(ClientConnection(path: server.path))
                    try pipeline.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                        flags.value = fcntl($0, F_GETFD)
                    }
                }
            }
            .connect(unixDomainSocketPath: server.path).get()
        #expect(flags.value == FD_CLOEXEC)
        try await channel.close().get()
    }

    private final class Flags: Sendable {
        // Written on the loop before the connection is made, and read after.
        nonisolated(unsafe) var value: Int32 = -1
    }
}
