// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Testing

@testable import TimerD

/// What a node has left of a term as leader.
@Suite("A core that has stopped", .timeLimit(.minutes(2))) struct StoppedCoreTests {
    /// What its threads and descriptors are kept by.
    private struct Kept {
        weak var scheduler: Scheduler?
        weak var bus: EventBus?
        weak var socket: ControlSocket?
        weak var epoll: EpollLoop?

        init(_ parts: DaemonParts) {
            (scheduler, bus) = (parts.core.scheduler, parts.core.bus)
            (socket, epoll) = (parts.socket, parts.core.loops.epoll)
        }

        var names: [String] {
            let all: [(String, AnyObject?)] = [
                ("scheduler", scheduler), ("bus", bus), ("socket", socket), ("epoll", epoll),
            ]
            return all.filter { $0.1 != nil }.map(\.0)
        }
    }

    private let folder: TemporaryFolder
    /// One that the core began would be this process's child, for which nobody waits: see `reap`.
    private let runner: RunnerProcess

    init() throws {
        folder = try TemporaryFolder()
        runner = try RunnerProcess(in: folder)
    }

    /// Leads once: with a job that fires, one that waits, one tied to this process, and a client.
    private func lead() async throws -> Kept {
        var configuration = Configuration(
            database: "\(folder.path)/jobs.db",
            socket: "\(folder.path)/socket"
        )
        configuration.runner = runner.path
        let parts = try await DaemonParts.start(
            configuration,
            ServiceManager(environment: [:], pid: 1),
            log: quietLogger
        ) { _ in }
        let shell = Shell(variables: ["TIMERD_SOCKET": configuration.socket])
        let added = try await shell(
            """
            timerctl add --in 1h -- true && timerctl add --every 1h --while-pid \(getpid()) -- true &&
            timerctl run --wait $(timerctl add --in 1d -- true)
            """
        )
        #expect(added.status == 0, "\(added.errors)")
        let kept = Kept(parts)
        try await parts.stop(.goOn)
        return kept
    }

    @Test("Nothing keeps it: a node that leads often would run out of descriptors")
    func gone() async throws {
        let kept = try await lead()
        // Its threads let go of it as they end.
        for name in ["scheduler", "bus", "socket", "epoll"] {
            try await eventually("its \(name) is gone") { !kept.names.contains(name) }
        }
    }
}
