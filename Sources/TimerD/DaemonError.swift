// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import SQLite

/// Why a daemon did not start, or did not go on: one line, for whoever started it.
public struct DaemonError: Error, Hashable, CustomStringConvertible {
    /// How the process ends, by sysexits(3).
    public enum Status: Int32, Sendable {
        /// It may mend itself: a full disk, a database in use. A service manager tries again.
        case unavailable = 69
        /// It ran, and could not store the last of what happened, or not stop in order.
        case inputOutput = 74
        /// It does not mend itself: somebody has to look. A service manager does not try again.
        case configuration = 78
        /// It ran, and a file of its database was taken away: the next one would begin with an empty database at once, so
        /// somebody has to look. sysexits(3) has no word for it. A service manager does not try again.
        case lost = 79
    }

    public let description: String
    public let status: Status

    /// Whether it is of no use that the same process tries again: a node that could not begin to lead for anything else
    /// stands by, for what it lacks may be there next time.
    var isLasting: Bool { status == .configuration }

    public init(_ description: String, _ status: Status) {
        self.description = description
        self.status = status
    }

    /// What kept a daemon from starting.
    init(starting error: any Error) {
        switch error {
        case let error as DaemonError: self = error
        case let error as DatabaseError:
            // The start writes how each open fire goes on, so one such row stops it, again and again.
            let advice = error.isOfDamagedRow ? "; a row is damaged: restore a backup" : ""
            self.init(error.sentence + advice, error.isLasting ? .configuration : .unavailable)
        case let error as SocketError:
            self.init(error.description, error.isLasting ? .configuration : .unavailable)
        default: self.init("\(error)", .unavailable)
        }
    }

    /// What kept a daemon from stopping in order; the next one recovers what could not be stored, as after a crash.
    init(stopping error: any Error) {
        switch error {
        case let error as DaemonError: self = error
        case let error as DatabaseError:
            self.init(
                "stopped, but the last of what happened is not stored: \(error.sentence)",
                .inputOutput
            )
        default: self.init("stopped, but not in order: \(error)", .inputOutput)
        }
    }
}
