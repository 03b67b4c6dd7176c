// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

/// docs/protocol.md, `job.fire`: what a fire by hand finds in progress, and the job's `overlap`.
@Suite("BusyJob") struct BusyJobTests {
    private static func job(_ overlap: JobDefinition.Overlap) -> StoredJob {
        var policy = JobPolicy()
        policy.run.overlap = overlap
        return StoredJob(
            id: JobID(rawValue: 7),
            owner: .root,
            ownerID: OwnerID(rawValue: 0),
            state: .scheduled,
            clock: .elapsed,
            schedule: .once(Timestamp(microseconds: 0)),
            fires: 0,
            rowsSinceTrim: 0,
            addedAt: Timestamp(microseconds: 0),
            definition: JobDefinition(schedule: ScheduleWords()),
            policy: policy
        )
    }

    @Test(
        "By the job's overlap it begins beside that, waits for it, or is refused",
        arguments: [
            (.allow, false, false), (.allow, true, false),
            (.replace, false, true), (.replace, true, true),
            (.queue, false, true), (.queue, true, nil),
            (.skip, false, nil), (.skip, true, nil),
        ] as [(JobDefinition.Overlap, Bool, Bool?)]
    )
    func overlap(overlap: JobDefinition.Overlap, isQueued: Bool, waits: Bool?) {
        let busy = BusyJob(run: RunID(rawValue: 3), isInProgress: true, isQueued: isQueued)
        do {
            #expect(try busy.mustWait(Self.job(overlap)) == waits)
        } catch {
            #expect(waits == nil)
            #expect("\(error)".contains("job 7 is running (run 3)"))
        }
    }

    @Test("The refusal says what is in progress: a run, or what is still to begin")
    func words() {
        let refusal = #expect(throws: OverlapRefusal.self) {
            try BusyJob(isInProgress: true, isQueued: false).mustWait(Self.job(.skip))
        }
        #expect(
            refusal?.message
                == "job 7 waits for a place, for its start, or for its next attempt; its runs do not overlap"
        )
    }
}
