// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules

/// What the scheduler has in hand of tasks, for writes that pass it by.
///
/// Behind a lock: it is changed on the scheduler's thread, and read on the store's when a write is durable.
final class TaskStanding: Sendable {
    private struct State {
        /// Who waits for tasks, or asks for them on behalf of the scheduler.
        var waiters = 0
        /// How many attempts are tied to connections.
        var tied = 0
        /// When the scheduler looks next at what is due; in elapsed time.
        var planned: Timestamp?
        /// Tasks that were due when their jobs were added, since the daemon's start.
        var atOnce = 0
    }

    private let state = Locked(State())

    // MARK: - From the scheduler

    func set(waiters: Int) { state.withLock { $0.waiters = waiters } }

    func set(tied: Int) { state.withLock { $0.tied = tied } }

    func set(planned: Timestamp?) { state.withLock { $0.planned = planned } }

    /// How many tasks have passed the scheduler by.
    var atOnce: Int { state.withLock { $0.atOnce } }

    // MARK: - From any thread

    /// Whether somebody waits for a task: then tasks are handed out by the scheduler, in its order.
    var isAnybodyWaiting: Bool { state.withLock { $0.waiters > 0 } }

    /// Notes tasks that were due when their jobs were added.
    func countAtOnce(_ count: Int) { state.withLock { $0.atOnce += count } }

    /// Whether the scheduler has something to do for what a write has done, which is durable.
    ///
    /// Who begins to wait or to ask after this is told by the store, which has it.
    func concerns(_ outcomes: TaskOutcomes) -> Bool {
        state.withLock { state in
            if !outcomes.blocked.isEmpty { return true }
            if !outcomes.ready.isEmpty, state.waiters > 0 { return true }
            if !outcomes.over.isEmpty, state.tied > 0 { return true }
            guard let due = outcomes.due else { return false }
            return state.planned.map { $0 > due } ?? true
        }
    }
}
