// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import Schedules
import TimerControl

extension Scheduler {
    /// Takes over from the daemon before this one: settles what it left half done, tells what it
    /// may not have told, and loads the first window.
    ///
    /// - Throws: why that could not be stored; then nothing has been run and nothing is armed.
    func recover() async throws -> Recovered {
        let (untold, keepsNothing) = try await write { transaction in
            try transaction.zoneRules.deleteUnused()
            try transaction.lookAtZones()
            let keepsNothing = Pruner.keepsNothing(transaction.database)
            return (try Outbox(transaction.database).events(), keepsNothing)
        }
        if keepsNothing { retention.startedWithNothing(now: clock.now().elapsed) }
        publish(untold)
        return try await write { writer in
            let recovered = try writer.recover()
            // In the same write, so that no fire of these jobs begins before it.
            try writer.followClockBack()
            let isAnyHeld = try writer.jobs.heldCount() > 0 || !writer.owners.others().isEmpty
            return (recovered, tied: try writer.jobs.tiedJobs(), isAnyHeld: isAnyHeld)
        } durable: { scheduler, settled in
            scheduler.takeUp(settled.0, tied: settled.tied)
            // Not awaited: the user database may be slow, and it is asked again before each command starts.
            if settled.isAnyHeld { scheduler.lookAtHeld(all: true) }
        }.0
    }

    /// Goes on with what was settled; nothing in here may fail.
    private func takeUp(_ recovered: Recovered, tied: [TiedJob]) {
        // Before any timer of these jobs: what is left running, or waits, keeps them busy.
        takeOver(recovered)
        held.leftOpen = recovered.leftOpen
        for fired in recovered.untoldByHand { fireByHand(fired, isRedelivery: true) }
        isRecovered = true
        tieAgain(tied)
        goOn(with: recovered)
        settleZones()
        loadWindow()
    }

    /// Takes over the fires that the daemon before this one left running or waiting; they keep their jobs
    /// busy.
    func takeOver(_ recovered: Recovered) {
        endLeftProcesses(of: recovered)
        for (fire, wait) in recovered.waiting { fires.insert(fire, .waiting(wait)) }
    }

    /// Begins what may begin of it, oldest first.
    func goOn(with recovered: Recovered) {
        for (fire, _) in recovered.waiting { goOn(fire.id) }
        for left in recovered.running { goOn(left.fire.id) }
    }

    /// Ends the processes that outlived the daemon before this one; until then their jobs are busy, and
    /// retries wait.
    private func endLeftProcesses(of recovered: Recovered) {
        let daemon = geteuid()
        let unknown = recovered.running.filter { $0.process == nil }.map { left in
            (left.run.rawValue, daemon == 0 ? left.job.owner.uid : daemon)
        }
        let found = runner.processes(
            of: Dictionary(unknown) { first, _ in first },
            socket: settings.socket
        )
        for left in recovered.running {
            let (run, job) = (left.run, left.job)
            guard let process = left.process ?? found[run.rawValue], runner.lives(process) else {
                interrupted(left)
                continue
            }
            log.notice(
                "ending a process that outlived the daemon",
                metadata: metadata(of: run, job)
                    .merging(["pid": "\(process.pid)"]) { old, _ in old }
            )
            fires.insert(left.commandFire, .left)
            // Its output is lost; a client that reads along waits for its end.
            outputs.begin(run, RunOutput())
            Task.detached(executorPreference: pool) { [runner] in
                let survivors = await runner.end(
                    process,
                    of: job.owner.uid,
                    by: job.policy.run.teardown
                )
                await self.interrupted(left, survivors)
            }
        }
    }

    /// Stores that the end of the daemon before this one interrupted a run, and what follows it; goes on with
    /// that.
    private func interrupted(_ left: LeftRun, _ survivors: [Int32] = []) {
        let (next, moment) = (left.next, clock.now())
        log.notice("a run was interrupted", metadata: metadata(of: left.run, left.job))
        logSurvivors(survivors, of: left.run, left.job)
        let ended = EndedRun(
            fire: left.fire.id,
            fireDate: left.fire.wallDate,
            attempt: left.attempt,
            isOnFailure: left.isOnFailure,
            outcome: .interrupted,
            startedAt: nil,
            endedAt: moment.wall,
            output: CapturedOutput(),
            survivors: survivors
        )
        counters.countRun(.interrupted, of: left.job, isOnFailure: left.isOnFailure)
        record(of: left.job) {
            try $0.recordFinished(left.run, of: left.job, ended, next: next)
        } durable: { scheduler, _ in
            scheduler.outputs.end(left.run)
        } dropped: { scheduler, _ in
            scheduler.outputs.end(left.run)
        }
        follow(left.commandFire, next)
    }

    /// Returns once all that was asked for before is stored, or has failed.
    func flush() async {
        // try?: the caller reads what is stored; a write that failed is reported elsewhere.
        try? await store.barrier()
    }

    // MARK: - The end

    /// Stops claiming and firing; waits up to `drainTime` for runs, then ends them; releases the claims that
    /// are left.
    func stop(drainTime: Duration) async {
        isStopping = true
        let unstarted = Set(armed.all.compactMap(\.unstartedFire))
        for entry in armed.all { entry.timer?.invalidate() }
        armed.removeAll()
        turnTimer?.invalidate()
        // Records that are under way may still make commands ready; `begun` puts those back.
        await flush()
        takeAll()
        for entry in fires.all {
            if case .ready(let command) = entry.state { putBack(command) }
        }
        await drain(drainTime)
        do {
            // After this all events have their numbers, and no further number is given.
            await flush()
            takeAll()
            let numbersUsed = sequencer.next
            try await write { writer in
                for fire in unstarted { try writer.releaseRun(of: fire) }
                try writer.releaseClaims()
                try DaemonState.write(writer.moment, to: writer.database)
                // No number from this one on was given: the next daemon goes on here, without a gap.
                try DaemonState.write(eventSequenceEnd: numbersUsed, to: writer.database)
            }
        } catch {
            // The store has reported its trouble; the claims are settled at the next start.
            return
        }
    }

    /// Lets a stop go on, once no run is in progress.
    func resumeIfIdle() {
        guard fires.running == 0 else { return }
        for waiter in idleWaiters { waiter.resume() }
        idleWaiters = []
    }

    private func drain(_ time: Duration) async {
        guard fires.running > 0 else { return }
        let deadline = Task(executorPreference: pool) {
            try await Task.sleep(for: time)
            let patience = await self.endRuns()
            try await Task.sleep(for: patience)
            await self.leaveRuns()
        }
        await withCheckedContinuation { waiter in
            idleWaiters.append(waiter)
            // The last run may have ended since the check: in a task that prefers an executor this closure
            // may run later.
            resumeIfIdle()
        }
        deadline.cancel()
    }

    /// Begins to end all runs; returns how long that may take at most.
    private func endRuns() -> Duration {
        isEndingRuns = true
        let commands = fires.all.compactMap(\.command)
        for command in commands { command.task?.cancel() }
        // Once for the run's own process, once for what it has left behind.
        let longest = commands.map(\.job.policy.run.teardown.length).max() ?? .zero
        return longest * 2 + .seconds(2)
    }

    /// Lets the stop go on with runs in progress that could not be ended: the next daemon finds them.
    private func leaveRuns() {
        for command in fires.all.compactMap(\.command) {
            log.warning(
                "a run could not be ended, leaving it to the next daemon",
                metadata: metadata(of: command.run, command.job)
            )
        }
        for waiter in idleWaiters { waiter.resume() }
        idleWaiters = []
    }
}
