// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Schedules
import TimerControl

/// Puts together what `daemon.status` answers; nothing in it takes longer with more jobs.
struct StatusReport: Sendable {
    let configuration: Configuration
    let startedAt: Timestamp
    let clock: any WallClock
    let scheduler: Scheduler
    let store: Store
    let watchers: @Sendable () -> Int
    let newestEvent: @Sendable () -> Int64
    /// Known once the socket listens.
    let connections = Source()

    /// A number that is asked for where it is kept.
    final class Source: Sendable {
        private let body = Locked<@Sendable () -> Int>({ 0 })
        func set(_ new: @escaping @Sendable () -> Int) { body.withLock { $0 = new } }
        var value: Int { body.withLock { $0 }() }
    }

    /// What `caller` may know: all are told the numbers, administrators alone the next date.
    ///
    /// It would be that of somebody's job.
    @Sendable func reply(to caller: Caller) async -> StatusReply {
        let (armed, running, waiting, next) = await scheduler.standing(
            withNextDate: caller.isAdministrator
        )
        var live: (scheduled: Int, paused: Int, held: Int)?
        var trouble = store.writer.statistics.trouble.map { "\($0)" }
        do {
            live = try await store.reader.read { try Queries($0).liveJobs() }
        } catch {
            trouble = trouble ?? "\(error)"
        }
        return StatusReply(
            version: timerdVersion,
            pid: getpid(),
            startedAt: startedAt,
            now: clock.now().wall,
            database: configuration.database,
            socket: configuration.socket,
            scheduled: live?.scheduled,
            paused: live?.paused,
            held: live?.held,
            armed: armed,
            running: running,
            waiting: waiting,
            connections: connections.value,
            watchers: watchers(),
            seq: newestEvent(),
            nextFireDate: next,
            trouble: trouble
        )
    }
}

extension Scheduler {
    /// How many jobs are armed, how many runs are in progress and fires wait for theirs, and the next fire
    /// date of all.
    ///
    /// That date alone needs a look at all that is armed: for administrators, who are told it.
    func standing(
        withNextDate isNextWanted: Bool
    ) -> (armed: Int, running: Int, waiting: Int, nextFireDate: Timestamp?) {
        let (running, waits) = (fires.running, fires.waiting)
        guard isNextWanted else { return (armed.count, running, waits, nil) }
        let moment = clock.now()
        let soonest = armed.all.lazy.compactMap { $0.job.wallFireDate(at: moment) }.min()
        let waiting = window.firstKnown.map { moment.wallDate($0, on: .elapsed) }
        return (armed.count, running, waits, soonest ?? waiting)
    }
}
