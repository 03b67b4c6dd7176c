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
        job_definitions.revision, jobs.maintenance
        """
    /// The same, but of userInfo only whether there is one: it may be 64 KiB, on pages of its own.
    static let columnsWithoutUserInfo = columns.replacing(
        "job_definitions.user_info",
        with: "nullif(job_definitions.user_info IS NOT NULL, 0)"
    )
    /// A left join, so that SQLite can only go from a job to its owner.
    static let source = """
        jobs JOIN job_definitions ON job_definitions.job_id = jobs.id
            LEFT JOIN owners ON owners.id = jobs.owner_id
        """

    /// The job; if this version cannot read it, what can be read of it, with the reason.
    ///
    /// - Throws: for a row whose job number cannot be read.
    static func job(from row: borrowing Row) throws -> StoredJob {
        let id: JobID = try row.get(0)
        do {
            let text: String = try row.get(11)
            // A number stands for a userInfo that was not read.
            let isUnread = row.ifReadable(12, as: Int.self) != nil
            let userInfo: String? = isUnread ? nil : try row.get(12)
            guard let addedAt = try row.date(10) else {
                throw StoreError.unreadable("no date of its adding")
            }
            let anchor = try row.date(4)
            let claim: FireID? = try row.get(6)
            var definition = try definition(from: text)
            let rules: ZoneRulesID? = try row.get(21)
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
            return StoredJob(
                id: id,
                owner: Owner(uid: try row.get(15), name: try row.get(16)),
                ownerID: try row.get(1),
                state: try row.get(2),
                clock: try row.get(3),
                schedule: schedule,
                fireDate: try row.date(5),
                movedFrom: try row.date(13),
                claim: claim.map { StoredJob.Claim(fire: $0, missed: 0, isPast: true) },
                fires: try row.get(7),
                rowsSinceTrim: try row.get(14),
                addedAt: addedAt,
                endedAt: try row.date(8),
                endReason: try row.get(9),
                definition: definition,
                revision: try row.get(20),
                policy: policy,
                held: try row.get(17),
                storedBytes: row.byteCount(11) + (isUnread ? 0 : row.byteCount(12)),
                hasUnreadUserInfo: isUnread,
                ahead: claim == nil ? [] : nil,
                rules: rules,
                definitionRevision: try row.get(22),
                isInMaintenance: try row.get(23)
            )
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
        let fireDate: Timestamp? = row.ifReadable(5)
        var definition = JobDefinition(schedule: ScheduleWords())
        definition.name = row.ifReadable(18)
        let claim: FireID? = row.ifReadable(6)
        return StoredJob(
            id: id,
            owner: Owner(uid: row.ifReadable(15) ?? .max, name: row.ifReadable(16)),
            ownerID: row.ifReadable(1) ?? .nobody,
            state: row.ifReadable(2) ?? .scheduled,
            clock: row.ifReadable(3) ?? .wall,
            schedule: fireDate.map { .once($0) } ?? .reboot,
            fireDate: fireDate,
            movedFrom: nil,
            claim: claim.map { StoredJob.Claim(fire: $0, missed: 0, isPast: true) },
            fires: row.ifReadable(7) ?? 0,
            rowsSinceTrim: 0,
            addedAt: row.ifReadable(10) ?? .distantPast,
            endedAt: row.ifReadable(8),
            endReason: row.ifReadable(9),
            definition: definition,
            revision: row.ifReadable(20) ?? 1,
            policy: JobPolicy(),
            held: row.ifReadable(17),
            unread: StoredJob.Unread(
                reason: "it cannot be read: \(reason)",
                definition: row.ifReadable(11) ?? "",
                anchor: row.ifReadable(4),
                movedFrom: row.ifReadable(13),
                dueDate: row.ifReadable(19),
                rowsSinceTrim: row.ifReadable(14) ?? 0
            ),
            storedBytes: row.byteCount(11),
            definitionRevision: row.ifReadable(22) ?? 1,
            isInMaintenance: row.ifReadable(23) ?? false
        )
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
