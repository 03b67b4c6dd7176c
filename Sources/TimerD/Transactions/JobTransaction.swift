// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// What one write does to jobs and fires: a value for the length of the write, at one moment.
///
/// It keeps one promise: each scheduled job that it touches and that is due before its owner's horizon gets a
/// claim. So the scheduler knows every job that the window covers.
struct JobTransaction {
    let database: Database
    let moment: ClockReading
    var terms: TransactionTerms
    /// Why passed dates have not fired, if one reason holds for all dates that are decided now; see `attributing`.
    private(set) var missedFor: FireReason?
    /// What the scheduler is to be told once the write is durable.
    var outcome = StoreOutcome()
    /// What it has counted, and the events that it tells, since they were last stored.
    var tally = JobTally()
    var enqueued: [Event] = []
    /// The bytes of their reasons that count, by the owner's row.
    var reasons: [OwnerID: Int64] = [:]
    /// The job that it has added last: no other write gives numbers meanwhile.
    var lastAdded: JobID?
    /// Whether the owner of the jobs that it adds is in maintenance.
    var isInMaintenance = false
    /// The number of the event of the job's end, if that was told with the fire that ends it.
    var endTold: Int64?
    /// Who has asked for it; nil for what nobody has.
    var asker: Owner?
    /// The job that a change has read last, and its revision then.
    private var justRead: (job: JobID, revision: Int64)?

    init(_ database: Database, at moment: ClockReading, _ terms: TransactionTerms) {
        self.database = database
        self.moment = moment
        self.terms = terms
        // A write before this one that did not end was undone, and what it mended with it.
        database.notes.mendedTasks = []
    }

    /// A transaction that goes by no settings; it claims what is due before `horizon`.
    init(_ database: Database, at moment: ClockReading, horizon: Timestamp) {
        self.init(database, at: moment, TransactionTerms(horizons: Horizons(all: horizon)))
    }

    var jobs: JobStore { JobStore(database) }
    var fires: FireStore { FireStore(database) }
    var runs: RunStore { RunStore(database) }
    var events: EventLog { EventLog(database) }
    var owners: Owners { Owners(database) }
    var zoneRules: ZoneRuleStore { ZoneRuleStore(database) }

    /// Carries out `body`, in which passed dates have not fired for `reason`; nil for no reason that holds for all of them.
    @discardableResult
    mutating func attributing<T>(_ reason: FireReason?, _ body: (inout Self) throws -> T) rethrows
        -> T
    {
        let before = missedFor
        missedFor = reason
        defer { missedFor = before }
        return try body(&self)
    }

    // MARK: - Reading

    func job(_ id: JobID) throws -> StoredJob? {
        try jobs.job(id).map { try withUnreadRows($0) }
    }

    /// The job, if the caller may see it.
    func job(_ id: JobID, for caller: Caller) throws -> StoredJob? {
        try Queries(database).job(id, for: caller).map { try withUnreadRows($0) }
    }

    /// The same without its userInfo, which may be large and which most changes do not need.
    ///
    /// `owner`: the only one whose jobs the caller may see; nil for one who may see all.
    mutating func jobToChange(_ id: JobID, of owner: OwnerID?) throws -> StoredJob? {
        let job = try jobs.jobWithoutUserInfo(id, of: owner)
        justRead = job.map { ($0.id, $0.revision) }
        return try job.map { try withUnreadRows($0) }
    }

    /// Reads what `jobToChange` has left out.
    func readUserInfo(of job: inout StoredJob) throws {
        guard job.hasUnreadUserInfo else { return }
        let text = try jobs.userInfo(of: job.id)
        job.definition.userInfo = text.flatMap(JSONText.init(stored:))
        job.storedBytes += text?.utf8.count ?? 0
        job.hasUnreadUserInfo = false
    }

    // MARK: - Writing

    /// Writes back where the job stands, and hands it to the outcome.
    mutating func put(_ job: StoredJob) throws {
        var job = try withClaimsAhead(job)
        if job.state.isLive, job.unread == nil { try trimIfGrown(&job) }
        try jobs.update(job, lastEvent: job.state == .finished ? endTold : nil)
        // The scheduler knows of an end that it has told.
        if job.state == .finished, endTold != nil {
            outcome.isEndTold = true
            return
        }
        outcome.jobs.append(job)
    }

    /// Deletes the job's claim.
    ///
    /// If its event may have been told before a crash, marks it fired instead and has it told again.
    ///
    /// - Returns: whether it was marked fired.
    @discardableResult
    mutating func deleteClaim(of job: inout StoredJob) throws -> Bool {
        guard let claim = job.claim else { return false }
        job.claim = nil
        let isRedelivered = try redeliver(claim, of: &job, date: job.fireDate)
        if !isRedelivered { try fires.deleteClaim(claim.fire) }
        if job.ahead?.isEmpty != true, let date = job.fireDate {
            try deleteClaimsAhead(of: &job, after: date)
        }
        return isRedelivered
    }

    /// Marks a claim fired whose event may have been told, and has it told again; false for any other.
    @discardableResult
    mutating func redeliver(_ claim: StoredJob.Claim, of job: inout StoredJob, date: Timestamp?)
        throws
        -> Bool
    {
        guard try fires.keepMaybeTold(claim.fire, at: moment.wall) else { return false }
        job.fires += 1
        try readUserInfo(of: &job)
        let (fired, now) = (job, moment)
        try enqueue(.fireFired, job, fire: claim.fire) {
            $0.fireDate = date.map { now.wallDate($0, on: fired.clock) }
            $0.dueBy = date.flatMap { fired.dueBy($0, at: now) }
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
        count(leaving: job.state, entering: state)
        if job.state.isLive { countLive(-1, of: job.ownerID) }
        try endHold(&job)
        try deleteClaim(of: &job)
        job.state = state
        if state == .invalidated {
            try dropFires(of: &job, for: .invalidated)
            try dropTasks(of: job)
            try deletePing(of: job)
        }
        job.fireDate = nil
        job.movedFrom = nil
        job.endedAt = moment.wall
        job.endReason = reason
        if job.definition.isTied || job.unread != nil {
            try jobs.deleteTarget(of: job.id)
        }
        if let name = job.definition.name {
            try jobs.releaseName(name, of: job.ownerID)
        }
        if state == .finished, endTold != nil { return }
        try enqueue(state == .invalidated ? .jobInvalidated : .jobFinished, job, reason.rawValue)
    }

    /// Ends a finished job whose last fire is not over, so that neither a run nor a retry follows; `put` writes
    /// it.
    mutating func endFinished(_ job: inout StoredJob) throws {
        job.state = .invalidated
        try dropFires(of: &job, for: .invalidated)
        try dropTasks(of: job)
        try deletePing(of: job)
        job.endedAt = moment.wall
        job.endReason = .invalidated
        try enqueue(.jobInvalidated, job, StoredJob.EndReason.invalidated.rawValue)
    }

    /// Puts an event into the outbox that tells of the job's next date as `change` leaves it, which decides about dates that have
    /// passed, and comes ahead of what that tells.
    mutating func enqueue(
        _ type: Event.Kind,
        _ job: StoredJob,
        datedBy change: (inout JobTransaction) throws -> StoredJob
    ) throws -> StoredJob {
        try enqueue(type, job)
        let place = enqueued.count - 1
        let changed = try change(&self)
        enqueued[place].fireDate = changed.wallFireDate(at: moment)
        return changed
    }

    /// Has an event put into the outbox: it is told once this write is durable, or after a crash.
    mutating func enqueue(
        _ type: Event.Kind,
        _ job: StoredJob,
        _ reason: String? = nil,
        fire: FireID? = nil,
        run: RunID? = nil,
        _ complete: (inout Event) -> Void = { _ in }
    ) throws {
        var event = Event(of: job, type, at: moment.wall)
        event.reason = reason
        event.fire = fire
        event.run = run
        complete(&event)
        if let asker, asker.uid != job.owner.uid, event.isAsked {
            event.by = RunStop.administrator.rawValue
        }
        if type == .fireSkipped { try noteSkipped(event, of: job) }
        // A job that was added or read in this write has its words.
        let hasWords = type == .jobAdded || justRead.map { $0 == (job.id, job.revision) } == true
        if !hasWords { try EventWords(database).keep(event) }
        countReason(of: event)
        enqueued.append(event)
    }
}

/// What a write did, for the scheduler: the jobs as they stand, and what watchers are to be told.
struct StoreOutcome: Sendable {
    var jobs: [StoredJob] = []
    var outboxEvents: [OutboxEvent] = []
    /// Fires of which nothing begins any more, though the scheduler may have them wait.
    var closed: [FireID] = []
    /// Fires that have failed as they were closed, and whose handler is to begin: they wait for a place.
    var handled: [CommandFire] = []
    /// Whether a user has more stored than the bound allows; what has happened is stored all the same.
    var isOverfull = false
    /// What the zones' files say; nil if this write has not looked.
    var zones: ZoneChanges?
    /// Whether it is the record of a fire whose job has ended, as the scheduler knows.
    var isEndTold = false
    /// When the first notice may be handed over that it has stored, in elapsed time; nil for none.
    var noticeDate: Timestamp?
    var tasks = TaskOutcomes()
    /// How many tasks were due when their jobs were added.
    var tasksAtOnce = 0
    /// What was dropped of jobs and is still to be closed.
    var left: [Left] = []
    /// Runs that it has ended by itself: no runner says of them that they have.
    var ended: [Ended] = []

    struct Ended: Sendable {
        var job: StoredJob
        var handler: RunHandler?
        var outcome: RunOutcome
    }

    /// Fires of one job that were dropped as they waited, or were tasks.
    struct Left: Sendable {
        var job: JobID
        var user: UInt32
        var fires: ArraySlice<FireID>
    }

    /// The jobs that others have taken the place of.
    var replaced: [StoredJob] { jobs.filter { $0.endReason == .replaced } }

    /// Whether the scheduler need not hear of it: the record of a fire with which its job ended, as the scheduler has told.
    ///
    /// It hears of any other outcome, also of an empty one: each has it look whether the window is to be loaded.
    var isNothing: Bool {
        isEndTold && jobs.isEmpty && outboxEvents.isEmpty && closed.isEmpty && handled.isEmpty
            && !isOverfull
            && zones == nil
            && noticeDate == nil && tasks.isNothing && left.isEmpty && ended.isEmpty
    }
}
