// SPDX-License-Identifier: Apache-2.0

import DequeModule
import LinuxSystem
import Schedules
import TimerControl

/// The outcome of one write, and how much of it has been taken over.
struct SaidByStore: Sendable {
    /// How many jobs and events are taken over before the thread goes on with what is due.
    static let slice = 64

    var begin: @Sendable (isolated Scheduler) -> Void
    var outcome: StoreOutcome
    var finish: @Sendable (isolated Scheduler) -> Void
    /// How many of its events were told, and of its jobs taken over.
    var told = 0
    var taken = 0

    var count: Int { outcome.outboxEvents.count + outcome.jobs.count }
}

/// How the scheduler takes over what the store has written: in the order of the store, and a slice at a
/// time, so that no write of many jobs keeps a fire waiting.
extension Scheduler {
    /// Takes over the jobs as a write left them, tells the watchers what has changed, and calls `finish`
    /// once all of it is armed.
    ///
    /// Earlier outcomes go first; `begin` is called when the turn of this one comes. Whoever hands it over has
    /// called `beginHandover` on the store's thread.
    func take(
        _ outcome: StoreOutcome,
        begin: @escaping @Sendable (isolated Scheduler) -> Void,
        finish: @escaping @Sendable (isolated Scheduler) -> Void
    ) {
        let isAlone = said.isEmpty
        said.append(SaidByStore(begin: begin, outcome: outcome, finish: finish))
        // Else a slice is on its way already.
        if isAlone { takeSlice() }
    }

    /// Takes over what a write did, as the other `take` does, with nothing to do when its turn comes.
    func take(
        _ outcome: StoreOutcome,
        finish: @escaping @Sendable (isolated Scheduler) -> Void
    ) {
        take(outcome, begin: { _ in }, finish: finish)
    }

    /// Takes over all that the store has said, at once.
    func takeAll() {
        while !said.isEmpty { takeSome() }
    }

    /// Takes over a slice; what is due goes ahead of the next one.
    private func takeSlice() {
        takeSome()
        guard !said.isEmpty else { return }
        perform { $0.takeSlice() }
    }

    private func takeSome() {
        var room = SaidByStore.slice
        while room > 0, !said.isEmpty {
            room -= max(1, takeSome(room))
        }
        loadWindowIfDue()
        announceLoadDate()
    }

    /// Takes over at most `room` events and jobs of the first outcome; returns how many.
    private func takeSome(_ room: Int) -> Int {
        let first = said[0]
        if first.told == 0, first.taken == 0 {
            first.begin(self)
            // Before the jobs are armed: none of them may go by rules that are over.
            if let zones = first.outcome.zones { take(zones) }
        }
        // Events go first: a watcher hears of a new job before it fires.
        let outboxEvents = first.outcome.outboxEvents.dropFirst(first.told).prefix(room)
        let jobs = first.outcome.jobs.dropFirst(first.taken).prefix(room - outboxEvents.count)
        said[0].told += outboxEvents.count
        said[0].taken += jobs.count
        counters.countSkipped(Array(outboxEvents))
        publish(Array(outboxEvents))
        noteHeld(Array(outboxEvents))
        for job in jobs { take(job) }
        let count = outboxEvents.count + jobs.count
        guard first.told + first.taken + count == first.count else { return count }
        said.removeFirst()
        terms.endHandover()
        if first.outcome.isOverfull {
            retention.isOverfull(now: clock.now().elapsed)
            pruneIfDue()
        }
        dropClosed(first.outcome.closed)
        closeLeft(first.outcome.left)
        if let date = first.outcome.noticeDate { awaitNotices(at: date) }
        for run in first.outcome.ended {
            counters.countRun(run.outcome, of: run.job, handler: run.handler)
        }
        taskStanding.countAtOnce(first.outcome.tasksAtOnce)
        if !first.outcome.tasks.isNothing { take(first.outcome.tasks) }
        first.finish(self)
        // Last: `finish` may drop what these fires were until now.
        for fire in first.outcome.handled { wait(fire, for: .place) }
        return count
    }

    private func take(_ said: StoredJob) {
        if fires.noteChange(of: said) { hostChanged(of: said.id) }
        guard let job = goneAhead.take(said) else { return }
        if said.told > 0, let entry = armed[job.id], entry.timer != nil, !isStopping,
            job.state == .scheduled, !job.isHeld, let fire = job.claim?.fire,
            fire == entry.job.claim?.fire
        {
            return armed.update(job)
        }
        armed.stopTimer(of: job.id)
        let before = armed.remove(job.id)
        defer {
            // A run that was prepared for a fire which is not the next any more gives its place back.
            if let fire = before?.unstartedFire, fire != armed[job.id]?.unstartedFire {
                leavePlace(fire)
            }
        }
        if job.state == .invalidated { withdrawFires(of: job.id, inPieces: true) }
        if !job.state.isLive {
            tiedJobs.forget(job.id)
            if job.definition.whilePid != nil {
                targets.forget(job.id)
                untied[job.id] = nil
            }
        }
        guard job.state == .scheduled, !job.isHeld, !isStopping else { return }
        if job.claim != nil {
            armed.insert(ArmedJob(job: job, since: before))
            arm(job.id)
        } else if let date = job.dueDate {
            window.noteWaiting(for: clock.now().elapsedDate(date, on: job.clock), of: job.ownerID)
        }
    }
}
