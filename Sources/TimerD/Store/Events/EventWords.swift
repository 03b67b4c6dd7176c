// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

/// The names and userInfo that events tell, once the job has others or is removed.
///
/// An event is stored with the job's revision alone: its words are those of the job as long as that is
/// its revision, and triggers set them aside when it is not any more. `keep` is for what the triggers
/// cannot know: an event that is stored after that, of a fire that had begun before.
struct EventWords {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// Which name and userInfo the job has now.
    func revision(of job: JobID) throws -> Int64 {
        try database.prepare(SQL.revision).value(job) ?? 1
    }

    /// Has the words of an event that is about to be stored kept for as long as the event is.
    ///
    /// In the outbox it has no number yet, and keeps them by being there.
    func keep(_ event: Event) throws {
        let job = try database.prepare(SQL.job).first(event.job, event.seq) { row in
            // One that cannot be read is of a job that is about to be held, and whose words are as they were.
            (
                revision: row.ifReadable(0, as: Int64.self) ?? event.revision,
                isLater: try row.get(1, as: Bool.self)
            )
        }
        if let job, job.revision == event.revision {
            if job.isLater { try database.prepare(SQL.noteLast).run(event.job, event.seq) }
        } else if event.name != nil || event.userInfo != nil {
            try database.prepare(SQL.insert).run(
                event.job,
                event.revision,
                event.ownerID,
                event.seq,
                event.name,
                event.userInfo?.text
            )
        }
    }

    /// The jobs among those of `events` that are live and have the words that the events tell, so that `keep`
    /// has nothing to do for them.
    ///
    /// Found by one look at their rows where these are neighbours, as those of a list of new jobs are.
    func unchanged(_ events: [OutboxEvent]) throws -> [JobID: Int64] {
        let ids = events.lazy.map(\.event.job.rawValue)
        // Of a damaged row it may be below 0, and as far from the last as no number goes.
        guard events.count > 1, let first = ids.min(), first > 0, let last = ids.max(),
            last - first < Int64(2 * events.count)
        else { return [:] }
        var jobs = [JobID: Int64](minimumCapacity: events.count)
        try database.prepare(SQL.unchanged).forEach(first, last) { row in
            jobs[try row.get(0)] = row.ifReadable(1, as: Int64.self)
        }
        return jobs
    }

    /// Makes room: removes the oldest words of `owner`, and says of the events up to the last that tells
    /// them that they are not kept any more.
    ///
    /// The events' rows are skipped from now on, and go as those of all events do: a user may have many.
    /// - Returns: whether there were any.
    func removeOldest(of owner: OwnerID) throws -> Bool {
        guard let last = try database.prepare(SQL.oldest).value(owner, as: Int64.self) else {
            return false
        }
        try database.prepare(SQL.removeOldest).run(owner, last)
        try EventLog(database).notePruned(of: owner, through: last)
        return true
    }

    /// Whether any are kept, also such as no event tells any more.
    func isAnyKept() throws -> Bool { try database.prepare(SQL.any).value(as: Bool.self) ?? false }

    /// Removes words that no event tells any more, at most `limit`.
    ///
    /// - Returns: how many.
    func removeUntold(limit: Int) throws -> Int64 {
        try database.prepare(SQL.removeUntold).run(limit)
        return database.changes
    }

    enum SQL {
        static let any = "SELECT EXISTS (SELECT 1 FROM event_words)"
        static let revision = "SELECT revision FROM jobs WHERE id = ?1"
        static let job = """
            SELECT revision, ended_at_us IS NOT NULL AND coalesce(last_seq, 0) < ?2
            FROM jobs WHERE id = ?1
            """
        static let unchanged = """
            SELECT id, revision FROM jobs WHERE id >= ?1 AND id <= ?2 AND ended_at_us IS NULL
            """
        static let noteLast = "UPDATE jobs SET last_seq = ?2 WHERE id = ?1"
        static let insert = """
            INSERT INTO event_words (job_id, revision, owner_id, through_seq, name, user_info)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (job_id, revision) DO UPDATE
            SET through_seq = max(through_seq, ?4), user_info = coalesce(user_info, ?6)
            """
        /// Not in the outbox either, which a crash has told again.
        private static let isUntold = """
            (w.job_id, w.revision) NOT IN (\(Outbox.SQL.words))
            """
        /// Uses event_words_by_owner, as do the others.
        static let oldest = """
            SELECT w.through_seq FROM event_words AS w WHERE w.owner_id = ?1 AND \(isUntold)
            ORDER BY w.through_seq LIMIT 1
            """
        static let removeOldest = """
            DELETE FROM event_words AS w
            WHERE w.owner_id = ?1 AND w.through_seq <= ?2 AND \(isUntold)
            """
        static let removeUntold = """
            DELETE FROM event_words WHERE rowid IN (
                SELECT w.rowid FROM owners CROSS JOIN event_words AS w ON w.owner_id = owners.id
                    AND w.through_seq < coalesce((
                        SELECT seq FROM events
                        WHERE events.owner_id = owners.id AND seq > owners.events_pruned
                        ORDER BY seq LIMIT 1
                    ), \(Int64.max))
                WHERE \(isUntold) LIMIT ?1)
            """
    }
}

extension Event {
    /// Whether what `EventWords` keeps of this event is all that it would keep of `earlier`.
    func tellsWords(of earlier: Event) -> Bool {
        job == earlier.job && revision == earlier.revision
            && (name != nil || earlier.name == nil) && (userInfo != nil || earlier.userInfo == nil)
    }
}
