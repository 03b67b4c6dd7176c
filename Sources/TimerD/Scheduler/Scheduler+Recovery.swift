// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Logging
import Runner
import Schedules
import TimerControl

extension Scheduler {
    /// Goes on where the daemon before this one stopped: decides what it left half done, tells what it
    /// may not have told, and loads the first window.
    ///
    /// `beginsNothing`: goes on with what runs, and has no fire and no command begin.
    ///
    /// - Throws: why that could not be stored; then nothing has been run and nothing is armed.
    func recover(beginsNothing: Bool = false) async throws -> Recovered {
        isStopping = beginsNothing
        let outbox = try await readOutbox()
        let known = try await attachRunners(isNeeded: beginsNothing)
        if outbox.keepsNothing { retention.startedWithNothing(now: clock.now().elapsed) }
        publish(outbox.untold)
        return try await reconcile(with: known)
    }

    /// Reads what the daemon before this one has told nobody, and whether the database holds nothing that gets too old.
    private func readOutbox() async throws -> (untold: [OutboxEvent], keepsNothing: Bool) {
        let last = sequencer.next - 1
        let (untold, givenUp, keepsNothing) = try await write { transaction in
            try transaction.zoneRules.deleteUnused()
            try transaction.lookAtZones()
            let outbox = Outbox(transaction.database)
            var givenUp: [(row: Int64, why: String)] = []
            let untold = try outbox.events {
                try outbox.giveUp($0, last: last)
                givenUp.append(($0, "\($1)"))
            }
            let keepsNothing = untold.isEmpty && Pruner.keepsNothing(transaction.database)
            return (untold, givenUp, keepsNothing)
        }
        for (row, why) in givenUp {
            log.error(
                "events that nobody was told of are lost: their row of the outbox cannot be read",
                metadata: ["row": "\(row)", "error": "\(why)"]
            )
        }
        return (untold, keepsNothing)
    }

    /// Has the runners report here, of this node and of others; returns what this node's knows.
    ///
    /// - Throws: where `isNeeded`, that it does not answer.
    private func attachRunners(isNeeded: Bool) async throws -> KnownRuns {
        let own = hosts.own
        // Weak, as is each reference that the scheduler's own parts have to it: else neither would ever be freed.
        let known = try await runner.attach { [weak self] change in
            self?.perform { $0.runnerChanged(change, of: own) }
        }
        // A start that is only to end runs can do nothing without the runner.
        if isNeeded, let silence = known.silence {
            throw RunnerUnreachable("timerd-runner does not answer: \(silence)")
        }
        if !known.isUnheard { hosts.standing.attached(known.epoch) }
        runner.attachOthers { [weak self] node, change in
            self?.perform { $0.runnerChanged(change, of: node) }
        }
        return known
    }

    /// Stores how each open fire goes on, by the runs that are known, and goes on with them.
    private func reconcile(with known: KnownRuns) async throws -> Recovered {
        try await write { writer in
            // First, so that nothing of them is decided.
            let tied = try writer.holdUnreadTargets(writer.jobs.tiedJobs())
            let recovered = try writer.recover(known)
            // While no daemon ran, no worker could extend its lease.
            try writer.tasks.renewLeases(at: writer.moment.elapsed)
            try writer.leaveDropped()
            // In the same write, so that no fire of these jobs begins before it.
            try writer.followClockBack(isStart: true)
            let isAnyHeld = try writer.jobs.isAnyHeld() || !writer.owners.others().isEmpty
            return (recovered, tied: tied, isAnyHeld: isAnyHeld)
        } durable: { scheduler, stored in
            scheduler.takeUp(stored.0, tied: stored.tied)
            // Not awaited: the user database may be slow, and it is asked again before each command starts.
            if stored.isAnyHeld { scheduler.lookAtHeld(all: true) }
        }.0
    }

    /// Goes on with what was decided; nothing in here may fail.
    private func takeUp(_ recovered: Recovered, tied: [TiedJob]) {
        // Before any timer of these jobs is armed: what is left running, or waits, keeps them busy.
        adoptFires(of: recovered)
        held.leftOpen = recovered.leftOpen
        // If this daemon stops already, the next one tells them.
        if !isStopping {
            for fired in recovered.untoldByHand { fireByHand(fired, isRedelivery: true) }
        }
        isRecovered = true
        tieAgain(tied)
        goOn(with: recovered)
        followZones()
        loadWindow()
        if recovered.hasNotices { lookAtNotices() }
        lookAtTasks()
    }

    /// Adopts the fires that the daemon before this one left running or waiting; they keep their jobs
    /// busy.
    func adoptFires(of recovered: Recovered) {
        // Asked for once: `known` is made anew with each call.
        let known = runner.known.runs
        for left in recovered.running {
            left.isKnown
                ? takeUp(left, known[left.run.rawValue]) : interrupted(left)
        }
        for run in recovered.strays {
            leaveStray(run, known[run.rawValue], isUnknown: recovered.unknown.contains(run))
        }
        for (run, notice) in recovered.tries { awaitEnd(ofTry: run, notice) }
        for (fire, wait) in recovered.waiting { fires.insert(fire, .waiting(wait)) }
    }

    /// Leaves a run that the runner knows, and that is not in progress by the database.
    ///
    /// `isUnknown`: whether there is no row of it.
    private func leaveStray(_ run: RunID, _ process: KnownRun?, isUnknown: Bool) {
        let goesOn = process.map { $0.phase != .ended } ?? false
        if fence != nil {
            // Another node that led has told its end, and may have begun it anew; or nobody knows of it any more.
            if goesOn, isUnknown { warnOfEnd(ofUnknown: run, on: hosts.own) }
            runner.stop(run.rawValue, by: .standard)
        } else if goesOn, run.rawValue > 0, let process {
            // Told because its job may begin another run beside it. A number below 0 is a try of a notice, which has no row.
            log.warning(
                "a run goes on that the database does not have in progress, as after a restore",
                metadata: ["run": "\(run)", "pid": "\(process.pid)"]
            )
        }
        runner.stored(run.rawValue)
    }

    /// Begins what may begin of it, oldest first.
    func goOn(with recovered: Recovered) {
        for (fire, _) in recovered.waiting { goOn(fire.id) }
        for left in recovered.running { goOn(left.fire.id) }
    }

    /// Goes on with a run that the runner still knows.
    ///
    /// `process`: what this node's own knows of it.
    private func takeUp(_ left: LeftRun, _ process: KnownRun?) {
        let fire = left.commandFire
        let definition = left.job.definition
        var place = left.place
        // A node may have had another name.
        if process != nil { place.node = hosts.place(on: hosts.own).node }
        var command = RunningCommand(
            run: left.run,
            place: place,
            fire: fire,
            command: left.handler.map {
                settings.runDefaults.command(of: $0, for: definition) ?? []
            } ?? definition.command ?? [],
            isTakenUp: true
        )
        command.outputBegun = process?.outputKept
        command.stops = left.isStopped ? [(left.stoppedBy, 1)] : []
        log.notice("a run is taken up", metadata: metadata(of: left.run, left.job))
        places.enterRunning(fire.id, of: left.job.owner.uid)
        let host = place.node ?? hosts.own
        hosts.enterRunning(fire.id, on: host)
        // Its runner has not been heard yet.
        if process == nil { runner.expect(left.run.rawValue, at: place) }
        fires.insert(fire, .running(command))
        takeUp(command, isStarted: left.isStarted)
        // The daemon before may have died before it could say so, or as it was refused.
        if left.isStopped { Task(executorPreference: pool) { await self.endAgain(left) } }
    }

    /// Ends a run that the daemon before has told to end, or was about to, with the rights of who asked for that.
    ///
    /// Where `run.kill` is refused, nobody has told it to end: it goes on, and may be tried again.
    private func endAgain(_ left: LeftRun) async {
        // An administrator who is not root is the daemon's own user, and has the daemon's rights.
        let isRoots =
            left.stoppedBy == .administrator
            || (left.stoppedBy == .owner && left.job.owner.uid == 0)
        let answer = await runner.endAgain(
            left.run.rawValue,
            by: left.job.policy.run.teardown,
            asDaemon: isRoots
        )
        guard answer == .refused, let stop = left.stoppedBy,
            stop == .owner || stop == .administrator
        else { return }
        fires.noteRefused(stop, of: left.run)
        restateStop(of: left.run, left.job)
    }

    /// Stores that a run was interrupted before this daemon, or never begun, and goes on with what follows that.
    private func interrupted(_ left: LeftRun) {
        let (fire, moment) = (left.commandFire, clock.now())
        log.notice(
            left.outcome == .withdrawn
                ? "a run was ended before it began" : "a run was interrupted",
            metadata: metadata(of: left.run, left.job)
        )
        var ended = EndedRun(
            fire: left.fire.id,
            fireDate: left.fire.wallDate,
            attempt: left.attempt,
            handler: left.handler,
            outcome: left.outcome,
            startedAt: nil,
            endedAt: moment.wall,
            output: CapturedOutput()
        )
        (ended.isStopped, ended.stoppedBy) = (left.isStopped, left.stoppedBy)
        ended.reason = left.reason
        counters.countRun(left.outcome, of: left.job, handler: left.handler)
        let expected = expectation(after: ended, of: fire)
        record(of: left.job) { [ended] in
            try $0.recordFinished(left.run, of: left.job, ended)
        } durable: { scheduler, finished in
            scheduler.outputs.end(left.run)
            scheduler.follow(fire, finished, expected)
        } dropped: { scheduler, _ in
            scheduler.outputs.end(left.run)
            scheduler.drop(fire.id)
        }
        awaitRecord(of: fire, expected)
    }
}
