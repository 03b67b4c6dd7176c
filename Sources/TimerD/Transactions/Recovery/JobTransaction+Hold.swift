// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Held jobs: a job that cannot be read, and the jobs of an owner who is gone.
///
/// A held job is in no window and does not fire, whatever its state; all others go on. It goes on by itself once
/// the reason is over. Its missed dates then follow its misfire rule, with the reason `held`.
extension JobTransaction {
    /// How many held jobs one write looks at, and how many it holds or releases.
    static let heldLimit = 100

    /// Holds the job, or gives another reason for it.
    ///
    /// The open fires of a job that cannot be read stay as they are until it can be read. `isAsStored`: nothing of it was
    /// changed, and so nothing is written over what cannot be read of its row.
    mutating func hold(_ job: StoredJob, _ reason: String, isAsStored: Bool = false) throws {
        var job = job
        if job.unread == nil { try releaseClaim(of: &job) }
        if job.held == nil {
            if job.state.isLive { try jobs.countHeld(1) }
            try enqueue(.jobHeld, job, reason)
        }
        job.held = reason
        try jobs.setHeld(job.id, reason)
        guard isAsStored else { return try put(job) }
        outcome.jobs.append(try withClaimsAhead(job))
    }

    /// Holds a job, if it is live; does nothing for one that has ended.
    mutating func hold(_ id: JobID, _ reason: String) throws {
        if let job = try job(id), job.state.isLive { try hold(job, reason) }
    }

    /// Holds those of the jobs that are live and cannot be read, and that no window has come upon.
    mutating func holdUnreadable(_ ids: [JobID]) throws {
        for id in ids {
            guard let job = try job(id), job.state.isLive, job.held == nil,
                let unread = job.unread
            else { continue }
            try hold(job, unread.reason, isAsStored: true)
        }
    }

    /// Stores that the job is not held any more, because it goes on or is about to end; an ended one was held for its
    /// open fires, and not counted.
    func endHold(_ job: inout StoredJob) throws {
        guard job.held != nil else { return }
        job.held = nil
        try jobs.setHeld(job.id, nil)
        if job.state.isLive { try jobs.countHeld(-1) }
    }

    /// Holds a piece of the owner's live jobs, those after `cursor`.
    ///
    /// Jobs that are held for the owner already get the new reason.
    ///
    /// - Returns: the cursor of the next piece; nil after the last.
    mutating func holdJobs(
        of owner: KnownOwner,
        after cursor: JobID,
        _ reason: String
    ) throws -> JobID? {
        try owners.hold(owner.id, reason)
        let ids = try jobs.unheld(
            of: owner.id,
            after: cursor,
            limit: Self.heldLimit,
            orFor: owner.held
        )
        for id in ids {
            if let job = try job(id) { try hold(job, reason) }
        }
        return ids.count == Self.heldLimit ? ids.last : nil
    }

    /// Releases a piece of the held jobs, those after `cursor`, as far as they may go on.
    ///
    /// `leftOpen`: jobs with open fires of the daemon before this one that are still to be recovered;
    /// `running`: those of them with a run in progress, which wait for a later look.
    mutating func lookAtHeld(
        after cursor: JobID,
        leftOpen: Set<JobID>,
        running: Set<JobID> = [],
        runner: KnownRuns
    ) throws -> HeldLook {
        var look = HeldLook()
        try lookAtZones()
        let rows = try jobs.held(after: cursor, limit: Self.heldLimit)
        for row in rows where !row.isOwnerHeld && !running.contains(row.id) {
            guard var job = try job(row.id) else { continue }
            if let unread = job.unread {
                if unread.reason != job.held { try hold(job, unread.reason, isAsStored: true) }
                continue
            }
            try endHold(&job)
            let date = job.wallFireDate(at: moment)
            try enqueue(.jobReleased, job) { $0.fireDate = date }
            let place = enqueued.count - 1
            let isLeftOpen = leftOpen.contains(job.id)
            try attributing(.held) { transaction in
                if isLeftOpen {
                    look.released.insert(job.id)
                    try transaction.recover(of: job.id, runner, into: &look.recovered)
                    // Without a claim its next date waits for a window.
                    guard job.claim == nil else { return }
                }
                try transaction.orHold(job) {
                    try $0.goBackIfReleased(&$1)
                    let released = try $0.resolveAndPut($1)
                    // What has passed meanwhile may be over.
                    $0.enqueued[place].fireDate = released.wallFireDate(at: $0.moment)
                }
            }
        }
        look.next = rows.count == Self.heldLimit ? rows.last?.id : nil
        look.isAnyHeld = try jobs.isAnyHeld()
        return look
    }

    /// Closes the open fires of a job that ends while it cannot be read, and tells of each what its row says from then on.
    mutating func closeOpenFires(of job: StoredJob) throws {
        let open = try fires.rowsToGoOnFrom(job)
        try runs.interrupt(of: job.id, job.ownerID, at: moment.wall)
        try fires.close(of: job.id)
        for row in open {
            let date = row.unread == nil ? row.fireDate : nil
            if row.state == .claimed {
                try enqueue(.fireSkipped, job, FireReason.held.rawValue, fire: row.fire) {
                    $0.fireDate = date
                }
            } else if let run = row.id, row.outcome == nil, !terms.minded.contains(job.id) {
                try enqueue(.runFinished, job, fire: row.fire, run: run) {
                    ($0.fireDate, $0.outcome, $0.failed) = (date, .interrupted, true)
                    $0.handler = row.handler
                    $0.attempt = row.handler == nil ? row.attempt : nil
                }
                outcome.ended.append(
                    .init(job: job, handler: row.handler, outcome: .interrupted)
                )
            }
        }
    }
}

/// The result of a look at held jobs.
struct HeldLook: Sendable {
    /// The cursor of the next piece; nil after the last.
    var next: JobID?
    /// Whether any job is held now.
    var isAnyHeld = false
    /// The jobs of `leftOpen` that go on, and what was recovered of them.
    var released: Set<JobID> = []
    var recovered = Recovered()
}
