// SPDX-License-Identifier: Apache-2.0

import CLinux
import LinuxSystem
import Locks
import Platform
import SystemPackage

/// What a `ProgramRunner` lives on: one thread, time, and connections with the runner.
///
/// The daemon's is an epoll loop and a socket; a simulation has its own.
protocol RunnerLoop: Sendable {
    /// Runs `work` on the thread, in the order in which it was given.
    func perform(_ work: @escaping @Sendable () -> Void)

    /// The same, once `time` has passed.
    func perform(after time: Duration, _ work: @escaping @Sendable () -> Void)

    /// Runs `work` on the thread once that process has ended, or where this cannot be watched.
    func perform(afterEndOf pid: Int32, _ work: @escaping @Sendable () -> Void)

    /// Opens a connection with the runner, and starts a runner where there is none; called on the thread.
    ///
    /// `take` gets each report, in order. `ended` is called once, when nothing comes any more: within `close`,
    /// where that was called before.
    func link(
        take: @escaping @Sendable (RunnerReport) -> Void,
        ended: @escaping @Sendable (_ reason: String) -> Void
    ) throws(RunnerUnreachable) -> any RunnerLink
}

/// A connection with the runner; to be used on its loop's thread.
protocol RunnerLink: AnyObject, Sendable {
    /// Sends an order, in the order in which they come; false for one that is longer than a runner takes.
    ///
    /// Has no effect once the connection has ended.
    @discardableResult
    func send(_ order: RunnerOrder) -> Bool

    /// Ends the connection for that reason, unless it has ended.
    func close(_ reason: String)
}

/// The daemon's own.
struct SocketRunnerLoop: RunnerLoop {
    let loop: EpollLoop
    let connect: @Sendable () throws(RunnerUnreachable) -> FileDescriptor

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
        let descriptor = try connect()
        do throws(Errno) {
            return try SocketRunnerLink(on: loop, descriptor, take: take, ended: ended)
        } catch {
            descriptor.closeForGood()
            throw RunnerUnreachable("cannot watch its connection: \(error.text)")
        }
    }
}
