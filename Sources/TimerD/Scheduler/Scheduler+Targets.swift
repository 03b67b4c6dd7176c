// SPDX-License-Identifier: Apache-2.0

import TimerControl

extension Scheduler {
    /// Ties the life of a job to a process.
    func tie(_ job: JobID, to process: Orphan) {
        targets.watch(process, for: job) { [self] in
            loop.perform { self.assumeIsolated { $0.targetGone(job) } }
        }
    }

    /// Ties the life of a job to a client's connection.
    nonisolated func tie(_ job: JobID, to connection: ConnectionLife) {
        connection.onEnd { [self] in
            loop.perform { self.assumeIsolated { $0.targetGone(job) } }
        }
    }

    /// What a job's life was tied to has gone: it ends, and begins no further fire.
    private func targetGone(_ id: JobID) {
        guard !isStopping else { return }
        armed.stopTimer(of: id)
        let entry = armed.remove(id)
        let unstarted = Set([entry?.unstartedFire].compactMap(\.self))
        // What was recorded before may arm the job once more, and the store may take a while.
        let (selection, caller) = (JobSelection.ids([id]), Caller(.root, isAdministrator: true))
        holds.hold(selection, caller: caller)
        record {
            try $0.endWithTarget(id, unstarted: unstarted)
        } durable: { scheduler, _ in
            scheduler.holds.release(selection, caller: caller)
        }
    }

    /// Ties jobs to their targets again, after a start; ends those whose target has gone.
    func tieAgain(_ tied: [TiedJob]) {
        for tied in tied {
            if let process = tied.process {
                tie(tied.job, to: process)
            } else {
                // A connection does not outlive the daemon, nor a process the machine.
                targetGone(tied.job)
            }
        }
    }
}
