// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// Which dates of a job have a row.
extension FireStore {
    /// The row of `date` itself, and the ranges of skipped dates that may hold it.
    ///
    /// At most one of them is on the same grid; a grid that was moved may have left ranges that overlap.
    func taken(around date: Timestamp, of job: JobID) throws -> [TakenDates] {
        try database.prepare(SQL.takenAround).all(job, date) {
            TakenDates(first: try $0.get(0), last: try $0.get(1))
        }
    }

    /// The rows whose first date lies from `first` through `last`, in order.
    func taken(from first: Timestamp, through last: Timestamp, of job: JobID) throws -> [TakenDates]
    {
        try database.prepare(SQL.takenBetween).all(job, first, last) {
            TakenDates(first: try $0.get(0), last: try $0.get(1))
        }
    }

    /// The first of the rows whose dates lie at or after `date`, and the ranges that begin before it and reach beyond.
    func taken(ahead date: Timestamp, of job: JobID, atMost limit: Int) throws -> [TakenDates] {
        try database.prepare(SQL.takenAhead).all(job, date, limit) {
            TakenDates(first: try $0.get(0), last: try $0.get(1))
        }
        .filter { $0.last >= date }
        .sorted { $0.first < $1.first }
    }

    /// The rows beyond claims that may hold `date`, on the job's clock: of fires, also by hand, and of skipped dates.
    func used(around date: Timestamp, of job: JobID) throws -> [UsedDates] {
        try database.prepare(SQL.usedAround).all(job, date) { row in
            let state: String = try row.get(3)
            return UsedDates(
                fire: try row.get(0),
                dates: TakenDates(first: try row.get(1), last: try row.get(2)),
                skipped: state == "skipped" ? try row.get(4, as: FireReason?.self) : nil,
                isForgotten: state == "forgotten"
            )
        }
    }

    /// How many dates the job's rows before `date` say that one later fire stands for, back to the last that says something else.
    func coalesced(before date: Timestamp, of job: JobID) throws -> Int {
        try database.prepare(SQL.coalescedBefore).first(job, date) { $0.ifNumber(0) ?? 0 } ?? 0
    }

    /// Whether the job has had a fire by its schedule of that date of the wall clock, or a later one.
    func hasFired(_ job: JobID, since date: Timestamp) throws -> Bool {
        try database.prepare(SQL.firedSince).value(job, date, as: FireID.self) != nil
    }

    // MARK: - Claims

    /// The job's claims after `date`, the soonest first; not those by hand.
    func claims(of job: JobID, after date: Timestamp) throws -> [ClaimAhead] {
        try database.prepare(SQL.claimsAfter).all(job, date) { row in
            let fire: FireID = try row.get(0)
            let isMaybeTold = try row.get(2, as: Timestamp?.self) != nil
            return ClaimAhead(
                date: try row.get(1),
                claim: StoredJob.Claim(fire: fire, missed: 0, isRedelivery: isMaybeTold)
            )
        }
    }

    /// The claim of that date; not one by hand.
    func claim(of job: JobID, at date: Timestamp) throws -> StoredJob.Claim? {
        try database.prepare(SQL.claimAt).first(job, date) { row in
            let isMaybeTold = try row.get(1, as: Timestamp?.self) != nil
            return StoredJob.Claim(fire: try row.get(0), missed: 0, isRedelivery: isMaybeTold)
        }
    }

    // MARK: - Dates ahead of the clock

    /// The jobs with a row that reaches beyond `date` of the wall clock.
    ///
    /// Rows of claims, of fires by hand, and of dates that users moved or skipped do not count.
    func jobsAhead(of date: Timestamp) throws -> [JobID] {
        try database.prepare(SQL.jobsAhead).all(date) { try $0.get(0) }
    }

    /// The job's rows of skipped dates that reach beyond `date` of the wall clock, in order.
    ///
    /// Without those that its user moved or skipped, and those that an overlap skipped.
    func skippedAhead(of date: Timestamp, _ job: JobID) throws -> [(id: FireID, first: Timestamp)] {
        try database.prepare(SQL.skippedAhead).all(job, date) { (try $0.get(0), try $0.get(1)) }
    }

    /// The job's rows of skipped dates that reach beyond `date` of its clock, in order.
    func skipped(of job: JobID, beyond date: Timestamp) throws -> [(id: FireID, first: Timestamp)] {
        try database.prepare(SQL.skippedBeyond).all(job, date) { (try $0.get(0), try $0.get(1)) }
    }

    /// The job's rows that begin before `next`, reach to `date` and say that dates were dropped before they had come: by its
    /// user, or by a change of its zone's rules.
    func droppedAhead(of job: JobID, before next: Timestamp, reaching date: Timestamp) throws
        -> [(id: FireID, first: Timestamp)]
    {
        try database.prepare(SQL.droppedAhead).all(job, next, date) {
            (try $0.get(0), try $0.get(1))
        }
    }

    /// Deletes the job's rows from `first` on that say that it was ended, paused or held before they fired.
    ///
    /// `keepsPaused`: without those that say that it was paused.
    func deleteUnfired(of job: JobID, from first: Timestamp, keepsPaused: Bool) throws {
        try database.prepare(SQL.deleteUnfired).run(job, first, keepsPaused)
    }

    /// Moves the dates of all of the job's rows by so much: onto another clock.
    func shiftDates(of job: JobID, by span: TimeSpan) throws {
        guard span != .zero else { return }
        // Beyond the last of them no date meets another.
        let extent: Int64 = try database.prepare(SQL.extentOfDates).value(job) ?? 0
        guard span.microseconds.magnitude <= extent.magnitude else {
            return try database.prepare(SQL.shiftDates).run(job, span.microseconds)
        }
        // In two steps, by way of numbers that no row has: on its way a date could meet another that is still to move.
        try database.prepare(SQL.shiftDatesAway).run(job, span.microseconds)
        try database.prepare(SQL.shiftDatesBack).run(job)
    }

    /// The date of the job that its user moved to `date`, before `end`; nil if that is not kept.
    func movedDate(to date: Timestamp, before end: Timestamp, _ job: JobID) throws -> Timestamp? {
        try database.prepare(SQL.movedAround).value(job, date, end)
    }

    /// Shortens a row of skipped dates to `count` of them; `last` is nil for one.
    func shorten(_ fire: FireID, to count: Int, last: Timestamp?) throws {
        try database.prepare(SQL.shorten).run(fire, count, last)
    }
}

/// A row of dates that fire no more, on the job's clock.
struct UsedDates: Sendable {
    var fire: FireID
    var dates: TakenDates
    /// Why they did not become a fire; nil where they did.
    var skipped: FireReason?
    /// Whether rows that are not kept any more had them.
    var isForgotten: Bool
}

extension FireStore.SQL {
    /// Not by `sum`, which refuses what is too much for an integer, as in damaged rows.
    static let coalescedBefore = """
        SELECT CAST(total(dates) AS INTEGER) FROM fires
        WHERE job_id = ?1 AND fire_date_us < ?2 AND fire_date_us > coalesce((
            SELECT fire_date_us FROM fires
            WHERE job_id = ?1 AND fire_date_us < ?2
                AND (state IS NOT 'skipped' OR reason IS NOT 'coalesced')
            ORDER BY fire_date_us DESC LIMIT 1), \(Int64.min))
        """
    static let deleteUnfired = """
        DELETE FROM fires WHERE job_id = ?1 AND fire_date_us >= ?2
            AND \(RunRow.isSkipped)
            AND (reason = 'invalidated' OR (reason = 'paused' AND NOT ?3) OR reason = 'held')
            AND fired_at_us IS NULL
        """
    /// A fire by hand takes no date of the schedule.
    private static let taken = """
        SELECT fire_date_us, fire_date_us + coalesce(last_date_us - wall_date_us, 0) FROM fires
        WHERE job_id = ?1 AND state <> 'claimed' AND reason IS NOT 'manual'
            AND reason IS NOT 'withdrawn'
        """
    /// Uses fires_ranges.
    static let takenAround = """
        \(taken) AND fire_date_us = ?2
        UNION ALL SELECT * FROM (
            \(taken) AND fire_date_us < ?2 AND last_date_us IS NOT NULL
            ORDER BY fire_date_us DESC LIMIT 8
        )
        """
    static let takenBetween = """
        \(taken) AND fire_date_us BETWEEN ?2 AND ?3 ORDER BY fire_date_us
        """
    /// Uses fires_ranges, as `takenAround`.
    static let takenAhead = """
        SELECT * FROM (\(taken) AND fire_date_us >= ?2 ORDER BY fire_date_us LIMIT ?3)
        UNION ALL SELECT * FROM (
            \(taken) AND fire_date_us < ?2 AND last_date_us IS NOT NULL
            ORDER BY fire_date_us DESC LIMIT 8
        )
        """
    private static let used = """
        SELECT id, fire_date_us, fire_date_us + coalesce(last_date_us - wall_date_us, 0),
            iif(\(RunRow.isSkipped), 'skipped', state), reason
        FROM fires WHERE job_id = ?1 AND state <> 'claimed'
        """
    /// Uses fires_ranges, as `takenAround`.
    static let usedAround = """
        \(used) AND fire_date_us = ?2
        UNION ALL SELECT * FROM (
            \(used) AND fire_date_us < ?2 AND last_date_us IS NOT NULL
            ORDER BY fire_date_us DESC LIMIT 8
        )
        """
    static let firedSince = """
        SELECT id FROM fires
        WHERE job_id = ?1 AND wall_date_us >= ?2 AND reason IS NULL
            AND state IN ('fired', 'waiting', 'running', 'done')
        LIMIT 1
        """
    /// Uses the index of UNIQUE (job_id, fire_date_us).
    static let claimsAfter = """
        SELECT id, fire_date_us, fired_at_us FROM fires
        WHERE job_id = ?1 AND fire_date_us > ?2 AND state = 'claimed' AND reason IS NOT 'manual'
        ORDER BY fire_date_us
        """
    static let claimAt = """
        SELECT id, fired_at_us FROM fires
        WHERE job_id = ?1 AND fire_date_us = ?2 AND state = 'claimed' AND reason IS NOT 'manual'
        """
    /// Uses fires_by_date, and not the index that has the jobs in order.
    static let jobsAhead = """
        SELECT DISTINCT +job_id FROM fires
        WHERE coalesce(last_date_us, wall_date_us) > ?1 AND state <> 'claimed'
            AND (reason IS NULL OR \(FireReason.isOfPassedDate))
        """
    static let skippedAhead = """
        SELECT id, fire_date_us FROM fires
        WHERE job_id = ?1 AND coalesce(last_date_us, wall_date_us) > ?2 AND \(RunRow.isSkipped)
            AND \(FireReason.isOfDateToComeAgain)
        ORDER BY fire_date_us
        """
    static let skippedBeyond = """
        SELECT id, fire_date_us FROM fires
        WHERE job_id = ?1 AND \(RunRow.isSkipped)
            AND fire_date_us + coalesce(last_date_us - wall_date_us, 0) > ?2
        ORDER BY fire_date_us
        """
    private static let droppedEarly = """
        SELECT id, fire_date_us FROM fires
        WHERE job_id = ?1 AND \(RunRow.isSkipped)
            AND (reason = 'zoneChanged' OR reason = 'skip' OR reason = 'moved')
        """
    /// Uses fires_ranges, as `takenAround`.
    static let droppedAhead = """
        \(droppedEarly) AND fire_date_us >= ?3 AND fire_date_us < ?2
        UNION ALL \(droppedEarly) AND fire_date_us < min(?2, ?3) AND last_date_us IS NOT NULL
            AND fire_date_us + coalesce(last_date_us - wall_date_us, 0) >= ?3
        """
    static let extentOfDates = """
        SELECT coalesce((SELECT max(fire_date_us) FROM fires WHERE job_id = ?1)
            - (SELECT min(fire_date_us) FROM fires WHERE job_id = ?1), 0)
        """
    static let shiftDates = "UPDATE fires SET fire_date_us = fire_date_us + ?2 WHERE job_id = ?1"
    static let shiftDatesAway = """
        UPDATE fires SET fire_date_us = -(fire_date_us + ?2) WHERE job_id = ?1
        """
    static let shiftDatesBack = """
        UPDATE fires SET fire_date_us = -fire_date_us WHERE job_id = ?1 AND fire_date_us < 0
        """
    private static let moved = """
        SELECT fire_date_us FROM fires WHERE job_id = ?1 AND reason = 'moved'
        """
    static let movedAround = """
        SELECT * FROM (
            \(moved) AND fire_date_us > ?2 AND fire_date_us < ?3 ORDER BY fire_date_us LIMIT 1
        )
        UNION ALL SELECT * FROM (
            \(moved) AND fire_date_us <= ?2 ORDER BY fire_date_us DESC LIMIT 1
        )
        """
    static let shorten = "UPDATE fires SET dates = ?2, last_date_us = ?3 WHERE id = ?1"
}

/// What a row's reason is, as conditions of SQL: they hold for one that this version does not know, too. Not a list of words,
/// for which SQLite builds a table.
extension FireReason {
    /// `comesAgain`.
    static let isOfDateToComeAgain = isNone { !$0.comesAgain }
    /// `isOfPassedDate`.
    static let isOfPassedDate = isNone { !$0.isOfPassedDate }

    private static func isNone(of isMeant: (Self) -> Bool) -> String {
        "(\(allCases.filter(isMeant).map { "reason <> '\($0.rawValue)'" }.joined(separator: " AND ")))"
    }
}
