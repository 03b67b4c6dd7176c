// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules

extension StoredJob {
    /// A job of root's that was added at `Timestamp.start(0)`, with its first date claimed.
    static func sample(
        _ words: ScheduleWords = ScheduleWords(every: "10s"),
        id: Int64 = 1,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) throws -> StoredJob {
        var definition = JobDefinition(schedule: words)
        change(&definition)
        let resolved = try words.resolve(now: .start(0), zone: .utc)
        return StoredJob(
            id: JobID(rawValue: id),
            owner: .root,
            ownerID: OwnerID(rawValue: 0),
            state: .scheduled,
            clock: resolved.clock,
            schedule: resolved.schedule,
            fireDate: resolved.firstFireDate,
            claim: StoredJob.Claim(fire: FireID(rawValue: id), missed: 0),
            fires: 0,
            rowsSinceTrim: 0,
            addedAt: .start(0),
            definition: definition,
            policy: try JobPolicy(definition, now: .start(0), zone: .utc)
        )
    }
}

extension Timestamp {
    /// So long after 2026-12-01 08:00 UTC.
    static func start(_ seconds: Double) -> Timestamp {
        let start = Timestamp(rfc3339: "2026-12-01T08:00:00Z") ?? .distantPast
        return start + TimeSpan(microseconds: Int64(seconds * 1_000_000))
    }
}
