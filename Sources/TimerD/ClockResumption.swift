// SPDX-License-Identifier: Apache-2.0

import JobModel
import LinuxSystem
import Logging
import SQLite
import Schedules
import TimerControl

/// The clock of a daemon that starts now, and what that start changes in the store.
///
/// Made before anything is written, so a start that is refused stores nothing of it.
struct ClockResumption: Sendable {
    /// Elapsed time goes on from where the store left it.
    let clock: SystemClock
    private let anchor: ClockAnchor
    /// How far the wall clock was stepped while no daemon ran.
    private let step: TimeSpan
    /// Whether another host led before, so that a step is the distance of two clocks.
    private let isOtherHost: Bool
    /// Whether the database is PostgreSQL.
    private let isShared: Bool
    /// Whether the machine has been started since the last daemon ran.
    private let hasStarted: Bool
    /// Whether only wall clocks tell how much time has passed since: claims may have been told, and lie ahead all the same.
    private let isOtherBoot: Bool
    private let state: DaemonState

    /// Reads the clocks, and decides how elapsed time goes on.
    ///
    /// `bootID`: the kernel's name of this boot. `othersClock`: of a node of several, by how much the clock of the one
    /// that led before is ahead of this one's; another host's boot makes nothing due. Nil for a daemon alone.
    init(
        _ state: DaemonState,
        bootID: String,
        othersClock: TimeSpan? = nil,
        read: @escaping @Sendable () -> SystemClock.Reading = SystemClock.read
    ) {
        let reading = read()
        (anchor, step) = state.anchor.resumed(
            bootID: bootID,
            sinceBoot: reading.sinceBoot,
            wall: reading.wall,
            before: othersClock ?? .zero
        )
        isOtherBoot = state.anchor.hasStarted(bootID)
        isShared = othersClock != nil
        isOtherHost = isShared && isOtherBoot
        hasStarted = !isShared && isOtherBoot
        clock = SystemClock(anchor: anchor, read: read)
        self.state = state
    }

    /// Stores where the clock stands; after a start of the machine, makes the jobs of `@reboot` due.
    ///
    /// On a restored copy, and on another server of PostgreSQL than before, skips the numbers that may have been given out.
    /// Logs a step of the wall clock that was made while no daemon ran. `notices`: who is told of starts that nothing stands
    /// for, where their jobs do not say it.
    func write(
        to store: WriteQueue,
        notices: NoticePolicy.Defaults = NoticePolicy.Defaults(),
        log: Logger
    ) async throws {
        tellStep(log)
        try await followStepBack(store)
        // One transaction, so that a crash cannot store the boot without the jobs that it made due.
        try await store.write { database in
            if let date = state.goesOnFrom {
                try DaemonState.leaveCopy(database, now: date)
                // What the original has told since is in no row, and whoever saw its numbers goes on from one of them: told that
                // nothing up to here is kept, he asks anew how things stand. After a failover, where mostly nothing is missing,
                // nobody has to.
                if !isShared {
                    try EventLog(database).noteAllPruned(through: state.eventSequenceEnd - 1)
                }
            }
            try DaemonState.write(anchor, to: database)
            if isFollowed { try followStep(database) }
            var transaction = JobTransaction(database, at: clock.now(), horizon: .distantPast)
            transaction.terms.noticeDefaults = notices
            if isOtherBoot || step < .zero { try transaction.markClaimsMaybeTold() }
            if step > .zero { try transaction.markAheadMaybeTold(before: step) }
            if hasStarted { try transaction.machineStarted() }
            // The recovery, which follows, tells what there is to tell.
            _ = try transaction.finish()
        }
        if state.goesOnFrom != nil {
            log.notice(
                isShared
                    ? "started on a restored copy, or after a failover: numbers are skipped"
                    : "started on a restored copy",
                metadata: ["database": "\(store.path)"]
            )
        }
    }

    /// Has jobs that were added or changed while the clock was ahead follow it back.
    ///
    /// Before the clock is stored, so that a start that is cut short finds the step again.
    private func followStepBack(_ store: WriteQueue) async throws {
        guard step < .zero, isFollowed else { return }
        var cursor: JobID? = JobID(rawValue: 0)
        while let after = cursor {
            cursor = try await store.write { database in
                var transaction = JobTransaction(database, at: clock.now(), horizon: .distantPast)
                let next = try transaction.followClockBack(after: after)
                _ = try transaction.finish()
                return next
            }
        }
    }

    /// Has rows follow the step that say by the wall clock what comes in elapsed time: next attempts and claims.
    private func followStep(_ database: Database) throws {
        let fires = FireStore(database)
        try fires.followStep(retriesBy: step)
        try fires.followStep(claimsBy: anchor.wallOffset)
    }

    /// Whether rows follow the step: not the distance of two hosts' clocks, by which no date is far off, and which each
    /// failover would look at all jobs for.
    private var isFollowed: Bool {
        step != .zero && (!isOtherHost || step.magnitude >= NodeView.clockLimit)
    }

    private func tellStep(_ log: Logger) {
        guard step != .zero else { return }
        guard isOtherHost else {
            return log.notice(
                "the wall clock was stepped while no daemon ran",
                metadata: ["step": "\(step)"]
            )
        }
        // No two clocks are the same.
        guard isFollowed else { return }
        log.notice(
            "the clock of this host is not that of the host that led before: dates follow this one now",
            metadata: ["ahead": "\(step)"]
        )
    }
}
