// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules

/// A run that was in progress when a daemon ended.
struct LeftRun: Sendable {
    var run: RunID
    var job: StoredJob
    var fire: LeftFire
    var attempt: Int
    /// Which handler of the job it ran; nil for the job's own command.
    var handler: RunHandler?
    /// Whether its start is stored.
    var isStarted: Bool
    /// Whether the runner knows it, or may, as it is on another node; else that has ended, and its processes with it.
    var isKnown: Bool
    /// Whether the runner, this one or one before it, may have been asked for it.
    var wasAsked: Bool
    /// Whether it was told to end: it is not tried again.
    var isStopped: Bool
    var stoppedBy: RunStop?
    /// Where it was asked for.
    var place: RunPlace

    /// Its fire, as it goes on in this daemon.
    var commandFire: CommandFire {
        var command = fire.commandFire(of: job)
        (command.attempt, command.handler) = (attempt, handler)
        // Its event was told, by the daemon before or by this one.
        command.firedAt = command.firedAt ?? fire.wallDate
        return command
    }

    /// How it ended, if the runner does not know it.
    var outcome: RunOutcome { isStopped && !wasAsked ? .withdrawn : .interrupted }

    /// What to say of that besides: a copy knows no runner, and what has become of the run since it was made is not in it.
    ///
    /// Of a node the runner is not known after a failover as well.
    var reason: String? {
        outcome == .interrupted && place.runner == nil && place.node == nil
            ? "the database is a copy from while it was in progress; how it ended is not known"
            : nil
    }
}

extension KnownRuns {
    /// Whether the runner knows this run, and no other that has its number.
    ///
    /// In a copy the number may be that of another database's run, of another user's even, which this runner was asked for: a
    /// run that had begun is told from it by when. One of several hosts may have begun on a host with another clock.
    func has(_ run: RunID, _ place: RunPlace, startedAt: Timestamp?) -> Bool {
        guard let known = runs[run.rawValue] else { return false }
        guard place.runner == nil, place.node == nil, let startedAt else { return true }
        return known.startedAtMicroseconds == startedAt.microseconds
    }
}
