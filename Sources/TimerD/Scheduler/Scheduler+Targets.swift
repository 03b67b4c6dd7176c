// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import TimerControl

extension Scheduler {
    /// Ties the life of a job to a process that `targets` holds for it.
    func tie(_ job: JobID, to process: ProcessIdentity, of owner: UInt32) {
        targets.tie(job, to: process, for: owner) { [self] in
            loop.perform { self.assumeIsolated { $0.targetGone(job) } }
        }
    }

    /// Ties the life of a job to a client's connection.
    nonisolated func tie(_ job: JobID, to connection: ConnectionLife) {
        connection.onEnd { [self] in
            loop.perform { self.assumeIsolated { $0.targetGone(job) } }
        }
    }

    /// Ends a job whose target has gone; it begins no further fire.
    func targetGone(_ id: JobID) {
        guard !isStopping else { return }
        untied[id] = nil
        let entry = disarm(id)
        let unstarted = Set(
            [entry?.unstartedFire].compactMap(\.self)
                + fires.begun(of: id).filter(\.isUnstarted).map(\.fire.id)
        )
        // Held until this is stored: the answer to an earlier record may arm the job once more.
        let (selection, caller) = (JobSelection.ids([id]), Caller(.root, isAdministrator: true))
        fireLocks.hold(selection, caller: caller)
        record(of: entry?.job, unstarted: unstarted) {
            try $0.endWithTarget(id)
        } durable: { scheduler, _ in
            scheduler.fireLocks.release(selection, caller: caller)
        } dropped: { scheduler, _ in
            // Its tie is still stored: the next daemon ends it.
            scheduler.fireLocks.release(selection, caller: caller)
        }
    }

    /// Ties jobs to their targets again, after a start; ends those whose target has gone.
    ///
    /// Jobs for which no descriptor is free go on untied, and are tied when one is.
    func tieAgain(_ tied: [TiedJob]) {
        for tied in tied {
            guard tied.process != nil else {
                // It was tied to a connection of the daemon before, or to a process of an earlier boot.
                targetGone(tied.job)
                continue
            }
            untied[tied.job] = tied
        }
        guard let error = tieUntied() else { return }
        log.warning(
            "jobs cannot be tied to their processes yet, and go on",
            metadata: ["jobs": "\(untied.count)", "error": "\(error)"]
        )
    }

    /// Tries again to tie the untied jobs; returns why some are still untied.
    @discardableResult
    func tieUntied() -> TargetWatch.Refusal? {
        guard !untied.isEmpty, !isStopping else { return nil }
        // Registered first, as a descriptor may be freed while this goes on.
        targets.onNextFree { [self] in
            loop.perform { self.assumeIsolated { _ = $0.tieUntied() } }
        }
        var full: Set<UInt32> = []
        var refusal: TargetWatch.Refusal?
        for tied in untied.values.sorted(by: { $0.job < $1.job }) where !full.contains(tied.owner) {
            guard let process = tied.process else { continue }
            do throws(TargetWatch.Refusal) {
                try targets.hold(process, for: tied.owner)
                untied[tied.job] = nil
                tie(tied.job, to: process, of: tied.owner)
            } catch {
                if error == .gone {
                    targetGone(tied.job)
                    continue
                }
                refusal = error
                guard case .tooMany(_, isUsers: true) = error else { return error }
                full.insert(tied.owner)
            }
        }
        return refusal
    }

    /// Ends an untied job whose process has gone; returns whether it did.
    func endIfUntiedAndGone(_ id: JobID) -> Bool {
        guard !untied.isEmpty, let process = untied[id]?.process,
            // try?: if that cannot be found out, the job goes on.
            (try? process.isThere()) == false
        else { return false }
        targetGone(id)
        return true
    }
}
