// SPDX-License-Identifier: Apache-2.0

import JobModel

/// Carries out runs: the seam between the scheduler and processes.
protocol CommandRunner: Sendable {
    /// Runs a command; returns once its own process has ended and its group has ended or cannot be ended.
    ///
    /// Other processes that hold the command's pipes do not delay that. `started` is called once, when the
    /// process has become the command, with its pid, which is also its process group and session; it is not
    /// called for `notStarted`. Cancelling the task acts as `stop` with the request's teardown: the result
    /// still comes.
    func run(
        _ request: RunRequest,
        started: @escaping @Sendable (_ pid: Int32) -> Void
    ) async -> RunResult

    /// Begins to end a run and returns at once; false if no such run is in progress.
    ///
    /// The first signal is on its way when this returns, or is sent as soon as there is a process.
    /// It is sent with the rights of the run's owner. How the run ended is in the answer of `run`.
    @discardableResult
    func stop(_ run: Int64, by teardown: Teardown) -> Bool

    /// Begins to end a run; returns what came of the first signal, nil if there is no process yet.
    ///
    /// If the owner may signal none of the run's processes, no further signal is sent. `asDaemon`: signals
    /// with the daemon's own rights instead.
    func kill(_ run: Int64, by teardown: Teardown, asDaemon: Bool) async -> SignalAnswer?

    /// What identifies a running process, should it outlive the daemon; nil if it has ended.
    func process(_ pid: Int32) -> ProcessIdentity?

    /// The processes that a daemon with that socket started for `runs`, which holds the uid of each run.
    func processes(of runs: [Int64: UInt32], socket: String) -> [Int64: ProcessIdentity]

    /// Whether a process that an earlier daemon started is still running.
    func lives(_ process: ProcessIdentity) -> Bool

    /// Ends such a process and all of its group, with the rights of `owner`.
    ///
    /// - Returns: the processes that could not be ended.
    func end(_ process: ProcessIdentity, of owner: UInt32, by teardown: Teardown) async -> [Int32]
}

/// Defaults: they look at the processes of this machine, and end none.
extension CommandRunner {
    func process(_ pid: Int32) -> ProcessIdentity? {
        ProcessIdentity.ticks(of: pid).map { ProcessIdentity(pid: pid, ticks: $0) }
    }

    func processes(of runs: [Int64: UInt32], socket: String) -> [Int64: ProcessIdentity] {
        ProcessIdentity.find(runs, socket: socket)
    }

    func lives(_ process: ProcessIdentity) -> Bool { process.lives }

    func kill(_ run: Int64, by teardown: Teardown, asDaemon: Bool) async -> SignalAnswer? {
        stop(run, by: teardown) ? .sent : .gone
    }

    func end(_ process: ProcessIdentity, of owner: UInt32, by teardown: Teardown) async -> [Int32] {
        []
    }
}

/// What to run, complete: nothing is inherited from the daemon.
struct RunRequest: Sendable {
    /// The run's number, by which `stop` and `kill` find it; no two runs in progress share one.
    var run: Int64
    /// Run as given; without a slash, the first is looked up in the PATH of `environment`.
    var argv: [String]
    var environment: [String: String]
    /// Absolute.
    var workingDirectory: String
    /// What the command finds on its standard input, before the end of file.
    var input: [UInt8] = []
    /// Keeps what the command writes, and can be read while it runs; each run has its own.
    var output = RunOutput()
    /// Who the command runs as; nil for the daemon's own user.
    var credentials: Credentials?
    var limits = ProcessLimits()
    /// How long the run may take; nil for no limit.
    var timeout: Duration?
    /// How the run is ended at its timeout, and how the processes that it leaves behind are ended.
    var teardown = Teardown.standard
    /// Asked just before the process is made; it may say no.
    var start = RunStart()
    /// Called once if the owner may signal none of the run's processes at the timeout; gets those that go on.
    var outlasted: @Sendable ([Int32]) -> Void = { _ in }
}

/// Who a process is to the kernel.
struct Credentials: Hashable, Sendable {
    var uid: UInt32
    var gid: UInt32
    /// Supplementary groups.
    var groups: [UInt32]
}

/// What is known of a run once it has ended.
struct RunResult: Sendable {
    var outcome: RunOutcome
    /// µs since 1970 on the wall clock: just after the process began to exist.
    var startedAtMicroseconds: Int64
    /// µs since 1970 on the wall clock: when the run's own process ended, not what it left behind.
    var endedAtMicroseconds: Int64
    var output: CapturedOutput
    /// What it used, with the children it waited for; nil if there was no process.
    var usage: RunUsage?
    /// The processes of its group that could not be ended: another user's, or in uninterruptible sleep.
    var survivors: [Int32] = []
}
