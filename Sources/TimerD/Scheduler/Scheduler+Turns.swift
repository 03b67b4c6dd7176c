// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

/// Due fires that wait for their user's share, or until the thread has done other work.
extension Scheduler {
    /// The next call of `takeTurns`.
    struct PlannedTurn {
        /// In elapsed time.
        var date: Timestamp
        /// Nil where turns are taken as soon as the thread has done other work.
        var timer: (any ArmedTimer)?
    }

    /// Makes a job's fire wait for its turn.
    func awaitTurn(_ entry: ArmedJob) {
        let (id, owner) = (entry.job.id, entry.job.owner.uid)
        turns.wait(id, of: owner, hasHadTurn: entry.hasHadTurn, at: clock.now().elapsed)
        // Dates that pass meanwhile are put down to the user's own overload; not for a user without a limit,
        // who waits only because of others.
        if turns.isLimited(owner) { armed.noteWait(of: id) }
        scheduleTurn()
    }

    /// Begins the fires whose turn it is, for a slice of time; then the run loop goes on.
    func takeTurns() {
        cancelTurn()
        guard !isStopping else { return }
        turns.countsUnstored = store.statistics.trouble == nil
        let began = clock.now().elapsed
        var now = began
        while now - began < FireTurns.slice, let job = turns.next(at: now) {
            timerFired(job, isItsTurn: true)
            now = clock.now().elapsed
        }
        turns.beginPass(at: now)
        scheduleTurn()
    }

    /// The records of so many fires of the user are stored: one that waited for that has its turn.
    func firesStored(_ count: Int, of owner: UInt32) {
        if turns.stored(owner, count: count, at: clock.now().elapsed) { scheduleTurn() }
    }

    /// Schedules `takeTurns` for when the next turn may be taken.
    func scheduleTurn() {
        let moment = clock.now()
        let isStarting = places.taken > fires.withProcess
        guard let date = turns.nextTurn(at: moment.elapsed, isStarting: isStarting), !isStopping
        else { return }
        // A call that is scheduled no later schedules this one.
        if let plannedTurn, plannedTurn.date <= date { return }
        cancelTurn()
        if date <= moment.elapsed {
            plannedTurn = PlannedTurn(date: date)
            perform { $0.takeTurns() }
        } else {
            let timer = loop.arm(.turns, at: moment.wallDate(date, on: .elapsed), for: self)
            plannedTurn = PlannedTurn(date: date, timer: timer)
        }
    }

    /// Has no turn planned any more.
    func cancelTurn() {
        plannedTurn?.timer?.invalidate()
        plannedTurn = nil
    }
}
