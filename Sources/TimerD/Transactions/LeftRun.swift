// SPDX-License-Identifier: Apache-2.0

import JobModel

/// A run that was in progress when a daemon ended.
struct LeftRun: Sendable {
    var run: RunID
    var job: StoredJob
    var fire: LeftFire
    var attempt: Int
    var isOnFailure: Bool
    /// Nil if the daemon ended before it was recorded.
    var process: ProcessIdentity?

    /// Its fire, as it goes on in this daemon.
    var commandFire: CommandFire {
        var command = fire.commandFire(of: job)
        (command.attempt, command.isOnFailure) = (attempt, isOnFailure)
        // Its event was told, by the daemon before or by this one.
        command.firedAt = command.firedAt ?? fire.wallDate
        return command
    }

    /// What follows once its process has ended.
    var next: RetryDecision {
        isOnFailure ? .done : RetryDecision(.interrupted, attempt: attempt, of: fire.id, job: job)
    }
}
