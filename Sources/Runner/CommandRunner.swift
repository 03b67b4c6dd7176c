// SPDX-License-Identifier: Apache-2.0

package import JobModel
package import TimerControl

/// Carries out runs: the seam between the scheduler and processes.
///
/// Behind it is the runner: timerd-runner, or the double of a test. What the runner minds lives on without the daemon, and is
/// known to the next one by its number.
package protocol CommandRunner: Sendable {
    /// Connects with the runner, and learns which runs it knows; called once, before any other.
    ///
    /// `changed` is called from then on when the connection is lost, and when there is one again.
    ///
    /// - Throws: `RunnerUnreachable`.
    func attach(_ changed: @escaping @Sendable (RunnerChange) -> Void) async throws -> KnownRuns

    /// Has `changed` called when the runners of other nodes come or go, with the node's name.
    func attachOthers(_ changed: @escaping @Sendable (_ node: String, RunnerChange) -> Void)

    /// Registers a run that an earlier daemon has asked another node for; it counts as running until that node reports,
    /// or is given up.
    func expect(_ run: Int64, at place: RunPlace)

    /// Returns once it is known of runs that a runner was told to begin whether they have begun; `whereOffered`: also of those
    /// that another node is only about to be told. A runner of this host that hangs, or a run whose PAM session is being opened,
    /// is waited for no longer than two seconds in all.
    func awaitBegins(of runs: [Int64], whereOffered: Bool) async

    /// Notes up to where each run's output was forwarded; a later daemon continues there.
    func passed(_ runs: [Int64: OutputPosition])

    /// What is known now of the runs that are not `stored`, by their numbers.
    var known: KnownRuns { get }

    /// Runs a command; returns once its own process has ended and its group has ended or cannot be ended.
    ///
    /// Other processes that hold the command's pipes do not delay that. `started` is called once, when the
    /// process has become the command, perhaps some time later, with its pid, which is also its process group and
    /// session, and when it began; it is not called for `notStarted`. Cancelling the task says that all runs are
    /// ended, and acts as `stop` with the request's teardown: the result still comes, and is `interrupted` where the
    /// signal came before the end. One whose start was withdrawn before does not begin.
    ///
    /// - Throws: `RunBreak`, where there is no result now.
    func run(
        _ request: RunRequest,
        started: @escaping @Sendable (KnownRun) -> Void
    ) async throws(RunBreak) -> RunResult

    /// Goes on with a run that is `known`, as if this daemon had begun it.
    ///
    /// What it has written is in the request's output, as far as it is kept. Nothing else of the request has
    /// an effect on the run: it goes by the rules with which it was begun.
    func takeUp(
        _ request: RunRequest,
        started: @escaping @Sendable (KnownRun) -> Void
    ) async throws(RunBreak) -> RunResult

    /// The end of a run is on disk: it need not be known any more.
    ///
    /// For a run that goes on and that nobody waits for: need not be, once it has ended.
    func stored(_ run: Int64)

    /// Begins to end a run and returns at once; false if no such run is in progress.
    ///
    /// The first signal is on its way when this returns, or is sent as soon as there is a process.
    /// It is sent with the rights of the run's owner. How the run ended is in the answer of `run`.
    @discardableResult
    func stop(_ run: Int64, by teardown: Teardown) -> Bool

    /// As `kill`, of a run that a daemon before has told to end, or was about to; one that is being ended is left at that, and
    /// what came of its first signal is returned.
    func endAgain(_ run: Int64, by teardown: Teardown, asDaemon: Bool) async -> SignalAnswer?

    /// Begins to end a run; returns what came of the first signal, nil if there is no process yet.
    ///
    /// If the owner may signal none of the run's processes, no further signal is sent. `asDaemon`: signals
    /// with the daemon's own rights instead. `withRest`: what its own process leaves behind is ended by `teardown`, too, also
    /// where that process has ended already.
    func kill(
        _ run: Int64,
        by teardown: Teardown,
        withRest: Bool,
        asDaemon: Bool
    ) async -> SignalAnswer?

    /// What control groups limit runs; nil until that is known.
    var controlGroups: ControlGroups? { get }

    /// Leaves the runs to the next daemon; whoever waits for one gets `RunBreak.left`.
    func detach() async
}

/// How the connection with the runner has changed.
package enum RunnerChange: Sendable {
    /// It is lost, for that reason: no command begins until it is `back`.
    case away(String)
    /// Its node is there, and it does not answer, for that reason: no command begins until it is `back`.
    case silent(String)
    /// It is of that release, has nothing left to mind, and makes room for one of this daemon's: no command
    /// begins until that is `back`.
    case replaced(String)
    /// There is one again; the epoch is the same if its runs go on.
    ///
    /// `lastRun`: the highest number of a run that it knows, perhaps of a database of another origin.
    case back(epoch: Int64, lastRun: Int64? = nil)
    /// It has no room for more runs, in a sentence with the reason: no command begins until it `hasRoom`.
    case full(String)
    case hasRoom
    /// So many commands run at once on its node.
    case limit(Int)
    /// It has runs in progress that nobody here has asked it for, or waits for: they are ended.
    case unexpected([Int64])
}

/// Why there is no result of a run.
package enum RunBreak: Error {
    /// Nothing was begun, for that reason: it may be, later.
    case notBegun(String)
    /// Nothing was begun, for want of descriptors or memory in this process: no other command could begin now either.
    case shortage(String)
    /// Nothing was begun, as the node does not know the user.
    case stranger(String)
    /// It goes on without this daemon.
    case left
}

/// The runner does not answer, for that reason.
package struct RunnerUnreachable: Error, CustomStringConvertible {
    package let description: String
    /// Whether it is known to live all the same.
    let isThere: Bool

    package init(_ description: String) { self.init(description, isThere: false) }

    init(_ description: String, isThere: Bool) {
        (self.description, self.isThere) = (description, isThere)
    }
}
