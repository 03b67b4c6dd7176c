// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Rows of `jobs` with their `job_definitions`, as values and back.
enum JobRow {
    /// What `job(from:)` reads, in its order; after `SELECT`.
    static let columns = """
        jobs.id, jobs.owner_id, jobs.state, jobs.clock, jobs.anchor_us, jobs.fire_date_us,
        jobs.claim_id, jobs.fires, jobs.ended_at_us, jobs.end_reason,
        job_definitions.added_at_us, job_definitions.definition, job_definitions.user_info,
        jobs.moved_from_us, jobs.uncut, owners.uid, owners.name
        """
    /// A left join leaves no other order than from a job to its owner.
    static let source = """
        jobs JOIN job_definitions ON job_definitions.job_id = jobs.id
            LEFT JOIN owners ON owners.id = jobs.owner_id
        """

    /// - Throws: `StoreError.unreadable` for a row that this version did not write.
    static func job(from row: borrowing Row) throws -> StoredJob {
        let id: JobID = try row.get(0)
        let text: String = try row.get(11)
        let userInfo: String? = try row.get(12)
        let addedAt: Timestamp = try row.get(10)
        let anchor: Timestamp? = try row.get(4)
        let claim: FireID? = try row.get(6)
        do {
            var definition = try JSONText.decode(JobDefinition.self, from: text)
            let schedule = try definition.schedule.schedule(anchor: anchor ?? addedAt, zone: .local)
            let policy = try JobPolicy(definition, now: addedAt, zone: .local)
            definition.userInfo = try userInfo.map {
                try JSONValue(parsing: $0)
            }
            return StoredJob(
                id: id,
                owner: Owner(uid: try row.get(15), name: try row.get(16)),
                ownerID: try row.get(1),
                state: try row.get(2),
                clock: try row.get(3),
                schedule: schedule,
                fireDate: try row.get(5),
                movedFrom: try row.get(13),
                claim: claim.map { StoredJob.Claim(fire: $0, missed: 0, isSettled: true) },
                fires: try row.get(7),
                uncut: try row.get(14),
                addedAt: addedAt,
                endedAt: try row.get(8),
                endReason: try row.get(9),
                definition: definition,
                policy: policy
            )
        } catch {
            throw StoreError.unreadable("job \(id): \(error)")
        }
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

/// JSON as the store keeps it: text with sorted keys, so that equal values are equal bytes.
enum JSONText {
    static func encode(_ value: some Encodable) throws -> String {
        try JSONValue(encoding: value).jsonText
    }

    static func decode<T: Decodable>(_ type: T.Type, from text: String) throws -> T {
        try JSONValue(parsing: text).decoded(as: type)
    }
}
