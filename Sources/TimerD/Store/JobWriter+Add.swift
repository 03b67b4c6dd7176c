// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A job that has been checked and waits to be stored.
struct NewJob: Sendable {
    var owner: Owner
    var clock: ScheduleClock
    var schedule: Schedule
    /// On the job's clock.
    var firstFireDate: Timestamp?
    let definition: JobDefinition
    /// The definition as it is stored, made ahead of the write, which others' writes wait for.
    let text: StoredDefinition
    var policy: JobPolicy
    /// The rules of its zone; nil where they cannot change.
    var rules: ZoneRules?
    /// The process that its life is tied to.
    var process: Orphan?
    /// What its user should know of how the words were understood.
    var notes: [String]

    /// The first date of a job that is stored at `moment`: the clock may have been set back since the
    /// job was checked.
    func firstFireDate(at moment: Moment) -> Timestamp? {
        guard clock == .wall, let first = firstFireDate else { return firstFireDate }
        return min(first, schedule.nextFireDate(after: moment.wall) ?? first)
    }
}

/// A definition as two columns of text.
struct StoredDefinition: Sendable {
    /// Without userInfo.
    var definition: String
    var userInfo: String?

    init(_ definition: JobDefinition) throws {
        var kept = definition
        kept.userInfo = nil
        self.definition = try StoredJSON.encode(kept)
        userInfo = definition.userInfo?.text
    }
}

extension JobWriter {
    /// Adds `jobs`, in order, and returns them as they stand.
    ///
    /// `limit`: how many live jobs their owner may have; nil for any number.
    /// - Throws: `ControlError` `nameTaken` or `limitReached`, and what the database throws; then
    ///   none is added.
    mutating func add(
        _ jobs: [NewJob],
        replace: Bool,
        limit: Int?
    ) throws -> [StoredJob] {
        guard let owner = jobs.first?.owner else { return [] }
        if let limit { try requireRoom(for: jobs, of: owner, replace: replace, limit: limit) }
        let ownerID = try owners.add(jobs.count, to: owner)
        let isFew = jobs.count <= ClaimDepth.addedAtOnce
        let depth =
            try isFew && owners.liveJobs(of: ownerID) <= ClaimDepth.jobs ? ClaimDepth.atAdd : 0
        return try requiringSpace(for: owner, ownerID) { writer in
            try writer.tallying { writer in
                try jobs.map { try writer.add($0, of: ownerID, replace: replace, depth: depth) }
            }
        }
    }

    /// Refuses jobs beyond the limit before any of them is stored.
    private func requireRoom(for jobs: [NewJob], of owner: Owner, replace: Bool, limit: Int)
        throws
    {
        let ownerID = try owners.id(of: owner)
        let live = try owners.liveJobs(of: ownerID)
        guard live + jobs.count > limit else { return }
        let replaced =
            try replace
            ? jobs.count {
                try $0.definition.name.map { try jobID(named: $0, owner: ownerID) } != nil
            }
            : 0
        guard live + jobs.count - replaced > limit else { return }
        throw ControlError(
            .limitReached,
            "uid \(owner.uid) has \(live) live jobs, with \(jobs.count - replaced) more it would be "
                + "above maxJobsPerUser, which is \(limit)"
        )
    }

    private mutating func add(
        _ new: NewJob,
        of owner: OwnerID,
        replace: Bool,
        depth: Int
    ) throws -> StoredJob {
        if let name = new.definition.name, let holder = try jobID(named: name, owner: owner) {
            guard replace, let old = try job(holder) else {
                throw ControlError(
                    .nameTaken,
                    "job \(holder) has the name '\(name)'; --replace puts the new job in its place"
                )
            }
            return try self.replace(old, with: new)
        }
        return try insert(new, of: owner, depth: depth)
    }

    /// Ends `old` and puts the new job in its place.
    mutating func replace(_ old: StoredJob, with new: NewJob) throws -> StoredJob {
        var (old, new) = (old, new)
        try takeBack(&old)
        // Its first date was made before this write: the old job may have had the fire of it since.
        let now = moment.reading(of: new.clock)
        if let first = new.firstFireDate, first <= now,
            try hasFired(old.id, since: moment.wallDate(first, on: new.clock)),
            let next = new.schedule.nextFireDate(after: now)
        {
            new.firstFireDate = next
        }
        try settleUnfired(&old)
        try end(&old, .invalidated, .replaced)
        try put(old)
        return try insert(new, of: old.ownerID)
    }

    /// Whether the job has had a fire of that date of the wall clock or a later one.
    private func hasFired(_ id: JobID, since date: Timestamp) throws -> Bool {
        try database.prepare(SQL.firedSince).first(id, date) { try $0.get(0, as: FireID.self) }
            != nil
    }

    /// `depth`: how many dates behind the first are claimed at once, of an event that fires often.
    private mutating func insert(_ new: NewJob, of owner: OwnerID, depth: Int = 0) throws
        -> StoredJob
    {
        let state: Job.State = new.definition.paused == true ? .paused : .scheduled
        let fireDate = new.firstFireDate(at: moment)
        if let rules = new.rules { try remember(rules) }
        try database.prepare(SQL.insertJob).run(
            owner,
            state,
            new.clock,
            new.schedule.anchor,
            fireDate,
            new.rules?.id
        )
        let id = JobID(rawValue: database.lastInsertRowID)
        if new.definition.isTied { try insertTarget(of: id, new.process) }
        if case .reboot = new.schedule { try database.prepare(SQL.insertBootJob).run(id) }
        try insertDefinition(new, of: id, owner: owner)
        try count(leaving: nil, entering: state)
        let job = StoredJob(
            id: id,
            owner: new.owner,
            ownerID: owner,
            state: state,
            clock: new.clock,
            schedule: new.schedule,
            fireDate: fireDate,
            movedFrom: nil,
            claim: nil,
            fires: 0,
            uncut: 0,
            addedAt: moment.wall,
            endedAt: nil,
            endReason: nil,
            definition: new.definition,
            policy: new.policy,
            rules: new.rules?.id
        )
        let date = job.wallFireDate(at: moment)
        try note(.jobAdded, job) { $0.fireDate = date }
        guard state == .scheduled, let due = job.dueDate,
            due < moment.date(ofElapsed: horizons[job.ownerID], on: job.clock)
        else {
            // The row's due date hangs on its id where there is jitter.
            if job.dueDate == job.fireDate { outcome.jobs.append(job) } else { try put(job) }
            return job
        }
        return try settleAndPut(job, depth: depth, most: depth)
    }

    /// Writes what the job is from now on; its name stays.
    func updateDefinition(of job: StoredJob, to new: NewJob) throws {
        let definition = new.definition
        try database.prepare(SQL.updateDefinition).run(
            job.id,
            new.text.definition,
            new.text.userInfo
        )
        for tag in job.definition.tags ?? [] {
            try database.prepare(SQL.deleteTag).run(job.ownerID, tag, job.id)
        }
        for tag in definition.tags ?? [] {
            try database.prepare(SQL.insertTag).run(job.ownerID, tag, job.id)
        }
    }

    private func insertDefinition(_ new: NewJob, of id: JobID, owner: OwnerID) throws {
        let definition = new.definition
        try database.prepare(SQL.insertDefinition).run(
            id,
            moment.wall,
            definition.name,
            new.text.definition,
            new.text.userInfo,
            owner
        )
        if let name = definition.name {
            try database.prepare(SQL.insertName).run(owner, name, id)
        }
        for tag in definition.tags ?? [] {
            try database.prepare(SQL.insertTag).run(owner, tag, id)
        }
    }
}

extension JobWriter.SQL {
    static let insertJob = """
        INSERT INTO jobs (owner_id, state, clock, anchor_us, fire_date_us, due_us, zone_rules_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)
        """
    static let insertBootJob = "INSERT INTO boot_jobs VALUES (?1)"
    static let insertDefinition = """
        INSERT INTO job_definitions (job_id, added_at_us, name, definition, user_info, owner_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """
    static let updateDefinition = """
        UPDATE job_definitions SET definition = ?2, user_info = ?3 WHERE job_id = ?1
        """
    static let firedSince = """
        SELECT id FROM fires
        WHERE job_id = ?1 AND wall_date_us >= ?2 AND reason IS NOT 'manual'
            AND state IN ('fired', 'waiting', 'running', 'done')
        LIMIT 1
        """
    static let insertName = "INSERT INTO job_names (owner_id, name, job_id) VALUES (?1, ?2, ?3)"
    static let insertTag = """
        INSERT OR IGNORE INTO job_tags (owner_id, tag, job_id) VALUES (?1, ?2, ?3)
        """
}
