// SPDX-License-Identifier: Apache-2.0

package import JobModel
import LinuxSystem
package import TimerControl

/// Carries out runs: the seam between the scheduler and processes.
///
/// What it minds lives on without the daemon, and is known to the next one by its number.
package protocol CommandRunner: Sendable {
    /// Connects with what minds the runs, and learns which of them it knows; called once, before any other.
    ///
    /// `changed` is called from then on when the connection is lost, and when there is one again.
    ///
    /// - Throws: `RunnerUnreachable`.
    func attach(_ changed: @escaping @Sendable (RunnerChange) -> Void) async throws -> KnownRuns

    /// Has `changed` called when the runners of other nodes come or go, with the node's name.
    func attachOthers(_ changed: @escaping @Sendable (_ node: String, RunnerChange) -> Void)

    /// A daemon before this one has asked another node for a run: that goes on until the node has been heard.
    func expect(_ run: Int64, at place: RunPlace)

    /// Returns once it is known whether a run that another node was told to begin has begun; `whereOffered`: also of one that it
    /// is only about to be told.
    func settled(_ run: Int64, whereOffered: Bool) async

    /// So much of what these runs wrote was passed on: a later daemon goes on behind it.
    func passed(_ runs: [Int64: OutputPosition])

    /// What is known now of the runs that are not `stored`, by their numbers.
    var known: KnownRuns { get }

    /// Runs a command; returns once its own process has ended and its group has ended or cannot be ended.
    ///
    /// Other processes that hold the command's pipes do not delay that. `started` is called once, when the
    /// process has become the command, with its pid, which is also its process group and session; it is not
    /// called for `notStarted`. Cancelling the task says that all runs are ended, and acts as `stop` with the
    /// request's teardown: the result still comes, and is `interrupted` where the signal came before the end. One whose
    /// start was withdrawn before does not begin.
    ///
    /// - Throws: `RunBreak`, where there is no result now.
    func run(
        _ request: RunRequest,
        started: @escaping @Sendable (_ pid: Int32) -> Void
    ) async throws(RunBreak) -> RunResult

    /// Goes on with a run that is `known`, as if this daemon had begun it.
    ///
    /// What it has written is in the request's output, as far as it is kept. Nothing else of the request has
    /// an effect on the run: it goes by the rules with which it was begun.
    func takeUp(
        _ request: RunRequest,
        started: @escaping @Sendable (_ pid: Int32) -> Void
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

    /// Begins to end a run; returns what came of the first signal, nil if there is no process yet.
    ///
    /// If the owner may signal none of the run's processes, no further signal is sent. `asDaemon`: signals
    /// with the daemon's own rights instead.
    func kill(_ run: Int64, by teardown: Teardown, asDaemon: Bool) async -> SignalAnswer?

    /// What control groups limit runs; nil until that is known.
    var controlGroups: ControlGroups? { get }

    /// Leaves the runs to the next daemon; whoever waits for one gets `RunBreak.left`.
    func detach() async
}

/// For those that mind nothing beyond the daemon.
extension CommandRunner {
    package var controlGroups: ControlGroups? { nil }

    package func kill(_ run: Int64, by teardown: Teardown, asDaemon: Bool) async -> SignalAnswer? {
        stop(run, by: teardown) ? .sent : .gone
    }

    package func stored(_ run: Int64) {}

    package func detach() async {}

    package func attachOthers(_ changed: @escaping @Sendable (_ node: String, RunnerChange) -> Void)
    {}

    package func expect(_ run: Int64, at place: RunPlace) {}

    package func settled(_ run: Int64, whereOffered: Bool) async {}

    package func passed(_ runs: [Int64: OutputPosition]) {}
}

/// How the connection with what minds the runs has changed.
package enum RunnerChange: Sendable {
    /// It is lost, for that reason: no command begins until it is `back`.
    case away(String)
    /// It is of that release, has nothing left to mind, and makes room for one of this daemon's: no command
    /// begins until that is `back`.
    case replaced(String)
    /// There is one again; the epoch is the same if its runs go on.
    ///
    /// `lastRun`: the highest number of a run that it knows, perhaps of a database of another origin.
    case back(epoch: Int64, lastRun: Int64? = nil)
    /// It has no room for more runs: no command begins until it `hasRoom`.
    case full
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
    /// The same, as the node does not know the user.
    case stranger(String)
    /// It goes on without this daemon.
    case left
}

/// What minds the runs does not answer, for that reason.
package struct RunnerUnreachable: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// What to run, complete: nothing is inherited from the daemon.
package struct RunRequest: Sendable {
    /// The run's number, by which `stop` and `kill` find it; no two runs in progress share one.
    var run: Int64
    /// Run as given; without a slash, the first is looked up in the PATH of `environment`.
    var argv: [String]
    var environment: [String: String]
    /// Absolute.
    var workingDirectory: String
    /// What the command finds on its standard input, before the end of file.
    var input: [UInt8]
    /// Keeps what the command writes, and can be read while it runs; each run has its own.
    var output: RunOutput
    /// Who the command runs as; nil for the daemon's own user.
    package var credentials: Credentials?
    var limits: ProcessLimits
    /// The soft limit of open files that it begins with, unless its session has another.
    var openFiles = DescriptorLimit.inherited
    /// The PAM session around the command, for a user that is not the runner's own; nil for none.
    package var session: PAMSession?
    /// Whether the runner adds what one has after a login, where `environment` says nothing: XDG_RUNTIME_DIR,
    /// DBUS_SESSION_BUS_ADDRESS, LANG.
    package var completesEnvironment = false
    /// What it finds in the folder `$CREDENTIALS_DIRECTORY`, of which there is none without them.
    package var secrets: [RunSecret] = []
    /// How long the run may take; nil for no limit.
    package var timeout: Duration?
    /// How the run is ended at its timeout, and how the processes that it leaves behind are ended.
    var teardown: Teardown
    /// When it is too late for the runner to begin it, in µs of CLOCK_BOOTTIME; nil for never.
    var latest: Int64?
    /// The node that is asked for it; nil for this one.
    package var node: String?
    /// What that node is told to run: the request of its own follows from that.
    package var offer: [UInt8] = []
    /// Who takes turns with others there, by name.
    package var user = ""
    /// The epoch of who alone may be asked for it; nil for anybody.
    ///
    /// By another it is `notBegun`: the next daemon would not look for it there.
    package var epoch: Int64?
    /// Asked just before the process is made; it may say no.
    package var start = RunStart()
    /// Called once if the owner may signal none of the run's processes at the timeout; gets those that go on.
    package var outlasted: @Sendable ([Int32]) -> Void = { _ in }

    /// A request for this node's runner; the other properties are set where a run needs them.
    package init(
        run: Int64,
        argv: [String],
        environment: [String: String],
        workingDirectory: String,
        input: [UInt8] = [],
        output: RunOutput = RunOutput(),
        credentials: Credentials? = nil,
        limits: ProcessLimits = ProcessLimits(),
        timeout: Duration? = nil,
        teardown: Teardown = .standard
    ) {
        (self.run, self.argv, self.environment) = (run, argv, environment)
        (self.workingDirectory, self.input, self.output) = (workingDirectory, input, output)
        (self.credentials, self.limits) = (credentials, limits)
        (self.timeout, self.teardown) = (timeout, teardown)
    }
}

extension RunRequest {
    /// Has the command's own process read variables from files first, with its owner's rights: what is secret in
    /// them is known to nobody else.
    package mutating func readVariables(from files: [String]?) {
        guard let files, !files.isEmpty else { return }
        argv = [RunnerProgram.besideThisOne, "--with-environment"] + files + ["--"] + argv
    }

    /// The same without the files that its command could not begin for, which `result` names; nil if that is not why.
    package func withoutUnread(_ result: RunResult) -> Self? {
        var rest = self
        rest.output = RunOutput(limit: output.limit)
        switch result.outcome {
        case .notStarted(let why) where !secrets.isEmpty && why.contains("credential"):
            rest.secrets.removeAll { why.contains(" from \(StartRefusal.quote($0.path))") }
            // A path that is cut in the report, or no room for them.
            if rest.secrets.count == secrets.count { rest.secrets = [] }
            return rest
        case .exited(65), .exited(66):
            // What reads the files says so before the command could say anything.
            let said = String(decoding: result.output.stderr, as: UTF8.self)
            guard argv.count > 1, argv[1] == "--with-environment",
                let end = argv.firstIndex(of: "--")
            else { return nil }
            let files = argv[2..<end].filter { file in
                let path = file.hasPrefix("-") ? String(file.dropFirst()) : file
                return !said.hasPrefix("timerd: --env-file \(path): ")
            }
            guard files.count < end - 2 else { return nil }
            rest.argv = Array(argv[(end + 1)...])
            rest.readVariables(from: files)
            return rest
        default: return nil
        }
    }
}

/// Who a process is to the kernel.
package struct Credentials: Hashable, Sendable {
    var uid: UInt32
    var gid: UInt32
    /// Supplementary groups.
    var groups: [UInt32]
}

/// Whose PAM session is opened around a command, by which service of /etc/pam.d.
package struct PAMSession: Hashable, Sendable {
    var service = AccountManagement.service
    var user: String
}

extension PAMSession {
    /// By timerd's own service.
    package init(user: String) { self.init(service: AccountManagement.service, user: user) }
}

/// What is known of a run once it has ended.
package struct RunResult: Sendable {
    package var outcome: RunOutcome
    /// µs since 1970 on the wall clock: just after the process began to exist; nil where it is not known that there was one.
    package var startedAtMicroseconds: Int64?
    /// µs since 1970 on the wall clock: when the run's own process ended, not what it left behind.
    package var endedAtMicroseconds: Int64
    package var output: CapturedOutput
    /// What it used, with the children it waited for; nil if there was no process.
    package var usage: RunUsage?
    /// The processes of its group that could not be ended: another user's, or in uninterruptible sleep.
    package var survivors: [Int32] = []
}

extension RunResult {
    /// There was no process, for the reason `why`; the date in µs since 1970.
    package static func notStarted(_ why: String, at date: Int64) -> Self {
        Self(outcome: .notStarted(why), endedAtMicroseconds: date, output: CapturedOutput())
    }
}
