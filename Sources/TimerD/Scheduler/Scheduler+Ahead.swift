// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import TimerControl

/// Events whose next dates are claimed already: they go on without waiting for the store.
extension Scheduler {
    /// Begins the fire of an event, and goes on with the next date at once if that is claimed.
    func beginEvent(_ entry: ArmedJob, _ claim: StoredJob.Claim) {
        let id = entry.job.id
        let next = entry.job.movedOn(at: clock.now())
        let isBehind = goneAhead.contains(id)
        let going = GoingOn(
            depth: ClaimDepth.depth(
                of: entry.job,
                armed: armed.count(of: entry.job.ownerID),
                isLate: entry.hasWaited || turns.isBehind(entry.job.owner.uid)
            ),
            isBehind: isBehind,
            dropsAhead: next == nil && entry.job.ahead?.isEmpty == false
        )
        var entry = entry
        if next != nil || isBehind || going.dropsAhead {
            let fires = entry.job.fires + 1
            entry.job.told = goneAhead.number(recordOf: id, fires: fires, waits: going.dropsAhead)
        }
        if let next { armed.moveOn(to: next) } else { armed.remove(id) }
        let end = next == nil && !isBehind ? entry.job.endWithItsFire(at: clock.now()) : nil
        begin(entry, claim, going, end: end)
        if next != nil { arm(id) }
        guard end != nil else { return }
        // The scheduler does not hear of the store's answer to such an end (`StoreOutcome.isNothing`), so it fills the free
        // place now.
        loadWindowIfDue()
        announceLoadDate()
    }

    /// The job for a record that decides what comes next: until that record is answered, no older answer arms
    /// the job.
    func awaitingStore(_ job: StoredJob) -> StoredJob {
        var job = job
        if goneAhead.contains(job.id) {
            job.ahead = nil
            job.told = goneAhead.number(recordOf: job.id, fires: job.fires, waits: true)
        }
        return job
    }
}
