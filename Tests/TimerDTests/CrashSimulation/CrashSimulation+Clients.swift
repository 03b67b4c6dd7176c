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
        case .kill: killsNext = true
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
                jobs[job.id]?.restoresAsked += 1
                ask(.restoreJobs(.ids([job.id])), of: []) { [self] _, _ in
                    jobs[job.id]?.restoresAnswered += 1
                }
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
    func ask(
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
        if stored == nil, life?.loss != nil {
            // It is where the jobs are shared; the copy could not be written, and says nothing of it.
            acceptedElsewhere.insert(id)
            return
        }
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

    func ended(_ id: JobID) {
        jobs[id]?.state = .ended
        jobs[id]?.isEndAnswered = true
        jobs[id]?.mayHaveEnded = true
        tell("job \(id) has ended")
    }
}
