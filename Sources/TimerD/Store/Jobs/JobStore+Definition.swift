// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import SQLite
import Schedules
import TimerControl

/// What a job is, as its user stated it: the rows of definitions, names, tags and targets.
extension JobStore {
    /// Inserts a job's own row; `fireDate` is when it is due as well.
    ///
    /// `number`: of the job, where the same write has given the number before it; nil to look for the next.
    func insert(
        _ new: NewJob,
        _ state: Job.State,
        fireDate: Timestamp?,
        of owner: OwnerID,
        number: JobID?
    ) throws -> JobID {
        let (clock, anchor, rules) = (new.clock, new.schedule.anchor, new.rules?.id)
        try database.prepare(SQL.insert).run {
            $0.add(owner)
            $0.add(state)
            $0.add(clock)
            $0.add(anchor)
            $0.add(fireDate)
            $0.add(rules)
            $0.add(number)
        }
        let id = JobID(rawValue: database.lastInsertRowID)
        if case .reboot = new.schedule { try awaitBoot(id) }
        return id
    }

    func insertDefinition(_ new: NewJob, of id: JobID, owner: OwnerID, at date: Timestamp) throws {
        let (name, text) = (new.definition.name, new.text)
        try database.prepare(SQL.insertDefinition).run {
            $0.add(id)
            $0.add(date)
            $0.add(name)
            $0.add(text.definition)
            $0.add(text.userInfo)
            $0.add(owner)
        }
        if let name {
            try database.prepare(SQL.insertName).run(owner, name, id)
        }
        try insertTags(new.definition.tags, of: id, owner)
    }

    /// Writes what the job is from now on; nobody else has its name.
    func updateDefinition(of job: StoredJob, to new: NewJob) throws {
        let (old, name) = (job.definition.name, new.definition.name)
        try database.prepare(SQL.updateDefinition).run(
            job.id,
            new.text.definition,
            new.text.userInfo,
            name
        )
        // By their bytes, as the database has them: to Swift two Unicode forms of a name are the same.
        let isRenamed = old.map { Array($0.utf8) } != name.map { Array($0.utf8) }
        if let old, isRenamed {
            try database.prepare(SQL.deleteName).run(job.ownerID, old, job.id)
        }
        if let name, isRenamed {
            try database.prepare(SQL.insertName).run(job.ownerID, name, job.id)
        }
        // An old key is the job's no more, for it has another.
        if let key = new.definition.key {
            try keep(key, of: job.id, owner: job.ownerID)
        }
        let (before, tags) = (job.definition.tags ?? [], new.definition.tags ?? [])
        let areSame = before.elementsEqual(tags) { $0.utf8.elementsEqual($1.utf8) }
        guard job.unread != nil || !areSame else { return }
        try deleteTags(of: job)
        try insertTags(tags, of: job.id, job.ownerID)
    }

    /// Writes a definition that means the same to whoever has read it: its revision stays.
    func setDefinition(_ definition: JobDefinition, of id: JobID) throws {
        try database.prepare(SQL.setDefinition).run(id, StoredDefinition(definition).definition)
    }

    /// Writes by which schedule the job goes from now on; `update` writes its dates.
    func updateSchedule(of job: StoredJob, to new: NewJob) throws {
        try database.prepare(SQL.updateSchedule).run(job.id, new.clock, new.rules?.id)
        if case .reboot = job.schedule { try database.prepare(SQL.deleteBoot).run(job.id) }
        if case .reboot = new.schedule { try awaitBoot(job.id) }
    }

    /// How often its definition was changed, from 1; nil for no such job.
    func definitionRevision(of id: JobID) throws -> Int64? {
        try database.prepare(SQL.definitionRevision).value(id)
    }

    /// The text of its definition.
    func definition(of id: JobID) throws -> String? {
        try database.prepare(SQL.definition).value(id)
    }

    /// Lets another job have the name, by which the ended one is found until then.
    func releaseName(_ name: String, of owner: OwnerID) throws {
        try database.prepare(SQL.releaseName).run(owner, name)
    }

    /// Gives a job that lives again its name, which no live job has.
    func takeName(_ name: String, of job: StoredJob) throws {
        try database.prepare(SQL.insertName).run(job.ownerID, name, job.id)
    }

    private func insertTags(_ tags: [String]?, of id: JobID, _ owner: OwnerID) throws {
        for tag in tags ?? [] { try database.prepare(SQL.insertTag).run(owner, tag, id) }
    }

    /// Deletes the job's tags; a job that cannot be read does not name them, so its tags are searched for.
    func deleteTags(of job: StoredJob) throws {
        if job.unread != nil { try database.prepare(SQL.deleteTags).run(job.ownerID, job.id) }
        for tag in job.definition.tags ?? [] {
            try database.prepare(SQL.deleteTag).run(job.ownerID, tag, job.id)
        }
    }

    // MARK: - Targets

    /// Stores what the job's life is tied to; `process` is nil for a connection.
    func insertTarget(of id: JobID, _ process: ProcessIdentity?) throws {
        try database.prepare(SQL.insertTarget).run(id, process?.pid, process?.ticks)
    }

    /// The jobs that are tied to something, which may have gone while no daemon ran.
    func tiedJobs() throws -> [TiedJob] {
        try database.prepare(SQL.targets).all { try TiedJob(from: $0) }
    }

    /// Why what the job is tied to cannot be read; nil where it can be, and for one that is not tied.
    func unreadTarget(of id: JobID) throws -> String? {
        try database.prepare(SQL.target).first(id) { try TiedJob(from: $0).unread }.flatMap(\.self)
    }

    /// Has the next start of the machine make the job due.
    ///
    /// - Throws: `ControlError` where several hosts share the jobs: none of them is "the machine".
    private func awaitBoot(_ id: JobID) throws {
        try requireOneMachine("'@reboot'")
        try database.prepare(SQL.insertBoot).run(id)
    }

    /// Refuses `subject`, the schedule that a start of the machine makes due, where several hosts share the jobs.
    func requireOneMachine(_ subject: String) throws {
        guard database.home != nil else { return }
        throw ControlError(
            .badSchedule,
            "\(subject) is about one machine, and several hosts share these jobs; accepted are dates,"
                + " intervals and calendars. A unit of systemd may run 'timerctl add --in 0s' at its start"
        )
    }

    func deleteTarget(of id: JobID) throws { try database.prepare(SQL.deleteTarget).run(id) }
}

/// A live job whose life is tied to something.
struct TiedJob: Hashable, Sendable {
    var job: JobID
    /// Nil for a connection, and for a process of an earlier boot.
    var process: ProcessIdentity?
    /// The job's owner, by uid; the highest number where that cannot be read, as it is with the job then.
    var owner: UInt32
    /// Why its row cannot be read, so that nobody knows what its life is tied to; nil if it can.
    var unread: String?
}

extension TiedJob {
    init(from row: borrowing Row) throws {
        self.init(job: try row.get(0), owner: row.ifReadable(4) ?? .max)
        do {
            let (boot, present): (String, String) = (try row.get(1), try row.get(5))
            let (pid, ticks): (Int32?, Int64?) = (try row.get(2), try row.get(3))
            switch (pid, ticks) {
            case (nil, nil): break
            case (let pid?, let ticks?) where pid > 0 && ticks >= 0:
                if boot == present { process = ProcessIdentity(pid: pid, ticks: ticks) }
            default: throw StoreError.unreadable("a process that there cannot be")
            }
        } catch {
            unread = "what its life is tied to cannot be read: \(error)"
        }
    }
}

extension JobStore.SQL {
    static let insert = """
        INSERT INTO jobs (id, owner_id, state, clock, anchor_us, fire_date_us, due_us, zone_rules_id)
        VALUES (coalesce(?7, \(DaemonState.SQL.next("jobs"))), ?1, ?2, ?3, ?4, ?5, ?5, ?6)
        """
    static let insertBoot = "INSERT INTO boot_jobs VALUES (?1)"
    static let deleteBoot = "DELETE FROM boot_jobs WHERE job_id = ?1"
    static let updateSchedule = "UPDATE jobs SET clock = ?2, zone_rules_id = ?3 WHERE id = ?1"
    static let insertDefinition = """
        INSERT INTO job_definitions (job_id, added_at_us, name, definition, user_info, owner_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """
    static let updateDefinition = """
        UPDATE job_definitions
        SET definition = ?2, user_info = ?3, name = ?4, revision = revision + 1 WHERE job_id = ?1
        """
    static let setDefinition = "UPDATE job_definitions SET definition = ?2 WHERE job_id = ?1"
    static let definitionRevision = "SELECT revision FROM job_definitions WHERE job_id = ?1"
    static let definition = "SELECT definition FROM job_definitions WHERE job_id = ?1"
    /// In place of the ended job that has the name.
    static let insertName =
        "INSERT OR REPLACE INTO job_names (owner_id, name, job_id) VALUES (?1, ?2, ?3)"
    static let deleteName = """
        DELETE FROM job_names WHERE owner_id = ?1 AND name = ?2 AND job_id = ?3
        """
    static let releaseName = "UPDATE job_names SET live = 0 WHERE owner_id = ?1 AND name = ?2"
    static let insertTag = """
        INSERT OR IGNORE INTO job_tags (owner_id, tag, job_id) VALUES (?1, ?2, ?3)
        """
    static let deleteTag = """
        DELETE FROM job_tags WHERE owner_id = ?1 AND tag = ?2 AND job_id = ?3
        """
    static let deleteTags = "DELETE FROM job_tags WHERE owner_id = ?1 AND job_id = ?2"
    static let insertTarget = """
        INSERT INTO job_targets SELECT ?1, ?2, ?3, boot_id FROM daemon_state
        """
    /// A left join, as the owner of a damaged job may not be known.
    private static let tied = """
        SELECT job_id, job_targets.boot_id, pid, pid_ticks, owners.uid, daemon_state.boot_id
        FROM daemon_state, job_targets JOIN jobs ON jobs.id = job_targets.job_id
            LEFT JOIN owners ON owners.id = jobs.owner_id
        """
    static let targets = tied + " ORDER BY job_id"
    static let target = tied + " WHERE job_id = ?1"
    static let deleteTarget = "DELETE FROM job_targets WHERE job_id = ?1"
}
