// SPDX-License-Identifier: Apache-2.0

import CLinux
import LinuxSystem
import Locks
import Platform
import SystemPackage

/// The daemon's own.
struct SocketRunnerLoop: RunnerLoop {
    let loop: EpollLoop
    let holds: @Sendable () -> Int32?
    let connect: @Sendable () throws(RunnerUnreachable) -> FileDescriptor

    var holder: Int32? { holds() }

    func perform(_ work: @escaping @Sendable () -> Void) { loop.perform(work) }

    func perform(after time: Duration, _ work: @escaping @Sendable () -> Void) {
        loop.perform(after: time, work)
    }

    func perform(afterEndOf pid: Int32, _ work: @escaping @Sendable () -> Void) {
        let end = FileDescriptor(rawValue: pidfd_open(pid, 0))
        let watch = Locked<EpollLoop.Watch?>(nil)
        do throws(Errno) {
            let watched = try loop.watch(end) { [loop] in
                if let watch = watch.withLock({ $0 }) { loop.end(watch) }
                work()
            }
            watch.withLock { $0 = watched }
        } catch {
            if end.rawValue >= 0 { end.closeForGood() }
            perform(after: .milliseconds(100), work)
        }
    }

    func link(
        take: @escaping @Sendable (RunnerReport) -> Void,
        ended: @escaping @Sendable (_ reason: String) -> Void
    ) throws(RunnerUnreachable) -> any RunnerLink {
        try SocketRunnerLink(on: loop, try connect(), take: take, ended: ended)
    }
}

/// A connection with the runner over its socket.
final class SocketRunnerLink: RunnerLink {
    private let socket: FrameSocket

    /// Takes over `descriptor`, and closes it where it cannot be watched; it and all else is to be called on the loop's thread.
    init(
        on loop: EpollLoop,
        _ descriptor: FileDescriptor,
        take: @escaping @Sendable (RunnerReport) -> Void,
        ended: @escaping @Sendable (_ reason: String) -> Void
    ) throws(RunnerUnreachable) {
        do throws(Errno) {
            socket = try FrameSocket(
                on: loop,
                descriptor,
                take: { frame in
                    guard let report = RunnerReport(frame) else { return false }
                    take(report)
                    return true
                },
                ended: ended
            )
        } catch {
            descriptor.closeForGood()
            throw RunnerUnreachable("cannot watch its connection: \(error.text)")
        }
    }

    @discardableResult
    func send(_ order: RunnerOrder) -> Bool { socket.send(order.frame) }

    func close(_ reason: String) { socket.close(reason) }
}
