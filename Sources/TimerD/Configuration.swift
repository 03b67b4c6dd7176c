// SPDX-License-Identifier: Apache-2.0

import Schedules

/// What a daemon is told at its start.
public struct Configuration: Sendable {
    /// The path of the database; created, with its folder, where there is none.
    public var database: String
    /// The path of the control socket.
    public var socket: String
    /// How long runs in progress may go on once the daemon has been told to stop.
    public var drainTime = Duration.seconds(10)

    /// How many commands run at once; more wait, in order.
    public var maxRuns = 64

    public init(database: String, socket: String) {
        self.database = database
        self.socket = socket
    }
}

/// What the scheduler does by.
struct Settings: Sendable {
    /// The path of the control socket, for `TIMERD_SOCKET`.
    var socket: String
    /// Whose jobs' commands are run: the daemon's own user.
    var account: Account
    /// How many commands run at once; more wait, in order.
    var maxRuns = 64
    /// How many of them may be one user's.
    var maxRunsPerUser = 64
    /// How many runs of a job are kept, the newest.
    var runsKept = 100
}
