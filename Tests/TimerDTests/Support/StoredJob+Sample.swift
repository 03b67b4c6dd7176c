// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import TimerD

extension StoredJob {
    /// A job that was added at `TestScheduler.start`, with its first date claimed, as the store would
    /// give it.
    static func sample(
        _ words: ScheduleWords = ScheduleWords(every: "10s"),
        id: Int64 = 1,
        of uid: UInt32 = 0,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) throws -> StoredJob {
        var definition = JobDefinition(schedule: words)
        change(&definition)
        let moment = ClockReading(elapsed: TestScheduler.start, wallOffset: .zero)
        let new = try NewJob(definition, owner: uid, at: moment, zone: .utc)
        return StoredJob(
            id: JobID(rawValue: id),
            owner: new.owner,
            ownerID: OwnerID(rawValue: Int64(uid)),
            state: .scheduled,
            clock: new.clock,
            schedule: new.schedule,
            fireDate: new.firstFireDate,
            movedFrom: nil,
            claim: StoredJob.Claim(fire: FireID(rawValue: id), missed: 0),
            fires: 0,
            rowsSinceTrim: 0,
            addedAt: moment.wall,
            endedAt: nil,
            endReason: nil,
            definition: new.definition,
            policy: new.policy
        )
    }
}

extension Timestamp {
    /// So long after `TestScheduler.start`.
    static func start(_ seconds: Double) -> Timestamp {
        TestScheduler.start + TimeSpan(microseconds: Int64(seconds * 1_000_000))
    }
}
