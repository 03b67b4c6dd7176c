// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Locks
import Platform
import SystemPackage

/// What the runner of another node lives on: connections that its agent opens, and this node cannot.
protocol NodeConnections: RunnerLoop {
    /// Takes over `descriptor`, at whose other end the agent is, for the next `link`.
    func put(_ descriptor: FileDescriptor)
}

/// The daemon's own.
final class AwaitedConnections: NodeConnections {
    private let loop: EpollLoop
    /// The one that has come last, and that nobody has taken.
    private let next = Locked<FileDescriptor?>(nil)

    init(on loop: EpollLoop) { self.loop = loop }

    deinit { next.withLock { $0 }?.closeForGood() }

    func put(_ descriptor: FileDescriptor) {
        let before = next.withLock { next in
            defer { next = descriptor }
            return next
        }
        before?.closeForGood()
    }

    func perform(_ work: @escaping @Sendable () -> Void) { loop.perform(work) }

    func perform(after time: Duration, _ work: @escaping @Sendable () -> Void) {
        loop.perform(after: time, work)
    }

    /// Never: its processes are on another host.
    func perform(afterEndOf pid: Int32, _ work: @escaping @Sendable () -> Void) {}

    func link(
        take: @escaping @Sendable (RunnerReport) -> Void,
        ended: @escaping @Sendable (_ reason: String) -> Void
    ) throws(RunnerUnreachable) -> any RunnerLink {
        let descriptor = next.withLock { next in
            defer { next = nil }
            return next
        }
        guard let descriptor else { throw RunnerUnreachable("its node has not come") }
        return try SocketRunnerLink(on: loop, descriptor, take: take, ended: ended)
    }
}
