// SPDX-License-Identifier: Apache-2.0

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

    /// Which process has the runner's place, also where another one listens at its socket, as systemd does; below 1 where
    /// it has no number here, nil for none, or where that is not known.
    var holder: Int32? { get }
}

extension RunnerLoop {
    var holder: Int32? { nil }
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
