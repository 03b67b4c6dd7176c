// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import Runner
import Schedules
import TimerControl

extension Scheduler {
    /// Starts the command of a fire that has its place; its start and end are recorded as they happen.
    func start(_ command: RunningCommand) {
        mind(command) { runner, request, started throws(RunBreak) in
            try await runner.run(request, started: started)
        }
    }

    /// Goes on with the command of a run that a daemon before this one has begun.
    func takeUp(_ command: RunningCommand, isStarted: Bool) {
        mind(command, isStarted: isStarted) { runner, request, started throws(RunBreak) in
            try await runner.takeUp(request, started: started)
        }
    }

    /// Has the runner carry out a command by `body`, and sees to what it says of it.
    private func mind(
        _ command: RunningCommand,
        isStarted: Bool = false,
        _ body:
            @escaping @Sendable (
                _ runner: any CommandRunner,
                _ request: RunRequest,
                _ started: @escaping @Sendable (KnownRun) -> Void
            ) async throws(RunBreak) -> RunResult
    ) {
        var command = command
        let policy = command.job.policy.run
        let room = outputRoom(for: command)
        command.output.keep(room.kept)
        command.outputReserved = room.reserved
        command.keepsOutput = settings.keepsOutput(of: policy, begun: command.outputBegun)
        outputs.begin(
            command.run,
            command.output,
            of: command.job,
            onStdout: settings.isOnStdout(policy)
        )
        let (runner, requests, clock) = (runner, requests, clock)
        let node = command.place.node.flatMap { $0 == hosts.own ? nil : $0 }
        // Nothing of a run's preparation is to happen on the timers' thread.
        command.task = Task.detached(executorPreference: pool) { [command] in
            do throws(RunBreak) {
                let carryOut: @Sendable (RunRequest) async throws(RunBreak) -> RunResult = {
                    request throws(RunBreak) in
                    var request = request
                    request.epoch = command.place.runner
                    request.outlasted = { pids in
                        self.perform { $0.outlasted(command, pids) }
                    }
                    return try await body(runner, request) { known in
                        guard !isStarted else { return }
                        self.perform { $0.started(command, known) }
                    }
                }
                let result =
                    if let node {
                        try await carryOut(requests.settings.request(for: command, on: node))
                    } else {
                        try await requests.carryOut(command, clock, carryOut)
                    }
                await self.ended(command, result)
                // It may have failed to start because its owner is gone.
                if !result.outcome.wasStarted { await self.checkOwner(command.job.owner) }
            } catch {
                await self.noteBreak(error, of: command)
            }
        }
        fires.setState(.running(command), of: command.fire.id)
    }

    private func started(_ command: RunningCommand, _ known: KnownRun) {
        // The run may have begun long before this daemon hears of it.
        let date = Timestamp(microseconds: known.startedAtMicroseconds)
        fires.noteStarted(command.run)
        noteLimits(of: command)
        record(of: command.job, within: SharedCommit.startDelay) {
            try $0.recordStarted(command.run, of: command.fire, known.pid, at: date)
        }
    }

    /// The command has not begun, and may begin later: it waits for a place again.
    ///
    /// `isStranger`: its node does not know the owner.
    func notBegun(_ command: RunningCommand, _ reason: String, isStranger: Bool = false) {
        if isStranger, let node = command.place.node {
            hosts.noteStranger(command.job.owner.name, on: node)
        }
        guard let now = fires[command.run] else { return }
        // Its job may have been ended and restored since: a run that had not begun at the end does not come back with the
        // job.
        guard !now.isStopped, !now.start.isWithdrawn else {
            let date = clock.now().wall.microseconds
            return ended(command, .notStarted(.withdrawn, at: date))
        }
        if isStopping { return putBack(command) }
        // That the host is full was logged with its reason; each run that waits would log it again once a second.
        let isKnown = !isStranger && hosts.isFull(command.place.node ?? hosts.own)
        log.log(
            level: isKnown ? .debug : .notice,
            "a run waits",
            metadata: metadata(of: command.run, command.job)
                .merging(["reason": "\(reason)"]) { old, _ in old }
        )
        outputs.end(command.run)
        beginAnew(command)
    }

    /// Has a command that has not begun wait for a place again, and begin by its job as that is then, if it still does.
    func beginAnew(_ command: RunningCommand) {
        record(of: command.job) {
            try $0.waitAgain(command.fire, after: command.run)
        } durable: { scheduler, waits in
            // Its job was ended meanwhile, or has another command: it waits for no host, and no place.
            if !waits { scheduler.drop(command.fire.id) }
        }
        leavePlace(command.fire.id)
        fires.insert(command.fire, .waiting(.place))
        goOn(command.fire.id)
        resumeIfIdle()
    }

    /// The run was to end, and processes of it go on: its owner may not end them, or no signal reaches them.
    private func outlasted(_ command: RunningCommand, _ pids: [Int32]) {
        guard fires[command.run] != nil, !pids.isEmpty else { return }
        logSurvivors(pids, of: command.run, command.job)
        record(of: command.job) { try $0.recordSurvivors(pids.count, of: command.run) }
    }

    /// The run is over.
    private func ended(_ command: RunningCommand, _ result: RunResult) {
        let fire = command.fire
        let isKept =
            // Its runner, which had not been heard when it was taken up, has said since how much it keeps.
            command.isTakenUp && command.outputBegun == nil
            ? settings.keepsOutput(of: command.job.policy.run, begun: command.output.limit)
            : command.keepsOutput
        var ended = EndedRun(
            fire: fire.id,
            fireDate: fire.fireDate,
            attempt: fire.attempt,
            handler: fire.handler,
            outcome: result.outcome,
            startedAt: result.startedAtMicroseconds.map { Timestamp(microseconds: $0) },
            endedAt: Timestamp(microseconds: result.endedAtMicroseconds),
            output: isKept ? result.output : result.output.withoutBytes,
            usage: result.usage,
            survivors: result.survivors
        )
        ended.isStopped = fires[command.run]?.isStopped ?? true
        ended.stoppedBy = fires[command.run]?.stoppedBy
        logSurvivors(ended.survivors, of: command.run, command.job)
        // At once, also while nothing can be stored.
        logEnd(of: command, ended.outcome)
        guard OutputParts.areMany(of: ended.output) else { return recordEnd(of: command, ended) }
        ended.isOutputStored = true
        let parts = OutputParts(of: ended.output, orAt: ended.endedAt.microseconds)
        fires.noteEnded(command.run)
        recordOutput(parts, of: command, until: ended)
        resumeIfIdle()
    }

    /// Stores much output a few parts at a time, and then the run's end, for the run is in progress until then.
    ///
    /// So other changes, and the starts of other commands, wait for no more than a few parts.
    private func recordOutput(
        _ parts: OutputParts,
        of command: RunningCommand,
        until ended: EndedRun
    ) {
        // The next daemon hears of the end again, and stores all of it.
        guard !hasLeftRuns else { return }
        guard !parts.isOver else { return recordEnd(of: command, ended) }
        record(of: command.job) {
            try $0.recordOutput(parts, of: command.run, of: command.job)
        } durable: { scheduler, rest in
            scheduler.recordOutput(rest, of: command, until: ended)
        } dropped: { scheduler, _ in
            guard !scheduler.hasLeftRuns else { return }
            scheduler.recordEnd(of: command, ended)
        }
    }

    /// Stores how a run ended; the store says what follows, as its job may have been changed since the run began.
    private func recordEnd(of command: RunningCommand, _ ended: EndedRun) {
        let expected = expectation(after: ended, of: command.fire)
        let offset = clock.now().wallOffset
        record(of: command.job) {
            try $0.recordFinished(command.run, of: command.job, ended)
        } durable: { scheduler, finished in
            scheduler.noteEnd(of: command, ended.outcome, finished.job)
            // Until the runner hears this, it tells the end again to each daemon.
            scheduler.runner.stored(command.run.rawValue)
            scheduler.follow(command.fire, finished, expected)
            // The store may have said by the clock of before a step when it is tried again.
            if scheduler.clock.now().wallOffset != offset {
                scheduler.storeAttempts(of: [command.fire.id])
            }
        } dropped: { scheduler, _ in
            scheduler.noteEnd(of: command, ended.outcome, command.job)
            scheduler.drop(command.fire.id)
        }
        awaitRecord(of: command.fire, expected)
    }

    /// Counts the end of a run whose record is over, by its job as that had it.
    private func noteEnd(of command: RunningCommand, _ outcome: RunOutcome, _ job: StoredJob) {
        outputs.end(command.run)
        counters.countRun(outcome, of: job, handler: command.fire.handler)
    }

    /// What follows a run as far as is known here; the store decides, by its job as that is by then.
    func expectation(after ended: EndedRun, of fire: CommandFire) -> RetryDecision {
        // If the job was changed since, or is being changed, another attempt may follow, and a fire that waits must not
        // overtake it.
        if ended.isFollowed, fires.isChanged(fire.job) || fireLocks.covers(fire.job) {
            return .retry(after: .zero)
        }
        return RetryDecision(
            after: ended,
            // Attempts that were run again have not failed; how many these are the store knows.
            failures: fire.job.definition.rerunInterrupted == true ? 1 : ended.attempt,
            job: fire.job,
            defaults: settings.runDefaults
        )
    }

    /// Gives back the place of a run that is over, whose record is on its way to the store.
    func awaitRecord(of fire: CommandFire, _ expected: RetryDecision) {
        var fire = fire
        // This is the most frequent case: what waits for the run's end goes on at once. If the store decides otherwise, the
        // fire comes back.
        if expected == .done { return drop(fire.id) }
        // A fire whose handler is expected does not keep its job busy.
        if case .handle(let handler) = expected { fire.handler = handler }
        fires.insert(fire, .waiting(.record))
        leavePlace(fire.id)
        runsChanged(of: fire.job.id)
        resumeIfIdle()
    }

    /// Sees to what follows a run whose record is stored, and that was expected to be followed so.
    func follow(_ fire: CommandFire, _ finished: FinishedRun, _ expected: RetryDecision) {
        var fire = fire
        fire.job = finished.job
        switch finished.next {
        case .done:
            if fires[fire.id] != nil { drop(fire.id) }
            return
        // A newer fire has replaced it since: the store drops it behind this record.
        case .retry where expected != .done && fires[fire.id] == nil: return
        case .retry(let delay):
            fire.attempt += 1
            fires.insert(fire, .waiting(.time(clock.now().elapsed + delay)))
        case .handle(let handler):
            fire.handler = handler
            fires.insert(fire, .waiting(.place))
        }
        goOn(fire.id)
        runsChanged(of: fire.job.id)
    }
}

// MARK: - The log

extension Scheduler {
    /// Logs how a run ended: a failure or an interruption as a notice, any other end for debugging.
    private func logEnd(of command: RunningCommand, _ outcome: RunOutcome) {
        let job = command.job
        let (level, message): (Logger.Level, Logger.Message) =
            switch outcome {
            case .interrupted: (.notice, "a run was interrupted")
            case _ where job.policy.run.isSuccess(outcome, of: command.fire.handler):
                (.debug, "a run ended")
            default: (.notice, "a run failed")
            }
        log.log(
            level: level,
            message,
            metadata: metadata(of: command.run, job)
                .merging(["outcome": "\(outcome)"]) { old, _ in old }
        )
    }

    /// Logs the processes of a run that could not be ended.
    func logSurvivors(_ survivors: [Int32], of run: RunID, _ job: StoredJob) {
        guard !survivors.isEmpty else { return }
        var metadata = metadata(of: run, job)
        metadata["pids"] = "\(survivors.map(\.description).joined(separator: " "))"
        log.notice("a run's processes could not be ended", metadata: metadata)
    }

    /// The metadata of each log record about a run.
    func metadata(of run: RunID?, _ job: StoredJob) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["job": "\(job.id)", "owner": "\(job.owner.uid)"]
        metadata["run"] = run.map { "\($0)" }
        metadata["name"] = job.definition.name.map { "\($0)" }
        return metadata
    }
}
