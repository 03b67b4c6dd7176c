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
        let untold = try await write { writer in
            try writer.forgetUnusedZoneRules()
            try writer.lookAtZones()
            return try EventLog(writer.database).outbox()
        }
        tell(untold)
        return try await write { writer in
            let recovered = try writer.recover()
            // In the same write: no fire of these jobs is to begin while this is on its way.
            try writer.followClockBack()
            let isAnyHeld = try writer.heldCount() > 0 || !writer.owners.others().isEmpty
            return (recovered, tied: try writer.tiedJobs(), isAnyHeld: isAnyHeld)
        } durable: { scheduler, settled in
            scheduler.takeUp(settled.0, tied: settled.tied)
            // Nobody waits for the user database here; a command asks it before each start.
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

    /// Keeps jobs busy with what the daemon before this one left running or waiting of them.
    func takeOver(_ recovered: Recovered) {
        endOrphans(of: recovered)
        for (fire, wait) in recovered.waiting { fires.insert(fire, .waiting(wait)) }
    }

    /// Begins what may begin of it, oldest first.
    func goOn(with recovered: Recovered) {
        for (fire, _) in recovered.waiting { goOn(fire.id) }
        for left in recovered.running { goOn(left.fire.id) }
    }

    /// Ends what outlived the daemon before this one; until then its jobs are busy, and what is to be
    /// run again waits.
    private func endOrphans(of recovered: Recovered) {
        let daemon = geteuid()
        let unknown = recovered.running.filter { $0.process == nil }.map { left in
            (left.run.rawValue, daemon == 0 ? left.job.owner.uid : daemon)
        }
        let found = runner.orphans(
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
            // What it writes is lost; who reads along waits for its end.
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

    /// Nothing is left of a run that the end of the daemon before this one interrupted: stores that, with
    /// what follows it, and sees to it.
    private func interrupted(_ left: LeftRun, _ survivors: [Int32] = []) {
        let (next, moment) = (left.next, clock.now())
        log.notice("a run was interrupted", metadata: metadata(of: left.run, left.job))
        tell(of: survivors, of: left.run, left.job)
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
    func settle() async {
        // try?: whoever asks reads what is stored; that more could not be is told elsewhere.
        try? await store.barrier()
    }

    // MARK: - The end

    /// Stops claiming and firing; waits up to `drainTime` for runs, then ends them; gives back
    /// what was claimed and not carried out.
    func stop(drainTime: Duration) async {
        isStopping = true
        let unstarted = Set(armed.all.compactMap(\.unstartedFire))
        for entry in armed.all { entry.timer?.invalidate() }
        armed.removeAll()
        turnTimer?.invalidate()
        // What was asked for before may still come, and is put back as it does.
        await settle()
        takeAll()
        for entry in fires.all {
            if case .ready(let command) = entry.state { putBack(command) }
        }
        await drain(drainTime)
        do {
            // What was under way before has its numbers then, and none is given after it.
            await settle()
            takeAll()
            let numbersUsed = numbers.next
            try await write { writer in
                for fire in unstarted { try writer.unprepare(fire) }
                try writer.releaseClaims()
                try DaemonState.write(writer.moment, to: writer.database)
                // No number was given beyond this one: the next daemon leaves none out.
                try DaemonState.write(eventSequenceEnd: numbersUsed, to: writer.database)
            }
        } catch {
            // The store has told of its trouble; the claims are settled at the next start.
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
            // The last run may have ended on the way here, where a task prefers an executor.
            resumeIfIdle()
        }
        deadline.cancel()
    }

    /// Begins to end all runs; returns how long that may take, where it can be done.
    private func endRuns() -> Duration {
        isEndingRuns = true
        let commands = fires.all.compactMap(\.command)
        for command in commands { command.task?.cancel() }
        // Once for the run's own process, once for what it has left behind.
        let longest = commands.map(\.job.policy.run.teardown.length).max() ?? .zero
        return longest * 2 + .seconds(2)
    }

    /// Stops although runs are in progress that their owners may not end: the next daemon finds them.
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
