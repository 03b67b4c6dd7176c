// SPDX-License-Identifier: Apache-2.0

package import JobModel
import LinuxSystem

/// What to run, complete: nothing is inherited from the daemon.
package struct RunRequest: Sendable {
    /// The run's number, by which `stop` and `kill` find it; no two runs in progress share one.
    var run: Int64
    /// Run as given; without a slash, the first is looked up in the PATH of `environment`.
    var argv: [String]
    var environment: [String: String]
    /// Absolute.
    var workingDirectory: String
    /// Whether the command begins in the folder of its variable HOME, or in `/`, where its own cannot be entered.
    package var beginsElsewhere = false
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
    /// Called if the SIGKILL of the timeout, or of whoever ends the run, has not ended it; gets those that go on.
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
