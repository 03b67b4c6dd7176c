// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// A notice that was not handed over yet.
struct StoredNotice: Sendable {
    var id: NoticeID
    var ownerID: OwnerID
    var owner: Owner
    var job: JobID
    var reason: NoticeReason
    var place: NoticePlace
    /// By the wall clock; of a summary that was tried, when it was first.
    var addedAt: Timestamp
    /// In elapsed time.
    var notBefore: Timestamp
    var until: Timestamp
    var attempts: Int
    var error: String?
    /// What it tells, with what was held back.
    var document: NoticeDocument
    /// Whether its row cannot be read: what is missing is made up, and it is never handed over.
    var isUnread = false

    var isPing: Bool { reason == .ping }
}

/// The rows of notices: SQL alone, no decision.
struct NoticeStore {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// Stores that a place is to be told; `held`: how many notices a summary stands for, 0 for none; `age`: how long ago that was
    /// which it tells of, as far as its patience has begun then.
    func insert(
        _ document: NoticeDocument,
        _ reason: NoticeReason,
        to place: NoticePlace,
        of owner: OwnerID,
        at date: Timestamp,
        notBefore: Timestamp,
        held: Int = 0,
        age: TimeSpan = .zero
    ) throws {
        try database.prepare(SQL.insert).run(
            owner,
            document.job,
            reason.rawValue,
            place.text,
            date,
            notBefore,
            notBefore + (NoticeRetry.patience(isPing: reason == .ping) - age),
            held,
            held > 0 ? date : nil,
            document.text
        )
    }

    /// Counts one more in the job's summary that a place is to be told at `due`; false if there is none.
    ///
    /// One before it may still wait for its turn: it has what it tells.
    func hold(
        _ document: NoticeDocument,
        _ reason: NoticeReason,
        to place: NoticePlace,
        at date: Timestamp,
        due: Timestamp
    ) throws -> Bool {
        try database.prepare(SQL.hold).run(
            document.job,
            reason.rawValue,
            date,
            document.text,
            due,
            place.text
        )
        return database.changes > 0
    }

    /// Has the job's summaries told that much later, or earlier if below 0, but not before now; false if none is held back.
    func moveSummaries(of job: JobID, by span: TimeSpan, at now: Timestamp) throws -> Bool {
        try database.prepare(SQL.moveLimits).run(job, now, span.microseconds)
        guard database.changes > 0 else { return false }
        try database.prepare(SQL.moveSummaries).run(job, now, span.microseconds)
        return true
    }

    /// Counts more that are not kept in a notice of the owner to the same place, or else to another: in the newest, of those that
    /// were not tried if there is one; false if there is none at all.
    @discardableResult
    func drop(of owner: OwnerID, at place: String, count: Int = 1) throws -> Bool {
        try database.prepare(SQL.drop).run(owner, place, count)
        return database.changes > 0
    }

    /// How many that are not kept are counted in a notice by now.
    func dropped(beside notice: NoticeID) throws -> Int {
        try database.prepare(SQL.dropped).value(notice) ?? 0
    }

    /// How many notices of the owner, or summaries, each place is to be told, the most first; a job's ping is neither.
    func counts(of owner: OwnerID, areSummaries: Bool) throws -> [(place: String, count: Int)] {
        try database.prepare(SQL.countsOfPlaces).all(owner, areSummaries) {
            (place: try $0.get(0), count: try $0.get(1))
        }
    }

    /// The newest notice of the owner, or summary, to a place, and how many are not told without it.
    func newest(
        of owner: OwnerID,
        at place: String,
        isSummary: Bool
    ) throws -> (id: NoticeID, count: Int)? {
        try database.prepare(SQL.newest).first(owner, isSummary, place) {
            (id: try $0.get(0), count: try $0.get(1))
        }
    }

    /// How many wait of all users, how many summaries are held back, and since when the oldest waits.
    ///
    /// None of it takes longer with more notices.
    func standing() throws -> (waiting: Int, held: Int, oldest: Timestamp?) {
        let counts = try database.prepare(SQL.counts).first {
            (waiting: try $0.get(0, as: Int.self), held: try $0.get(1, as: Int.self))
        }
        let oldest = try database.prepare(SQL.oldest).value(as: Timestamp?.self) ?? nil
        return (counts?.waiting ?? 0, counts?.held ?? 0, oldest)
    }

    /// How many notices wait of one user, who has few, how many of his summaries are held back, and since when the oldest waits.
    func standing(of owner: OwnerID) throws -> (waiting: Int, held: Int, oldest: Timestamp?) {
        try database.prepare(SQL.standingOfOwner).first(owner) {
            (try $0.get(0), try $0.get(1), try $0.get(2))
        } ?? (0, 0, nil)
    }

    /// The owners of notices that wait, after this one.
    func owner(after owner: OwnerID) throws -> OwnerID? {
        try database.prepare(SQL.owner).value(owner, as: OwnerID?.self) ?? nil
    }

    /// The owner's notice that may be tried now: the one that has waited longest for the first place behind `place`, in the order of
    /// their texts, and around.
    func due(of owner: OwnerID, behind place: String, at now: Timestamp) throws -> StoredNotice? {
        try database.prepare(SQL.due).first(owner, place, now) { try StoredNotice($0) }
    }

    /// The owner's ping that may be tried now and has waited longest.
    func duePing(of owner: OwnerID, at now: Timestamp) throws -> StoredNotice? {
        try database.prepare(SQL.duePing).first(owner, now) { try StoredNotice($0) }
    }

    /// When the owner's next notice may be tried that may not be tried now, in elapsed time.
    func next(of owner: OwnerID, after now: Timestamp) throws -> Timestamp? {
        try database.prepare(SQL.next).value(owner, now, as: Timestamp?.self) ?? nil
    }

    /// Stores that it is being tried, so often now, since when and until when, and when it is tried again if nothing more is heard.
    func markTried(_ notice: StoredNotice, notBefore: Timestamp) throws {
        try database.prepare(SQL.markTried).run(
            notice.id,
            notice.attempts,
            notBefore,
            notice.addedAt,
            notice.until
        )
    }

    func markFailed(_ notice: NoticeID, _ error: String, notBefore: Timestamp) throws {
        try database.prepare(SQL.markFailed).run(notice, error, notBefore)
    }

    func delete(_ notice: NoticeID) throws { try database.prepare(SQL.delete).run(notice) }

    /// Deletes the job's ping that was not handed over.
    func deletePing(of job: JobID) throws { try database.prepare(SQL.deletePing).run(job) }

    /// The notices after `id` of one owner, or of all: the oldest first.
    func list(of owner: OwnerID?, after id: NoticeID, limit: Int) throws -> [StoredNotice] {
        guard let owner else {
            return try database.prepare(SQL.all).all(id, limit) { try StoredNotice($0) }
        }
        return try database.prepare(SQL.ofOwner).all(owner, id, limit) { try StoredNotice($0) }
    }

    // MARK: - What a job's notices go by

    /// When a notice of that reason was told last, or its summary will be; nil for never.
    func limit(of job: JobID, _ reason: NoticeReason) throws -> NoticeLimit? {
        let date = try database.prepare(SQL.toldAt).value(
            job,
            reason.rawValue,
            as: Timestamp?.self
        )
        return (date ?? nil).map(NoticeLimit.init)
    }

    func set(_ limit: NoticeLimit, of job: JobID, _ reason: NoticeReason) throws {
        try database.prepare(SQL.setToldAt).run(job, reason.rawValue, limit.toldAt)
    }

    /// Whether the last fire of the job failed, as far as somebody wants to know.
    func isFailing(_ job: JobID) throws -> Bool {
        try database.prepare(SQL.isFailing).value(job) ?? false
    }

    func setFailing(_ isFailing: Bool, _ job: JobID) throws {
        try database.prepare(SQL.setFailing).run(job, isFailing)
    }

    enum SQL {
        static let columns = """
            n.id, n.owner_id, owners.uid, owners.name, n.job_id, n.reason, n.place, n.added_at_us,
            n.not_before_us, n.until_us, n.attempts, n.error, n.held, n.held_from_us, n.held_to_us,
            n.dropped, n.document
            FROM notices AS n JOIN owners ON owners.id = n.owner_id
            """
        static let insert = """
            INSERT INTO notices (id, owner_id, job_id, reason, place, added_at_us, not_before_us,
                until_us, held, held_from_us, held_to_us, document)
            VALUES (\(DaemonState.SQL.next("notices")), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10)
            """
        static let hold = """
            UPDATE notices SET held = held + 1, held_to_us = ?3, document = ?4
            WHERE job_id = ?1 AND reason = ?2 AND held > 0 AND attempts = 0 AND not_before_us = ?5
                AND place = ?6
            """
        static let moveSummaries = """
            UPDATE notices SET not_before_us = max(?2, not_before_us + ?3),
                until_us = until_us + max(?2, not_before_us + ?3) - not_before_us
            WHERE job_id = ?1 AND held > 0 AND attempts = 0 AND not_before_us > ?2
            """
        static let moveLimits = """
            UPDATE notice_states SET told_at_us = max(?2, told_at_us + ?3)
            WHERE job_id = ?1 AND told_at_us > ?2
            """
        /// Sorts the notices of one owner, who has few.
        static let drop = """
            UPDATE notices SET dropped = dropped + ?3
            WHERE id = (
                SELECT id FROM notices INDEXED BY notices_by_owner
                WHERE owner_id = ?1 AND (reason = 'ping') = 0
                ORDER BY place = ?2 DESC, attempts = 0 DESC, id DESC LIMIT 1)
            """
        static let dropped = "SELECT dropped FROM notices WHERE id = ?1"
        static let countsOfPlaces = """
            SELECT place, count(*) FROM notices INDEXED BY notices_by_owner
            WHERE owner_id = ?1 AND (reason = 'ping') = 0 AND (held > 0) = ?2
            GROUP BY place ORDER BY count(*) DESC, place
            """
        static let newest = """
            SELECT id, max(held, 1) + dropped FROM notices INDEXED BY notices_by_owner
            WHERE owner_id = ?1 AND (reason = 'ping') = 0 AND (held > 0) = ?2 AND place = ?3
            ORDER BY id DESC LIMIT 1
            """
        static let counts = "SELECT notices_waiting, notices_held FROM daemon_state"
        static let oldest = """
            SELECT min(added_at_us) FROM notices INDEXED BY notices_waiting
            WHERE held = 0 OR attempts > 0
            """
        static let standingOfOwner = """
            SELECT coalesce(sum(held = 0 OR attempts > 0), 0),
                coalesce(sum(held > 0 AND attempts = 0), 0),
                min(iif(held = 0 OR attempts > 0, added_at_us, NULL))
            FROM notices WHERE owner_id = ?1
            """
        static let owner = "SELECT min(owner_id) FROM notices WHERE owner_id > ?1"
        /// Sorts the notices of one owner, who has few.
        static let due = """
            SELECT \(columns)
            WHERE n.id = (
                SELECT id FROM notices INDEXED BY notices_by_owner
                WHERE owner_id = ?1 AND (reason = 'ping') = 0 AND not_before_us <= ?3
                ORDER BY place <= ?2, place, not_before_us LIMIT 1)
            """
        static let duePing = """
            SELECT \(columns)
            WHERE n.owner_id = ?1 AND (n.reason = 'ping') = 1 AND n.not_before_us <= ?2
            ORDER BY n.not_before_us LIMIT 1
            """
        static let next = """
            SELECT min(date) FROM (
                SELECT min(not_before_us) AS date FROM notices
                WHERE owner_id = ?1 AND (reason = 'ping') = 0 AND not_before_us > ?2
                UNION ALL
                SELECT min(not_before_us) FROM notices
                WHERE owner_id = ?1 AND (reason = 'ping') = 1 AND not_before_us > ?2)
            """
        static let markTried = """
            UPDATE notices SET attempts = ?2, not_before_us = ?3, added_at_us = ?4, until_us = ?5
            WHERE id = ?1
            """
        static let markFailed = """
            UPDATE notices SET error = ?2, not_before_us = ?3 WHERE id = ?1
            """
        static let delete = "DELETE FROM notices WHERE id = ?1"
        static let deletePing = "DELETE FROM notices WHERE job_id = ?1 AND reason = 'ping'"
        static let all = "SELECT \(columns) WHERE n.id > ?1 ORDER BY n.id LIMIT ?2"
        /// Sorts the notices of one owner, who has few.
        static let ofOwner = """
            SELECT \(columns) WHERE n.owner_id = ?1 AND n.id > ?2 ORDER BY n.id LIMIT ?3
            """
        static let toldAt = """
            SELECT told_at_us FROM notice_states WHERE job_id = ?1 AND reason = ?2
            """
        static let setToldAt = """
            INSERT INTO notice_states (job_id, reason, told_at_us) VALUES (?1, ?2, ?3)
            ON CONFLICT (job_id, reason) DO UPDATE SET told_at_us = ?3
            """
        static let isFailing = """
            SELECT is_failing FROM notice_states WHERE job_id = ?1 AND reason = 'failed'
            """
        static let setFailing = """
            INSERT INTO notice_states (job_id, reason, is_failing) VALUES (?1, 'failed', ?2)
            ON CONFLICT (job_id, reason) DO UPDATE SET is_failing = ?2
            """
    }
}
