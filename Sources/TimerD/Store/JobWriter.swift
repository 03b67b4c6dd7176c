// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What one write does to jobs and fires: made inside the write, at one moment, and thrown away.
///
/// It keeps one promise for all who use it: each scheduled job that it touches and that is due
/// before its owner's horizon leaves with a claim, so whatever the window covers is in the scheduler's hands.
struct JobWriter {
    let database: Database
    let moment: Moment
    /// The end of the window, in elapsed time, for whose jobs it is.
    var horizons: Horizons
    /// How many rows the history of a job keeps; nil where this write cuts none.
    let runsKept: Int?
    /// How much of one user may be stored; nil for any amount.
    var maxBytes: Int64?
    /// Fires whose row says `running` and whose command has not been started: only the scheduler knows.
    var unstarted: Set<FireID> = []
    /// Why no dates that are settled now have fired, where one reason holds for all of them.
    var missedFor: FireReason?
    /// What has become of the rules of zones, for all that is known.
    var zones = ZoneChanges()
    var findZone = ZoneRules.inDatabase
    /// What the scheduler is to be told once the write is durable.
    var outcome = StoreOutcome()
    /// What is to be counted once this change of many jobs is over; nil while none is under way.
    var tally: JobTally?

    init(_ database: Database, at moment: Moment, horizon: Timestamp, runsKept: Int? = nil) {
        self.database = database
        self.moment = moment
        horizons = Horizons(all: horizon)
        self.runsKept = runsKept
    }

    // MARK: - Reading

    var owners: Owners { Owners(database) }

    func job(_ id: JobID) throws -> StoredJob? {
        let job = try database.prepare(SQL.jobByID).first(id) { try JobRow.job(from: $0) }
        return try job.map { try withUnreadRows($0) }
    }

    func jobID(named name: String, owner: OwnerID) throws -> JobID? {
        try database.prepare(SQL.jobIDByName).first(owner, name) {
            try $0.get(0)
        }
    }

    func jobIDs(tagged tag: String, owner: OwnerID) throws -> [JobID] {
        try database.prepare(SQL.liveJobIDsByTag).all(tag, owner) { try $0.get(0) }
    }

    /// The job, if the caller may know of it.
    func job(_ id: JobID, for caller: Caller) throws -> StoredJob? {
        try Queries(database).job(id, for: caller).map { try withUnreadRows($0) }
    }

    /// The same without its userInfo, which no change of where it stands needs.
    func jobToChange(_ id: JobID, for caller: Caller) throws -> StoredJob? {
        var job: StoredJob?
        if let owner = try Queries(database).id(of: caller.onlyOwner) {
            job = try database.prepare(SQL.jobToChangeOfOwner).first(id, owner) {
                try JobRow.job(from: $0)
            }
        } else {
            job = try database.prepare(SQL.jobToChange).first(id) { try JobRow.job(from: $0) }
        }
        return try job.map { try withUnreadRows($0) }
    }

    /// Reads what `jobToChange` has left out.
    func readUserInfo(of job: inout StoredJob) throws {
        guard job.hasUnreadUserInfo else { return }
        let text: String? = try database.prepare(SQL.userInfo).value(job.id)
        job.definition.userInfo = text.flatMap(JSONText.init(stored:))
        job.storedBytes += text?.utf8.count ?? 0
        job.hasUnreadUserInfo = false
    }

    // MARK: - Writing

    /// Writes back where the job stands, and hands it to the outcome.
    mutating func put(_ job: StoredJob) throws {
        var job = try withClaimsAhead(job)
        let unread = job.state.isLive ? job.unread : nil
        if unread == nil { try cutIfGrown(&job) }
        try database.prepare(SQL.updateJob).run(
            job.id,
            job.state,
            unread?.anchor ?? job.schedule.anchor,
            job.fireDate,
            unread?.dueDate ?? job.dueDate,
            unread?.movedFrom ?? job.movedFrom,
            job.claim?.fire,
            job.fires,
            job.endedAt,
            job.endReason,
            unread?.uncut ?? job.uncut
        )
        outcome.jobs.append(job)
    }

    /// Takes back a claim that was not carried out: as if it had never been made; unless a daemon
    /// before this one may have told its event, which then is told again.
    ///
    /// - Returns: whether its date has had its fire so.
    @discardableResult
    mutating func removeClaim(of job: inout StoredJob) throws -> Bool {
        guard let claim = job.claim else { return false }
        job.claim = nil
        let isTold = try keepTold(claim, of: &job, date: job.fireDate)
        if !isTold { try database.prepare(SQL.deleteClaim).run(claim.fire) }
        if job.ahead?.isEmpty != true, let date = job.fireDate {
            try removeAhead(of: &job, after: date)
        }
        return isTold
    }

    /// Keeps the row of a claim that may have been told, which is told again; false where it was not.
    @discardableResult
    mutating func keepTold(_ claim: StoredJob.Claim, of job: inout StoredJob, date: Timestamp?)
        throws
        -> Bool
    {
        try database.prepare(SQL.keepTold).run(claim.fire, moment.wall)
        guard database.changes > 0 else { return false }
        job.fires += 1
        try readUserInfo(of: &job)
        let (fired, now) = (job, moment)
        try note(.fireFired, job, fire: claim.fire) {
            $0.fireDate = date.map { now.wallDate($0, on: fired.clock) }
            $0.firedAt = now.wall
            $0.userInfo = fired.definition.userInfo
            $0.missed = claim.missed > 0 ? claim.missed : nil
            $0.redelivered = true
        }
        return true
    }

    /// Ends the job for good; `put` writes it.
    mutating func end(_ job: inout StoredJob, _ state: Job.State, _ reason: StoredJob.EndReason)
        throws
    {
        try count(leaving: job.state, entering: state)
        if job.state.isLive { try countLive(-1, of: job.ownerID) }
        try endHold(&job)
        try removeClaim(of: &job)
        job.state = state
        if state == .invalidated { try dropFires(of: &job) }
        job.fireDate = nil
        job.movedFrom = nil
        job.endedAt = moment.wall
        job.endReason = reason
        if job.definition.isTied || job.unread != nil {
            try database.prepare(SQL.deleteTarget).run(job.id)
        }
        if let name = job.definition.name {
            try database.prepare(SQL.deleteName).run(job.ownerID, name)
        }
        try note(state == .invalidated ? .jobInvalidated : .jobFinished, job, reason.rawValue)
    }

    /// Ends a job that has no date left but a fire in progress, which a run or a retry may follow; `put`
    /// writes it.
    mutating func endFinished(_ job: inout StoredJob) throws {
        job.state = .invalidated
        try dropFires(of: &job)
        job.endedAt = moment.wall
        job.endReason = .invalidated
        try note(.jobInvalidated, job, StoredJob.EndReason.invalidated.rawValue)
    }

    /// Puts an event into the outbox: it is told once this write is durable, or after a crash.
    mutating func note(
        _ type: Event.Kind,
        _ job: StoredJob,
        _ reason: String? = nil,
        fire: FireID? = nil,
        run: RunID? = nil,
        _ complete: (inout Event) -> Void = { _ in }
    ) throws {
        var event = Event(seq: 0, type: type, at: moment.wall, job: job.id)
        event.owner = job.owner
        event.ownerID = job.ownerID
        event.name = job.definition.name
        event.reason = reason
        event.fire = fire
        event.run = run
        complete(&event)
        try database.prepare(SQL.insertNotice).run(
            type,
            event.at,
            job.id,
            fire,
            run,
            reason,
            fire == nil ? event.fireDate : nil,
            event.ownerID
        )
        outcome.notices.append(Notice(outbox: database.lastInsertRowID, event: event))
    }
}

/// What a write did, for the scheduler: the jobs as they stand, and what watchers are to be told.
struct StoreOutcome: Sendable {
    var jobs: [StoredJob] = []
    var notices: [Notice] = []
    /// Whether more of a user is stored than may be: what has happened is stored all the same.
    var isOverfull = false
    /// What the zones' files say, where this write has looked.
    var zones: ZoneChanges?
}

/// An event that is stored but has no number yet.
struct Notice: Sendable {
    /// Its row in `outbox`.
    var outbox: Int64
    /// Complete but for `seq`.
    var event: Event
}

extension JobWriter {
    enum SQL {
        static let jobByID = """
            SELECT \(JobRow.columns) FROM \(JobRow.source) WHERE jobs.id = ?1
            """
        static let jobIDByName = """
            SELECT job_id FROM job_names WHERE owner_id = ?1 AND name = ?2
            """
        static let liveJobIDsByTag = """
            SELECT job_tags.job_id FROM job_tags JOIN jobs ON jobs.id = job_tags.job_id
            WHERE job_tags.tag = ?1 AND job_tags.owner_id = ?2
                AND jobs.state IN ('scheduled', 'paused')
            """
        /// Uses the index of UNIQUE (job_id, fire_date_us): a job's fires are few.
        static let openFireOfJob = """
            SELECT id FROM fires WHERE job_id = ?1 AND \(RunRow.isOpen) LIMIT 1
            """
        /// Uses jobs_by_owner.
        static let liveJobIDsOfOwner = """
            SELECT id FROM jobs
            WHERE owner_id = ?1 AND (state = 'scheduled' OR state = 'paused') ORDER BY id
            """
        /// Uses jobs_by_owner, in which a job of somebody else is no nearer than one that does not exist.
        static let jobOfOwner = """
            SELECT \(JobRow.columns)
            FROM \(JobRow.source.replacing("jobs JOIN", with: "jobs INDEXED BY jobs_by_owner JOIN"))
            WHERE jobs.owner_id = ?2 AND jobs.id = ?1
            """
        static let jobToChange = jobByID.replacing(
            JobRow.columns,
            with: JobRow.columnsWithoutUserInfo
        )
        static let jobToChangeOfOwner = jobOfOwner.replacing(
            JobRow.columns,
            with: JobRow.columnsWithoutUserInfo
        )
        static let userInfo = "SELECT user_info FROM job_definitions WHERE job_id = ?1"
        static let updateJob = """
            UPDATE jobs SET state = ?2, anchor_us = ?3, fire_date_us = ?4, due_us = ?5,
                moved_from_us = ?6, claim_id = ?7, fires = ?8, ended_at_us = ?9, end_reason = ?10,
                uncut = ?11
            WHERE id = ?1
            """
        static let keepTold = """
            UPDATE fires SET state = 'fired', fired_at_us = ?2
            WHERE id = ?1 AND state = 'claimed' AND fired_at_us IS NOT NULL
            """
        /// Not one whose state is of a newer version: it stays, and is listed.
        static let deleteClaim = """
            DELETE FROM fires WHERE id = ?1 AND (state = 'claimed' OR state = 'running')
            """
        static let deleteFire = "DELETE FROM fires WHERE id = ?1"
        static let deleteName = "DELETE FROM job_names WHERE owner_id = ?1 AND name = ?2"
        static let insertNotice = """
            INSERT INTO outbox (type, at_us, job_id, fire_id, run_id, reason, fire_date_us,
                owner_id)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """
    }
}
