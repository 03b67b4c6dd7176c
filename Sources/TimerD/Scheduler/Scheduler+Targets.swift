// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import TimerControl

extension Scheduler {
    /// Ties a job that has been added to its process, which `targets` holds for it, or to `life`.
    ///
    /// One that was there by its key stays as it is, whatever was asked for.
    func tie(_ job: StoredJob, addedAs new: NewJob, by life: ConnectionLife?) {
        let (isNew, user) = (!job.isExisting && job.state.isLive, new.owner.uid)
        if let process = new.process {
            guard isNew else { return targets.release(process, for: user) }
            tie(job.id, to: process, of: user)
        } else if isNew, new.definition.whileConnected == true, let life {
            tie(job.id, to: life, of: user)
        }
    }

    /// Ties the life of a job to a process that `targets` holds for it.
    private func tie(_ job: JobID, to process: ProcessIdentity, of user: UInt32) {
        targets.tie(job, to: process, for: user) { [weak self] jobs in
            self?.perform { $0.targetGone(of: jobs) }
        }
    }

    /// Ties the life of a job to a client's connection.
    private func tie(_ job: JobID, to connection: ConnectionLife, of user: UInt32) {
        guard tiedJobs.tie(job, of: user, to: connection) else { return }
        connection.onEnd { [self] in
            perform { $0.targetGone(of: $0.tiedJobs.end(connection)) }
        }
    }

    /// Ends the jobs whose target has gone; none of them begins a further fire.
    ///
    /// `jobs`: with their users.
    private func targetGone(of jobs: [JobID: UInt32]) {
        guard !isStopping else { return }
        let users = Dictionary(grouping: jobs.keys.sorted()) { jobs[$0] ?? 0 }
        for (user, jobs) in users.sorted(by: { $0.key < $1.key }) {
            // Held until that is stored: the answer to an earlier record may arm a job once more.
            fireLocks.hold(.ids(jobs), caller: Self.itself)
            for job in jobs {
                untied[job] = nil
                armed.stopTimer(of: job)
            }
            endTied(jobs[...], of: user)
        }
    }

    /// Ends the next jobs of a user whose target has gone, `size` at once.
    ///
    /// Those after them follow once that is durable, behind the writes that came in between. `unstarted`: what is known of
    /// that already.
    private func endTied(
        _ jobs: ArraySlice<JobID>,
        of user: UInt32,
        size: Int = SaidByStore.slice,
        unstarted known: Set<FireID> = []
    ) {
        // At a stop their ties are still stored: the next daemon ends them.
        guard !jobs.isEmpty, !isStopping else { return }
        let (piece, rest) = (Array(jobs.prefix(size)), jobs.dropFirst(size))
        var unstarted = known
        for id in piece {
            if let fire = disarm(id)?.unstartedFire { unstarted.insert(fire) }
            unstarted.formUnion(fires.begun(of: id).filter(\.isUnstarted).map(\.fire.id))
        }
        record(about: user, unstarted: unstarted) {
            for id in piece { try $0.endWithTarget(id) }
        } durable: { scheduler, _ in
            scheduler.letGo([.ids(piece)], caller: Self.itself)
            scheduler.endTied(rest, of: user, size: size, unstarted: known)
        } dropped: { [unstarted] scheduler, error in
            if piece.count > 1 {
                // Which of them it is shows if each is ended alone.
                scheduler.endTied(piece[...], of: user, size: 1, unstarted: unstarted)
            } else {
                // The job's tie is still stored: the next daemon ends the job.
                for id in piece { scheduler.hold(id, dropped: error) }
                scheduler.letGo([.ids(piece)], caller: Self.itself)
            }
            scheduler.endTied(rest, of: user, size: size, unstarted: known)
        }
    }

    /// Who holds the jobs that are ended so.
    private static let itself = Caller(.root, isAdministrator: true)

    /// Ties jobs to their targets again, after a start; ends those whose target has gone.
    ///
    /// Jobs for which no descriptor is free go on untied, and are tied when one is.
    func tieAgain(_ tied: [TiedJob]) {
        var gone: [JobID: UInt32] = [:]
        for tied in tied {
            guard tied.process != nil else {
                // It was tied to a connection of the daemon before, or to a process of an earlier boot.
                gone[tied.job] = tied.owner
                continue
            }
            untied[tied.job] = tied
        }
        targetGone(of: gone)
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
        targets.onNextFree { [weak self] in
            self?.perform { _ = $0.tieUntied() }
        }
        var gone: [JobID: UInt32] = [:]
        defer { targetGone(of: gone) }
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
                    gone[tied.job] = tied.owner
                    continue
                }
                refusal = error
                // Other users' jobs may still be tied: each user has a share, and administrators have some that nobody else
                // gets.
                if case .system = error { return error }
                full.insert(tied.owner)
            }
        }
        return refusal
    }

    /// Ends an untied job whose process has gone; returns whether it did.
    func endIfUntiedAndGone(_ id: JobID) -> Bool {
        guard !untied.isEmpty, let tied = untied[id],
            // try?: if that cannot be found out, the job goes on.
            (try? tied.process?.isThere()) == false
        else { return false }
        targetGone(of: [id: tied.owner])
        return true
    }
}
