// SPDX-License-Identifier: Apache-2.0

import CSQLite
import SQLite
import Schedules
import TimerControl

/// Rows of `jobs` with their `job_definitions`, as values and back.
enum JobRow {
    /// What `job(from:)` reads, in its order; after `SELECT`.
    static let columns = """
        jobs.id, jobs.owner_id, jobs.state, jobs.clock, jobs.anchor_us, jobs.fire_date_us,
        jobs.claim_id, jobs.fires, jobs.ended_at_us, jobs.end_reason,
        job_definitions.added_at_us, job_definitions.definition, job_definitions.user_info,
        jobs.moved_from_us, jobs.rows_since_trim, owners.uid, owners.name, jobs.held,
        job_definitions.name, jobs.due_us, jobs.revision, jobs.zone_rules_id,
        job_definitions.revision, jobs.maintenance, jobs.undo_uid
        """
    /// `columns` with only whether there is a userInfo: it may be 64 KiB, on pages of its own.
    static let columnsWithoutUserInfo = columns.replacing(
        "job_definitions.user_info",
        with: "nullif(job_definitions.user_info IS NOT NULL, 0)"
    )
    /// A left join, so that SQLite can only go from a job to its owner.
    static let source = """
        jobs JOIN job_definitions ON job_definitions.job_id = jobs.id
            LEFT JOIN owners ON owners.id = jobs.owner_id
        """

    /// Where each value stands in `columns`.
    private enum Column {
        static let id = 0
        static let ownerID = 1
        static let state = 2
        static let clock = 3
        static let anchor = 4
        static let fireDate = 5
        static let claim = 6
        static let fires = 7
        static let endedAt = 8
        static let endReason = 9
        static let addedAt = 10
        static let definition = 11
        static let userInfo = 12
        static let movedFrom = 13
        static let rowsSinceTrim = 14
        static let ownerUID = 15
        static let ownerName = 16
        static let held = 17
        static let name = 18
        static let dueDate = 19
        static let revision = 20
        static let rules = 21
        static let definitionRevision = 22
        static let maintenance = 23
        static let endedBy = 24
    }

    /// The job; if this version cannot read it, what can be read of it, with the reason.
    ///
    /// - Throws: for a row whose job number cannot be read.
    static func job(from row: borrowing Row) throws -> StoredJob {
        let id: JobID = try row.get(Column.id)
        do {
            let text: String = try row.get(Column.definition)
            // A number stands for a userInfo that was not read.
            let isUnread = row.ifReadable(Column.userInfo, as: Int.self) != nil
            let userInfo: String? = isUnread ? nil : try row.get(Column.userInfo)
            guard let addedAt = try row.date(Column.addedAt) else {
                throw StoreError.unreadable("no date of its adding")
            }
            let anchor = try row.date(Column.anchor)
            let claim: FireID? = try row.get(Column.claim)
            var definition = try definition(from: text)
            let rules: ZoneRulesID? = try row.get(Column.rules)
            let schedule = try definition.schedule.schedule(
                anchor: anchor ?? addedAt,
                zone: .local,
                rules: rules.flatMap(KnownZoneRules.zone)
            )
            let policy = try JobPolicy(definition, now: addedAt, zone: .local)
            definition.userInfo = try userInfo.map { text in
                guard let userInfo = JSONText(stored: text) else {
                    throw StoreError.unreadable("userInfo that is no JSON")
                }
                return userInfo
            }
            var job = StoredJob(
                id: id,
                owner: Owner(
                    uid: try row.get(Column.ownerUID),
                    name: try row.get(Column.ownerName)
                ),
                ownerID: try row.get(Column.ownerID),
                state: try row.get(Column.state),
                clock: try row.get(Column.clock),
                schedule: schedule,
                fireDate: try row.date(Column.fireDate),
                movedFrom: try row.date(Column.movedFrom),
                claim: claim.map { StoredJob.Claim(fire: $0, missed: 0, isPast: true) },
                fires: try row.get(Column.fires),
                rowsSinceTrim: try row.get(Column.rowsSinceTrim),
                addedAt: addedAt,
                endedAt: try row.date(Column.endedAt),
                endReason: try row.get(Column.endReason),
                definition: definition,
                revision: try row.get(Column.revision),
                policy: policy,
                held: try row.get(Column.held),
                storedBytes: row.byteCount(Column.definition)
                    + (isUnread ? 0 : row.byteCount(Column.userInfo)),
                hasUnreadUserInfo: isUnread,
                ahead: claim == nil ? [] : nil,
                rules: rules,
                definitionRevision: try row.get(Column.definitionRevision),
                isInMaintenance: try row.get(Column.maintenance)
            )
            job.endedBy = row.ifReadable(Column.endedBy)
            return job
        } catch let error as ControlError {
            return unread(id, row, error.message)
        } catch let error as ScheduleError {
            return unread(id, row, error.message)
        } catch {
            return unread(id, row, "\(error)")
        }
    }

    /// Reads a definition; refuses one with a field of a newer version, because it means more than this one
    /// understands.
    private static func definition(from text: String) throws -> JobDefinition {
        if let definition = JobDefinition(quickly: text) { return definition }
        let value = try JSONValue(parsing: text)
        let definition = try value.decoded(as: JobDefinition.self)
        if case .object(let members) = value,
            let field = JobDefinition.unknownField(in: members)
        {
            throw StoreError.unreadable("its field '\(field)' is of a newer version")
        }
        return definition
    }

    /// What can be read of an unreadable job: enough to show it, to hold it and to end it.
    private static func unread(_ id: JobID, _ row: borrowing Row, _ reason: String) -> StoredJob {
        let fireDate: Timestamp? = row.ifReadable(Column.fireDate)
        var definition = JobDefinition(schedule: ScheduleWords())
        definition.name = row.ifReadable(Column.name)
        let claim: FireID? = row.ifReadable(Column.claim)
        var job = StoredJob(
            id: id,
            owner: Owner(
                uid: row.ifReadable(Column.ownerUID) ?? .max,
                name: row.ifReadable(Column.ownerName)
            ),
            ownerID: row.ifReadable(Column.ownerID) ?? .nobody,
            state: row.ifReadable(Column.state) ?? .scheduled,
            clock: row.ifReadable(Column.clock) ?? .wall,
            schedule: fireDate.map { .once($0) } ?? .reboot,
            fireDate: fireDate,
            movedFrom: nil,
            claim: claim.map { StoredJob.Claim(fire: $0, missed: 0, isPast: true) },
            fires: row.ifReadable(Column.fires) ?? 0,
            rowsSinceTrim: 0,
            addedAt: row.ifReadable(Column.addedAt) ?? .distantPast,
            endedAt: row.ifReadable(Column.endedAt),
            endReason: row.ifReadable(Column.endReason),
            definition: definition,
            revision: row.ifReadable(Column.revision) ?? 1,
            policy: JobPolicy(),
            held: row.ifReadable(Column.held),
            unread: StoredJob.Unread(
                reason: "it cannot be read: \(reason)",
                definition: row.ifReadable(Column.definition) ?? "",
                anchor: row.ifReadable(Column.anchor),
                movedFrom: row.ifReadable(Column.movedFrom),
                dueDate: row.ifReadable(Column.dueDate),
                rowsSinceTrim: row.ifReadable(Column.rowsSinceTrim) ?? 0
            ),
            storedBytes: row.byteCount(Column.definition),
            definitionRevision: row.ifReadable(Column.definitionRevision) ?? 1,
            isInMaintenance: row.ifReadable(Column.maintenance) ?? false
        )
        job.endedBy = row.ifReadable(Column.endedBy)
        return job
    }
}

/// A row that cannot be read as what it should be.
enum StoreError: Error, CustomStringConvertible {
    case unreadable(String)

    var description: String {
        switch self {
        case .unreadable(let what): "the database holds what this version cannot read: \(what)"
        }
    }
}

extension DatabaseError {
    /// Whether a column holds a value of another type, or an unknown word.
    var isUnreadableValue: Bool { code == SQLITE_MISMATCH }
}
