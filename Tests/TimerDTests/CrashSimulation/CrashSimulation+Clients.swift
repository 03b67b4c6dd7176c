// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// What clients ask for, and what they make of the answers.
extension CrashSimulation {
    private enum Action {
        case add, batch, replace, revise, invalidate, tag, move, pause, resume, skip, fire, kill
        case hangUp, restart, burst, step, undo, undoNothing
    }

    /// A client does something, or the machine's user.
    func act() {
        if clockError != .zero, !isClockNearlyRight || conductor.dice.isTrue(0.3) {
            return setClockRight()
        }
        if jobs.isEmpty { return add(2, replace: false) }
        let action = conductor.dice.pick([
            (5, Action.add), (2, .batch), (2, .replace), (3, .invalidate), (1, .tag), (3, .move),
            (3, .pause), (4, .resume), (2, .skip), (3, .fire), (2, .kill), (1, .hangUp),
            (1, .restart),
            (2, .burst), (2, .revise), (3, .undo), (3, .undoNothing),
            (stepsClock ? 4 : 0, .step),
        ])
        // What is done to a date holds for it wherever a wrong clock puts it: who does it looks at a
        // clock that is right.
        if clockError != .zero, [.move, .skip, .fire].contains(action) { return }
        switch action {
        case .add: add(1, replace: false)
        case .batch: add(Int.random(in: 2...6, using: &conductor.dice), replace: false)
        case .replace: add(1, replace: true)
        case .revise: for job in pick({ $0.inFlight == 0 }) { revise(job.id) }
        case .invalidate:
            let ids = pick { _ in true }
            invalidate(.ids(ids.map(\.id)), of: ids.map(\.id))
        case .tag:
            let tag = CrashMix.tags.randomElement(using: &conductor.dice) ?? ""
            let ids = jobs.values.filter { $0.definition.tags?.contains(tag) == true }.map(\.id)
            invalidate(.tag(tag), of: ids.sorted())
        case .move: for job in pick({ $0.inFlight == 0 && !$0.isOfBoot }) { move(job) }
        case .pause: for job in pick({ $0.inFlight == 0 }) { pause(job.id) }
        case .resume:
            for job in pick({ $0.inFlight == 0 && $0.state != .scheduled }) { resume(job.id) }
        case .skip:
            for job in pick({ $0.inFlight == 0 && $0.repeats && !$0.isOfBoot }) { skip(job.id) }
        case .step: stepClock()
        case .fire:
            for job in pick({ $0.inFlight == 0 && $0.definition.count == nil }) { fire(job.id) }
        case .kill:
            let living = processes.living.values.sorted { $0.run < $1.run }
            if let process = living.randomElement(using: &conductor.dice) {
                let run = RunReference(id: RunID(rawValue: process.run))
                ask(.killRun(run), of: []) { [self] answer, _ in
                    if answer != nil { killed.insert("\(process.job) \(process.fireDate)") }
                }
            }
        case .hangUp:
            if let job = connections.keys.sorted().randomElement(using: &conductor.dice) {
                tell("the connection of job \(job) is over")
                connections.removeValue(forKey: job)?.end()
            }
        case .restart: restart()
        case .undo: undo()
        case .undoNothing:
            for job in pick({ $0.inFlight == 0 && !$0.mayHaveEnded }) {
                // At any moment: one that lives stays as it is.
                ask(.restoreJobs(.ids([job.id])), of: []) { _, _ in }
            }
        case .burst: for _ in 0..<4 { act() }
        }
    }

    /// A live job that `fits`, by chance; none where there is none.
    private func pick(_ fits: (PromisedJob) -> Bool) -> [PromisedJob] {
        let candidates = jobs.values.filter { $0.isLive && fits($0) }.sorted { $0.id < $1.id }
        return candidates.randomElement(using: &conductor.dice).map { [$0] } ?? []
    }

    /// Sends a request about `ids`; `answered` is called with the answer, if the daemon lives to give it.
    ///
    /// `certain`: those of them that it means whatever else is under way; nil for all.
    private func ask(
        _ request: Request,
        of ids: [JobID],
        surely certain: [JobID]? = nil,
        over connection: ConnectionLife? = nil,
        _ answered: @escaping (CommandHandler.Answer?, ControlError?) -> Void
    ) {
        guard let life, let handler = life.handler, life.isReady else { return }
        for id in ids { jobs[id]?.inFlight += 1 }
        // What was not answered may have been done, or not.
        for id in ids where jobs[id]?.state != .ended { jobs[id]?.state = .unknown }
        let call = AnyCall(answered)
        Task(executorPreference: life.pool) { [self] in
            let result = await handler.handle(request, from: 0, over: connection)
            guard !isDead(life.number) else { return }
            tally.commands += 1
            for id in ids { jobs[id]?.inFlight -= 1 }
            switch result {
            case .success(let answer): call.body(answer, nil)
            case .failure(let error):
                tell("refused: \(error.reason) \(error.message)")
                call.body(nil, error)
                if error.reason == .notFound {
                    let areGone = (certain ?? ids).allSatisfy(mayBeForgotten)
                    check(.accepted, areGone, "\(ids): \(error.message)")
                }
            }
        }
    }

    /// Unchecked: called on the one thread of the simulation.
    struct AnyCall: @unchecked Sendable {
        let body: (CommandHandler.Answer?, ControlError?) -> Void
        init(_ body: @escaping (CommandHandler.Answer?, ControlError?) -> Void) { self.body = body }
    }

    // MARK: - Adding

    private func add(_ count: Int, replace: Bool) {
        let batch = lastDefinition + 1
        var new: [JobDefinition] = []
        var connection: ConnectionLife?
        for _ in 0..<count {
            lastDefinition += 1
            var job = CrashMix.job(lastDefinition, at: wall, &conductor.dice)
            // No wall clock says when one on elapsed time has ended, once that was stepped.
            if stepsClock, job.schedule.every != nil, job.schedule.from == nil { job.until = nil }
            if new.contains(where: { $0.name == job.name }) { job.name = nil }
            if replace, job.name == nil { job.name = CrashMix.names[0] }
            if !replace, count == 1, conductor.dice.isTrue(0.1) {
                job.whileConnected = true
                connection = ConnectionLife()
            }
            definitions[lastDefinition] = (batch, false, job.name)
            new.append(job)
        }
        let numbers = batch...lastDefinition
        tell("add \(numbers)\(replace ? " in place of \(new[0].name ?? "")" : "")")
        let holders =
            !replace
            ? []
            : jobs.values
                .filter { $0.isLive && $0.definition.name == new[0].name }.sorted { $0.id < $1.id }
        for holder in holders { jobs[holder.id]?.mayHaveEnded = true }
        if replace, let name = new[0].name { replacedNames.insert(name) }
        let request =
            count == 1 ? AddJobs(new[0], replace: replace) : AddJobs(new, replace: replace)
        ask(.addJobs(request), of: [], over: connection) { [self] answer, error in
            if let error, error.reason != .storageFailed {
                for number in numbers { definitions[number]?.isRefused = true }
            }
            let added = (answer as? JobReply).map { [$0.job] } ?? (answer as? JobsReply)?.jobs ?? []
            if added.isEmpty { return }
            tell("added \(added.map(\.id))")
            for job in added {
                register(job.id)
                noteRedating(job.id)
                if let connection, life?.isReady == true { connections[job.id] = connection }
            }
            for holder in holders where added[0].id != holder.id {
                // One that had finished by itself had given its name back: what is left of its last fire goes on.
                if stored(holder.id)?.state != .finished { ended(holder.id) }
            }
        }
    }

    /// Takes note of a job that is known to be stored.
    func register(_ id: JobID) {
        guard jobs[id] == nil, let wallOffset = moment?.wallOffset, let inspector = life?.inspector
        else {
            return
        }
        // try: in memory, with no fault in force; what cannot be read is a job that is not there.
        let stored = disk.withoutFault { try? Queries(inspector).job(id) }
        check(.accepted, stored != nil, "job \(id)")
        guard let stored else { return }
        let mayBeReplaced = stored.definition.name.map { replacedNames.contains($0) } ?? false
        var job = PromisedJob(
            stored,
            wallOffset: wallOffset,
            redated: mayBeReplaced ? redatingEnd : nil
        )
        // Who ended it before its add was answered did not name it.
        let definition = stored.definition
        if let number = definition.userInfo.flatMap({ Int64($0.text) }) {
            let tagged = definition.tags?.compactMap { endedTags[$0] }.max() ?? 0
            // One that was asked for later may have been stored before.
            if number <= tagged || mayBeReplaced { job.mayHaveEnded = true }
        }
        jobs[id] = job
    }

    private func ended(_ id: JobID) {
        jobs[id]?.state = .ended
        jobs[id]?.isEndAnswered = true
        jobs[id]?.mayHaveEnded = true
        tell("job \(id) has ended")
    }

    // MARK: - Changing

    private func invalidate(_ selection: JobSelection, of ids: [JobID]) {
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
        let kill = conductor.dice.isTrue(0.3)
        let request = InvalidateJobs(selection, kill: kill)
        ask(.invalidateJobs(request), of: ids, surely: certain) { [self] answer, error in
            if case .tag(let tag) = selection { endedTags[tag] = lastDefinition }
            for job in (answer as? JobsReply)?.jobs ?? [] { ended(job.id) }
        }
    }

    /// Has a job live again that was ended, at a moment when nothing else is under way.
    private func undo() {
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
        jobs[id]?.hasBooted = false
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
    private func revise(_ id: JobID) {
        settle()
        guard life?.isReady == true, let stored = stored(id), stored.state.isLive else { return }
        var definition = stored.definition
        if definition.queue == nil {
            definition.env = ["REVISION": "\(tally.commands)"]
        } else {
            definition.keyKept = "\(tally.commands)s"
        }
        let isPaused = stored.state == .paused
        definition.paused = isPaused
        tell("revise \(id)")
        let revision = JobRevision(id: id, definition: definition)
        change(.applyJobs(ApplyJobs(change: [revision])), id) {
            $0.state = isPaused ? .paused : .scheduled
        }
    }

    private func pause(_ id: JobID) {
        tell("pause \(id)")
        change(.pauseJobs(.ids([id])), id) { $0.state = .paused }
    }

    func resume(_ id: JobID) {
        tell("resume \(id)")
        change(.resumeJobs(.ids([id])), id) { $0.state = .scheduled }
    }

    private func skip(_ id: JobID) {
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

    private func fire(_ id: JobID) {
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
    private func move(_ job: PromisedJob) {
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

    private func restart() {
        guard let life else { return }
        let runs = conductor.dice.isTrue(0.5) ? RunsAtStop.goOn : .end(after: .seconds(86_400))
        tell("stop, \(runs)")
        life.stop()
        Task(executorPreference: life.pool) { await life.end(runs) }
    }
}
