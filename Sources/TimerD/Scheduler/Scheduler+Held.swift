// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import Runner
import Schedules
import TimerControl

extension Scheduler {
    /// Looks at a piece of the held jobs, if it is time.
    func lookAtHeldIfDue() {
        if held.isDue(now: clock.now().elapsed) { lookAtHeld() }
    }

    /// Checks the owners of jobs, then whether held jobs may go on: a piece of those, or all of them.
    func lookAtHeld(all: Bool = false) {
        guard isRecovered, !isStopping, held.begin(all: all) else { return }
        // Detached: the user database may take long, and nothing here waits for it.
        Task.detached(executorPreference: pool) {
            await self.meetStrangers()
            await self.checkOwners()
            await self.storeHolds()
            await self.lookOn(all: all)
        }
    }

    private func lookOn(all: Bool) async {
        var isAnyHeld = true
        if all { held.cursor = JobID(rawValue: 0) }
        repeat {
            guard !isStopping else { break }
            // The open fires of a job with a run in progress are known here: the store leaves them for a
            // later look.
            let running = Set(held.leftOpen.filter { fires.isRunning($0) })
            let (cursor, leftOpen) = (held.cursor, held.leftOpen)
            let runner = runner.known
            do {
                let look = try await write {
                    try $0.lookAtHeld(
                        after: cursor,
                        leftOpen: leftOpen,
                        running: running,
                        runner: runner
                    )
                } durable: { scheduler, look in
                    scheduler.held.leftOpen.subtract(look.released)
                    // Here, before the store can say anything later of these jobs.
                    scheduler.adoptFires(of: look.recovered)
                    for fired in look.recovered.untoldByHand {
                        scheduler.fireByHand(fired, isRedelivery: true)
                    }
                    scheduler.goOn(with: look.recovered)
                }
                held.cursor = look.next ?? JobID(rawValue: 0)
                isAnyHeld = look.isAnyHeld
            } catch {
                // The store has reported its trouble; the next look comes in a minute.
                break
            }
        } while all && held.cursor.rawValue > 0
        isAnyHeld = isAnyHeld || !held.unstored.isEmpty || hosts.hasStrangers
        if held.ended(isAnyHeld: isAnyHeld, now: clock.now().elapsed) { lookAtHeld(all: true) }
        announceLoadDate()
    }

    /// Has the jobs held that a reader has found unreadable: no window comes upon one that has no date to come.
    nonisolated func noteUnreadable(_ jobs: [StoredJob]) {
        let ids = jobs.filter { $0.unread != nil && $0.held == nil && $0.state.isLive }.map(\.id)
        guard !ids.isEmpty else { return }
        perform { $0.holdUnreadable(ids) }
    }

    private func holdUnreadable(_ ids: [JobID]) {
        guard isRecovered, !isStopping else { return }
        record { try $0.holdUnreadable(ids) }
    }

    /// Handles a record that can never be stored: holds its job, as what is known here is not what is stored.
    ///
    /// At a later look the job goes on from what is stored. Its places are given back, so that no other job
    /// waits for them.
    func recordDropped(of job: JobID?, _ error: any Error) {
        var facts: Logger.Metadata = ["error": "\(error)"]
        facts["job"] = job.map { "\($0)" }
        counters.countDropped()
        log.critical("a record was dropped", metadata: facts)
        if let job { hold(job, dropped: error) }
    }

    /// Holds a job of which a record was dropped, until a look finds that it may go on.
    ///
    /// If the job has ended, the next daemon recovers its open fires.
    func hold(_ job: JobID, dropped error: any Error) {
        disarm(job)
        withdrawFires(of: job)
        held.leftOpen.insert(job)
        let reason = "what became of it could not be stored: \(error)"
        record {
            try $0.hold(job, reason)
        } dropped: { scheduler, _ in
            scheduler.held.unstored[job] = reason
            scheduler.held.found(now: scheduler.clock.now().elapsed)
            scheduler.announceLoadDate()
        }
    }

    /// Stores the holds that could not be stored before.
    private func storeHolds() async {
        for (job, reason) in held.unstored where !isStopping {
            do {
                try await write { try $0.hold(job, reason) }
                held.unstored[job] = nil
            } catch {
                // Still not: the next look tries again.
                continue
            }
        }
    }

    /// Logs which jobs are held and which go on, and sets the date of the next look.
    func noteHeld(_ outboxEvents: [OutboxEvent]) {
        for event in outboxEvents.map(\.event) {
            switch event.type {
            case .jobHeld:
                held.found(now: clock.now().elapsed)
                log.warning("a job is held", metadata: metadata(of: event))
            case .jobReleased: log.notice("a held job goes on", metadata: metadata(of: event))
            default: break
            }
        }
    }

    private func metadata(of event: Event) -> Logger.Metadata {
        var facts: Logger.Metadata = ["job": "\(event.job)"]
        if let name = event.name { facts["name"] = "\(name)" }
        if let owner = event.owner { facts["owner"] = "\(owner.uid)" }
        if let reason = event.reason { facts["error"] = "\(reason)" }
        return facts
    }

    // MARK: - Owners

    /// Holds the jobs of owners whose name and uid no longer match, and releases them once they match again.
    ///
    /// `only`: this owner alone; nil for all who have live jobs. It costs a look-up for each user. A daemon
    /// that is not root's asks nothing: it has one user, its own.
    func checkOwners(_ only: Owner? = nil) async {
        guard settings.account.uid == 0 else { return }
        let known: [KnownOwner]
        do {
            known = try await write { try $0.owners.others() }
        } catch {
            // The store has reported its trouble; the next look asks again.
            return
        }
        for known in known where only.map({ $0 == known.owner }) ?? true {
            let name: String?
            do throws(StartRefusal) {
                name = try await accounts.name(of: known.owner.uid)
            } catch {
                // The name cannot be found out: that is no mismatch.
                continue
            }
            let reason = known.owner.absence(now: name, on: settings.node)
            guard reason != known.held, !isStopping else { continue }
            if let reason {
                await hold(known, reason)
            } else {
                // try?: if it cannot be stored, the next look tries again.
                _ = try? await write { try $0.owners.hold(known.id, nil) }
            }
        }
    }

    /// Checks the owner of a command that could not be started; asks the store only if name and uid do not
    /// match.
    func checkOwner(_ owner: Owner) async {
        guard settings.account.uid == 0, owner.uid != 0 else { return }
        do throws(StartRefusal) {
            let name = try await accounts.name(of: owner.uid)
            guard owner.absence(now: name, on: settings.node) != nil else { return }
        } catch {
            // The name cannot be found out: that is no mismatch.
            return
        }
        await checkOwners(owner)
    }

    /// Holds the jobs of an owner whom this one of several hosts does not know, and looks at them again: his commands that were
    /// to begin here go to a host that knows him, or wait for one.
    func lookAtOwner(_ owner: Owner) {
        held.found(now: clock.now().elapsed)
        announceLoadDate()
        Task.detached(executorPreference: pool) { await self.checkOwner(owner) }
    }

    /// Has commands begin here again whose owners this host did not know: they may have been added since.
    private func meetStrangers() {
        if hosts.forgetStrangers() { beginAgain() }
    }

    /// Whether an owner whom the store has as gone is back; the owner's held jobs go on then.
    func isBack(_ owner: Owner) async -> Bool {
        // try?: where the name cannot be found out the refusal stands.
        guard settings.account.uid == 0, let name = try? await accounts.name(of: owner.uid),
            owner.absence(now: name, on: settings.node) == nil
        else { return false }
        do {
            try await write {
                let id = try $0.owners.id(of: owner)
                if try $0.owners.held(id) != nil { try $0.owners.hold(id, nil) }
            }
        } catch {
            // The store has reported its trouble.
            return false
        }
        lookAtHeld(all: true)
        return true
    }

    /// Holds all live jobs of an owner, in pieces; none of them begins a fire from here on.
    private func hold(_ known: KnownOwner, _ reason: String) async {
        fireLocks.hold(known.owner)
        let own = armed.ids(of: known.id).compactMap { armed[$0] }
        for entry in own { armed.stopTimer(of: entry.job.id) }
        let unstarted = Set(own.compactMap(\.unstartedFire))
        var cursor: JobID? = JobID(rawValue: 0)
        while let after = cursor, !isStopping {
            do {
                cursor = try await write(unstarted: unstarted) {
                    try $0.holdJobs(of: known, after: after, reason)
                }
            } catch {
                // The store has reported its trouble; the next look holds the rest.
                break
            }
        }
        fireLocks.release(known.owner)
        for entry in own { arm(entry.job.id) }
        goOnAll()
    }
}

extension Owner {
    /// Why its jobs are held; nil if the uid still has its name.
    ///
    /// `now`: the uid's present name, nil if there is no such user. `node`: the one that asks, of several; another host may
    /// know the user, who is not gone then.
    func absence(now name: String?, on node: String?) -> String? {
        guard name ?? String(uid) != self.name else { return nil }
        let owner = "'\(self.name)' (uid \(uid))"
        let state = "uid \(uid) is " + (name.map { "'\($0)'" } ?? "nobody's")
        guard let node else { return "\(owner), who is gone: \(state) now" }
        return "\(owner), whom the host of '\(node)' does not know: \(state) there;"
            + " add the user there, or have a node lead whose host knows him"
    }
}
