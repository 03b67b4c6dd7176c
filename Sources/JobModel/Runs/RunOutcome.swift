// SPDX-License-Identifier: Apache-2.0

/// How a run ended.
package enum RunOutcome: Sendable, Hashable {
    case exited(Int32)
    case signalled(Int32)
    /// The kernel ended it by SIGKILL because there was not enough memory, or it had as much as it may; the text says
    /// so to users.
    case outOfMemory(String)
    /// It took longer than its timeout, and was ended.
    case timedOut
    /// There was no process; the text names what was wrong: `cannot run '/no/such': no such file
    /// or directory`.
    case notStarted(String)
    /// It was ended because all runs were, or whatever minded it was gone: how it would have ended is unknown.
    case interrupted
    /// Its worker has done the task.
    case finished
    /// Its worker says that it has failed, and perhaps why.
    case failed(String?)
    /// Its worker has given the task back.
    case released
    /// Its worker has lost the task; the text says how.
    case lost(String)
}

extension RunOutcome {
    /// Of a run whose job was ended before its command began.
    package static let withdrawn = notStarted("it was ended before it began")
}

extension RunOutcome: CustomStringConvertible {
    /// As the log has it.
    package var description: String {
        switch self {
        case .exited(let status): "exit \(status)"
        case .signalled(let signal): "signal \(signal)"
        case .timedOut: "timed out"
        case .notStarted(let reason), .outOfMemory(let reason): reason
        case .interrupted: "interrupted"
        case .finished: "finished"
        case .failed(let reason): reason ?? "failed"
        case .released: "released"
        case .lost(let reason): reason
        }
    }
}

/// What a run used, with the children it waited for.
package struct RunUsage: Hashable, Sendable {
    package var userMicroseconds: Int64
    package var systemMicroseconds: Int64
    /// The largest resident set of one process, in bytes.
    ///
    /// Nil if it is no larger than the daemon's own peak. The kernel counts that too, because a process
    /// begins as a copy of its parent.
    package var peakMemory: Int64?

    package init(
        userMicroseconds: Int64,
        systemMicroseconds: Int64,
        peakMemory: Int64? = nil
    ) {
        self.userMicroseconds = userMicroseconds
        self.systemMicroseconds = systemMicroseconds
        self.peakMemory = peakMemory
    }
}

extension RunPolicy {
    /// Whether a run that ended so did what it was to do.
    ///
    /// `successCodes` are those of the job's own command; one of a handler's succeeds with 0.
    package func isSuccess(_ outcome: RunOutcome, of handler: RunHandler? = nil) -> Bool {
        guard case .exited(let status) = outcome else { return outcome == .finished }
        return handler == nil ? successCodes.contains(status) : status == 0
    }

    /// Whether it is one of the runs that went wrong; a run that its user ended before it began is not.
    package func isFailure(_ outcome: RunOutcome, of handler: RunHandler? = nil) -> Bool {
        outcome != .withdrawn && outcome != .released && !isSuccess(outcome, of: handler)
    }
}
