// SPDX-License-Identifier: Apache-2.0

import Logging
import Schedules
import TimerControl

/// A run whose row is stored, with all that its command is to be told.
struct RunningCommand: Sendable {
    var run: RunID
    var job: StoredJob
    var fire: FireID
    var command: [String]
    /// What it finds on its standard input; nil for the job's userInfo.
    var input: [UInt8]?
    /// Whether it is what the job wants done when a fire has failed.
    var isOnFailure = false
    /// By the wall clock, as are all dates here.
    var fireDate: Timestamp
    var firedAt: Timestamp
    var missed: Int
    /// From 1.
    var attempt = 1
    /// Its place among the runs, or in the queue for one.
    var ticket: RunSlots.Ticket?
    /// What it has written up to now.
    let output = RunOutput()
    /// Whether it has begun.
    let start = RunStart()
}

extension Scheduler {
    /// Starts the command; what becomes of it is told and stored as it happens.
    func start(_ command: RunningCommand) {
        noteRun(command.run, of: command.job)
        commands[command.run] = command
        outputs.begin(command.run, command.output)
        if command.isOnFailure { onFailureRuns.insert(command.run) }
        let (runner, accounts, settings) = (runner, accounts, settings)
        let (slots, clock) = (slots, clock)
        // Here, so that runs get their places in the order in which they came.
        let ticket = slots.enter(for: command.job.owner.uid)
        commands[command.run]?.ticket = ticket
        // Detached: nothing of a run's preparation is to happen on the timers' thread.
        tasks[command.run] = Task.detached(executorPreference: pool) {
            do {
                try await slots.wait(ticket)
            } catch {
                // The daemon stops, and the run never got its place.
                await self.ended(command, nil)
                return
            }
            let result = await runner.run(
                command,
                settings,
                accounts: accounts,
                clock: clock
            ) { pid in
                let process = runner.process(pid)
                self.loop.perform { self.assumeIsolated { $0.started(command, pid, process) } }
            } outlasted: { pids in
                self.loop.perform { self.assumeIsolated { $0.outlasted(command, pids) } }
            }
            slots.release(for: command.job.owner.uid)
            await self.ended(command, result)
            // Perhaps for want of its owner.
            if !result.outcome.wasStarted { await self.checkOwner(command.job.owner) }
        }
    }

    private func started(_ command: RunningCommand, _ pid: Int32, _ process: Orphan?) {
        let now = clock.now().wall
        var event = Event(seq: 0, type: .runStarted, at: now, job: command.job.id)
        event.owner = command.job.owner
        event.ownerID = command.job.ownerID
        event.name = command.job.definition.name
        event.fire = command.fire
        event.fireDate = command.fireDate
        event.run = command.run
        event.attempt = command.attempt
        number(event) { scheduler, event in
            scheduler.record(about: command.job.owner) { writer in
                try writer.recordStarted(command.run, pid, process, at: now, event)
            }
            scheduler.events.publish(event)
        }
    }

    /// The run has taken as long as it may, and what it runs goes on: its owner may not end it.
    private func outlasted(_ command: RunningCommand, _ pids: [Int32]) {
        guard commands[command.run] != nil, !pids.isEmpty else { return }
        tell(of: pids, of: command.run, command.job)
        record { try $0.recordSurvivors(pids.count, of: command.run) }
    }

    /// Why a run has no process that was ended before there was a place for it.
    static let withdrawn = "it was ended before there was a place for it"

    /// The run is over; `result` is nil where it never began.
    private func ended(_ command: RunningCommand, _ result: RunResult?) {
        let id = command.job.id
        var ended = EndedRun(
            fire: command.fire,
            fireDate: command.fireDate,
            attempt: command.attempt,
            outcome: isEndingRuns ? .interrupted : result?.outcome ?? .notStarted(Self.withdrawn),
            startedAt: nil,
            endedAt: clock.now().wall,
            output: CapturedOutput()
        )
        ended.survivors = result?.survivors ?? []
        if let result {
            ended.endedAt = Timestamp(microseconds: result.endedAtMicroseconds)
            ended.output = result.output
            ended.usage = result.usage
            ended.startedAt =
                result.outcome.wasStarted
                ? Timestamp(microseconds: result.startedAtMicroseconds) : nil
        }
        tasks[command.run] = nil
        commands[command.run] = nil
        forgetRun(command.run, of: command.job)
        onFailureRuns.remove(command.run)
        counters.countRun(ended.outcome, of: command.job)
        tell(of: command, ended.outcome)
        tell(of: ended.survivors, of: command.run, command.job)
        follow(command, ended, isStopped: stoppedRuns.remove(command.run) != nil)
        runsChanged(of: id)
        resumeIfIdle()
    }
}

extension Scheduler {
    /// Logs how a run ended: a failure for whoever reads the log, any other end for who debugs.
    private func tell(of command: RunningCommand, _ outcome: RunOutcome) {
        let (level, message): (Logger.Level, Logger.Message) =
            switch outcome {
            case .interrupted: (.notice, "a run was interrupted")
            case _ where command.job.policy.run.isSuccess(outcome): (.debug, "a run ended")
            default: (.notice, "a run failed")
            }
        log.log(
            level: level,
            message,
            metadata: metadata(of: command.run, command.job)
                .merging(["outcome": "\(outcome)"]) { old, _ in old }
        )
    }

    /// Logs what is left of a run that has ended.
    func tell(of survivors: [Int32], of run: RunID, _ job: StoredJob) {
        guard !survivors.isEmpty else { return }
        var metadata = metadata(of: run, job)
        metadata["pids"] = "\(survivors.map(\.description).joined(separator: " "))"
        log.notice("a run's processes could not be ended", metadata: metadata)
    }

    /// Stores how a run ended, with what follows it, and sees to that.
    private func follow(_ command: RunningCommand, _ ended: EndedRun, isStopped: Bool) {
        var next = AfterRun.done
        if !isStopped, !command.isOnFailure {
            next = AfterRun(
                ended.outcome,
                attempt: command.attempt,
                of: command.fire,
                job: command.job
            )
        }
        let moment = clock.now()
        record(about: command.job.owner) { [next] in
            try $0.recordFinished(command.run, of: command.job, ended, next: next)
        } durable: { scheduler, _ in
            scheduler.outputs.end(command.run)
        }
        var waiting = WaitingRun(
            job: command.job,
            fire: command.fire,
            fireDate: command.fireDate,
            firedAt: command.firedAt,
            missed: command.missed,
            attempt: command.attempt + 1,
            cause: .retry,
            until: moment.elapsed
        )
        switch next {
        case .done: return
        case .retry(let delay): waiting.until = moment.elapsed + delay
        case .onFailure: waiting.cause = .onFailure
        }
        wait(waiting)
    }

    /// Takes back the runs of `jobs` that have not begun, whatever they wait for: nothing of a job that
    /// was ended begins.
    func withdrawRuns(of jobs: [StoredJob]) {
        for job in jobs where !job.state.isLive {
            for run in runs[job.id] ?? [] {
                guard let command = commands[run], command.start.withdraw() else { continue }
                stoppedRuns.insert(run)
                if let ticket = command.ticket, slots.isWaiting(ticket) { tasks[run]?.cancel() }
            }
        }
    }

    /// Begins to end all runs of `jobs`.
    func endRuns(of jobs: [StoredJob]) {
        for job in jobs {
            for run in runs[job.id] ?? [] { stop(run, by: job.policy.run.teardown) }
        }
    }

    /// Begins to end all runs of a user, also those of jobs that have ended since.
    func endRuns(ofOwner words: String, caller: Caller) {
        for command in Array(commands.values)
        where command.job.owner.isMeant(by: words) && caller.owns(command.job) {
            stop(command.run, by: command.job.policy.run.teardown)
        }
    }

    /// Begins to end a run as its job says.
    ///
    /// - Returns: what came of the first signal; `gone` if the run is not in progress. Where it was
    ///   refused, the run goes on as if nobody had asked. With `asDaemon` nothing is refused.
    func endRun(_ run: RunID, asDaemon: Bool) async -> SignalAnswer {
        guard let task = tasks[run] else { return .gone }
        let teardown = commands[run]?.job.policy.run.teardown ?? .standard
        let isFirst = stoppedRuns.insert(run).inserted
        commands[run]?.start.withdraw()
        switch await runner.kill(run.rawValue, by: teardown, asDaemon: asDaemon) {
        case .refused:
            if isFirst { stoppedRuns.remove(run) }
            return .refused
        case .gone:
            // One that waits for its place among the runs has no process, and gets none.
            task.cancel()
        case .sent, .unknown, nil: break
        }
        return .sent
    }

    /// Begins to end a run, which is not tried again; false if it is not in progress.
    @discardableResult
    func stop(_ run: RunID, by teardown: Teardown) -> Bool {
        guard let task = tasks[run] else { return false }
        stoppedRuns.insert(run)
        commands[run]?.start.withdraw()
        // One that waits for its place among the runs has no process, and gets none.
        if !runner.stop(run.rawValue, by: teardown) { task.cancel() }
        return true
    }
}

extension Scheduler {
    /// What each record of the log about a run tells of it.
    func metadata(of run: RunID?, _ job: StoredJob) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["job": "\(job.id)", "owner": "\(job.owner.uid)"]
        metadata["run"] = run.map { "\($0)" }
        metadata["name"] = job.definition.name.map { "\($0)" }
        return metadata
    }
}
