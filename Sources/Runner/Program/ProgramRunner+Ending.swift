// SPDX-License-Identifier: Apache-2.0

import JobModel
import Locks

/// How a run is to be ended.
struct RunEnding: Sendable {
    var teardown: Teardown
    /// Whether with the runner's own rights.
    var asRunner = false
    /// Whether that is because all runs are ended: the runner keeps it with the run, also for the next daemon.
    var withAll = false
    /// Whether one that is being ended is left at that.
    var isAgain = false
    /// Whether what its own process leaves behind is ended by `teardown`, too.
    var withRest = false
}

/// How runs are ended, and what is said of those whose runner is gone; all of it on the loop's thread.
extension ProgramRunner {
    /// Ends a run, at once or as soon as it has been ordered.
    func end(_ run: Int64, _ ending: RunEnding) {
        let isOrdered = state.withLock { state in
            guard state.entries[run]?.isOrdered == false else { return true }
            state.entries[run]?.wish = ending
            return false
        }
        guard isOrdered else { return }
        if case .linked(let link) = connection {
            sendEnd(of: run, ending, over: link)
        } else {
            // Said as soon as somebody hears it, if the run goes on then.
            state.withLock { $0.entries[run]?.wish = ending }
            answerNobody()
        }
    }

    func sendEnd(of run: Int64, _ ending: RunEnding, over link: any RunnerLink) {
        let isOfBefore = state.withLock { state in
            state.entries[run]?.asked = ending
            return state.entries[run]?.isOfBefore == true
        }
        let order = RunnerOrder.end(
            run: run,
            ending.teardown,
            asRunner: ending.asRunner,
            withAll: ending.withAll,
            isAgain: ending.isAgain,
            // By its rules, which its job may have had others of since, unless somebody has said how.
            asBegun: isOfBefore && !ending.withRest,
            withRest: ending.withRest
        )
        link.send(order)
        expectAnswer(over: link)
    }

    /// Nobody is there who could say what came of a signal: who waits for that is told so, and the next connection says
    /// again what was not answered.
    func answerNobody() {
        let answers = state.withLock { state in
            state.entries.keys.flatMap { run -> [CheckedContinuation<SignalAnswer?, Never>] in
                if let asked = state.entries[run]?.asked { state.entries[run]?.wish = asked }
                state.entries[run]?.asked = nil
                // What a daemon before has asked for no client waits for: whoever does hears what comes of it then.
                if state.entries[run]?.wish?.isAgain == true { return [] }
                defer { state.entries[run]?.answers = [] }
                return state.entries[run]?.answers ?? []
            }
        }
        for answer in answers { answer.resume(returning: .unknown) }
    }

    /// The runner that had it is gone, and its processes with it.
    ///
    /// Who takes it up may come later: that is told then.
    func interrupt(_ run: Int64) {
        let date = now()
        let entry = state.withLock { state in
            state.entries[run]?.lostAt = date
            return state.entries[run]
        }
        if entry?.isForgotten == true { return stored(run) }
        if entry?.done != nil, let result = entry?.result { complete(run, .success(result)) }
    }

    /// It ends without a process, for that reason.
    func refuse(_ run: Int64, _ refusal: StartRefusal) {
        complete(run, .success(.notStarted(refusal, at: now())))
        state.withLock { $0.entries[run] = nil }
    }

    /// Tells whoever waits for it what became of a run; forgets one of which there is nothing to store.
    func complete(_ run: Int64, _ result: Result<RunResult, RunBreak>) {
        let entry = state.withLock { state in
            defer {
                state.entries[run]?.done = nil
                state.entries[run]?.answers = []
                state.entries[run]?.beginners = []
                if case .failure = result { state.entries[run] = nil }
            }
            return state.entries[run]
        }
        for beginner in entry?.beginners ?? [] { beginner.resume() }
        for answer in entry?.answers ?? [] { answer.resume(returning: .gone) }
        entry?.done?.resume(returning: result)
    }

    /// The runner, which has said all that it knows, does not know a run that it may have been asked for.
    ///
    /// `isSame`: whether it is the runner that was there before.
    func giveUp(unknown run: Int64, _ entry: RunEntry, isSame: Bool) {
        // The same runner keeps what it was asked for: it has not read the order.
        guard entry.epoch.map({ $0 == current?.epoch }) ?? isSame else { return interrupt(run) }
        // Whoever takes it up is on the way, and hears of it then.
        if remote == nil, entry.done == nil { return }
        complete(run, .failure(.notBegun("timerd-runner did not get the order")))
    }

    /// There may be room for runs again.
    func noteRoom() {
        let hadNoRoom = state.withLock { state in
            defer { state.isFull = false }
            return state.isFull
        }
        if hadNoRoom { changed(.hasRoom) }
    }
}
