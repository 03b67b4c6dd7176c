// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// What clients change of jobs that are there, and what they make of the answers.
extension CrashSimulation {
    func invalidate(_ selection: JobSelection, of ids: [JobID]) {
        tell("invalidate \(selection)")
        // A tag may be another job's, or no job's, once what is under way was done: one that takes its place, say.
        let certain =
            if case .tag = selection {
                ids.filter { jobs[$0].map { $0.inFlight == 0 && !$0.mayHaveEnded } ?? false }
            } else {
                ids
            }
        for id in ids {
            guard let job = jobs[id] else { continue }
            jobs[id]?.mayHaveEnded = true
            if job.isLive { jobs[id]?.stateAtEnd = job.inFlight == 0 ? job.state : .unknown }
        }
        // Until it is answered it may come behind any that is asked for meanwhile.
        if case .tag(let tag) = selection { endedTags[tag] = .max }
        // One that is restored at the same time may live after it.
        let restores = Dictionary(
            uniqueKeysWithValues: ids.map { ($0, jobs[$0]?.restoresAnswered) }
        )
        let kill = conductor.dice.isTrue(0.3)
        let request = InvalidateJobs(selection, kill: kill)
        ask(.invalidateJobs(request), of: ids, surely: certain) { [self] answer, error in
            if case .tag(let tag) = selection { endedTags[tag] = lastDefinition }
            for job in (answer as? JobsReply)?.jobs ?? [] {
                if restores[job.id] == jobs[job.id]?.restoresAsked { ended(job.id) }
            }
        }
    }

    /// Has a job live again that was ended, at a moment when nothing else is under way.
    func undo() {
        settle()
        guard life?.isReady == true, !disk.hasCrashed else { return }
        let candidates = jobs.values.filter { job in
            job.isEndAnswered && job.inFlight == 0 && stored(job.id)?.endReason == .invalidated
        }
        let picked = candidates.sorted { $0.id < $1.id }.randomElement(using: &conductor.dice)
        guard let job = picked else { return }
        let id = job.id
        tell("undo \(id)")
        // A start of the machine while it was ended was none of its dates.
        jobs[id]?.hasLostPower = false
        jobs[id]?.bootsAtLeast = 0
        // Not answered, it may live or not.
        jobs[id]?.isEndAnswered = false
        jobs[id]?.state = .unknown
        ask(.restoreJobs(.ids([id])), of: [id]) { [self] answer, error in
            guard let restored = (answer as? JobsReply)?.jobs.first else {
                guard error?.reason != .storageFailed else { return }
                return ended(id)
            }
            let state: PromisedJob.State = restored.state == .paused ? .paused : .scheduled
            if restored.state.isLive {
                let isAsBefore = job.stateAtEnd == .unknown || job.stateAtEnd == state
                check(.answered, isAsBefore, "job \(id) was \(job.stateAtEnd) and is \(state)")
                jobs[id]?.state = state
            }
        }
    }

    /// Changes what a job's dates do not hang on: they have to go on as if nothing had been.
    func revise(_ id: JobID) {
        settle()
        guard life?.isReady == true, let stored = stored(id), stored.state.isLive else { return }
        var definition = stored.definition
        if definition.queue == nil {
            definition.env = ["REVISION": "\(tally.commands)"]
        } else {
            definition.keyKept = "\(tally.commands)s"
            definition.queue = CrashWorkers.queues[tally.commands % CrashWorkers.queues.count]
        }
        let isPaused = stored.state == .paused
        definition.paused = isPaused
        tell("revise \(id)")
        let revision = JobRevision(id: id, definition: definition)
        change(.applyJobs(ApplyJobs(change: [revision])), id) {
            $0.state = isPaused ? .paused : .scheduled
        }
    }

    /// Ends a run for good that has begun; the next daemon is to know of it.
    func kill(_ process: SimulatedProcesses.Process) {
        killsNext = false
        tell("kill run \(process.run)")
        let run = KillRun(RunID(rawValue: process.run))
        ask(.killRun(run), of: []) { [self] answer, _ in
            guard answer != nil else { return }
            killed.insert("\(process.job) \(process.fireDate)")
            if !isEnding, conductor.dice.isTrue(0.5) { restart() }
        }
    }

    func pause(_ id: JobID) {
        tell("pause \(id)")
        change(.pauseJobs(.ids([id])), id) { $0.state = .paused }
    }

    func resume(_ id: JobID) {
        tell("resume \(id)")
        change(.resumeJobs(.ids([id])), id) { $0.state = .scheduled }
    }

    func skip(_ id: JobID) {
        settle()
        guard life?.isReady == true, let stored = stored(id) else { return }
        // A row of dates from one that was moved alone would hold that one's old place as well.
        let most = stored.movedFrom == nil ? 3 : 1
        let count = Int.random(in: 1...most, using: &conductor.dice)
        tell("skip \(id) \(count)")
        change(.skipJobs(SkipJobs(jobs: .ids([id]), count: count)), id) {
            $0.state = .scheduled
            $0.skips += 1
        }
    }

    func fire(_ id: JobID) {
        tell("fire \(id)")
        jobs[id]?.mayHaveFiredByHand = true
        let state = jobs[id]?.state ?? .unknown
        ask(.fireJob(.id(id)), of: [id]) { [self] answer, error in
            if let answer = answer as? FireReply { jobs[id]?.byHand.append(answer.fire) }
            guard error?.reason != .storageFailed else { return }
            // A job that is fired once is not paused any more.
            if jobs[id]?.state != .ended, jobs[id]?.repeats == true { jobs[id]?.state = state }
        }
    }

    /// Moves a job's date, at a moment when nothing else is under way: so it is known from where.
    func move(_ job: PromisedJob) {
        settle()
        guard life?.isReady == true, !disk.hasCrashed, let moment, let stored = stored(job.id),
            stored.state == .scheduled, let old = stored.fireDate,
            case let isGrid = { if case .every = stored.schedule { true } else { false } }(),
            !isGrid || stored.clock == .elapsed
        else { return }
        let date = moment.wall + conductor.dice.span(.milliseconds(500), .seconds(60))
        tell("move \(job.id) to \(date.rfc3339)")
        let request = SetFireDate(job: .id(job.id), fireDate: date.rfc3339)
        let new = moment.date(ofWall: date, on: stored.clock)
        change(.setFireDate(request), job.id) {
            $0.state = .scheduled
            $0.movedTo = date
        }
        settle()
        moves[job.id] = (old, new)
        if let now = self.stored(job.id) { resolveMove(job.id, now) }
    }

    /// A change of one job that, once answered, makes of it what `promised` says.
    private func change(
        _ request: Request,
        _ id: JobID,
        _ promised: @escaping (inout PromisedJob) -> Void
    ) {
        let before = jobs[id]?.state ?? .unknown
        jobs[id]?.movedTo = nil
        ask(request, of: [id]) { [self] _, error in
            guard var job = jobs[id], job.state != .ended else { return }
            if let error {
                // Refused is not done; where the disk failed, it may be found done after a crash.
                if error.reason != .storageFailed { job.state = before }
            } else {
                promised(&job)
            }
            jobs[id] = job
        }
    }

    func restart() {
        guard let life else { return }
        let runs = conductor.dice.isTrue(0.5) ? RunsAtStop.goOn : .end(after: .seconds(86_400))
        tell("stop, \(runs)")
        life.stop()
        Task(executorPreference: life.pool) { await life.end(runs) }
        if case .end = runs, conductor.dice.isTrue(0.6) { endRuns(of: life) }
    }

    /// The time is over that runs have at a stop: the scheduler measures it by a clock that is not simulated.
    private func endRuns(of life: SimulatedLife) {
        let time = conductor.dice.span(TimeSpan(microseconds: 1), .seconds(5))
        life.runnerLane?.perform(after: .microseconds(time.microseconds)) { [weak self] in
            guard let scheduler = life.scheduler else { return }
            life.timers.perform { scheduler.assumeIsolated { _ = $0.endRuns() } }
            self?.perhapsEndSoon(daemon: 0.5, runner: 0.1)
        }
    }
}
