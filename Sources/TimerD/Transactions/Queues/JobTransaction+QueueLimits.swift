// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// How many queues and tasks an owner may have, which a job with a queue is held against.
extension JobTransaction {
    /// Makes the queues that new jobs name.
    ///
    /// - Throws: `ControlError` `limitReached` where the owner has too many queues, or would have too many tasks: those
    ///   that are due at once count with what is there. One that is there by its key is none more.
    func requireQueues(for new: [NewJob], of owner: OwnerID, isDeclared: Bool) throws {
        let tasks = new.filter { $0.policy.queue != nil }
        let fresh = try fresh(of: tasks, owner, isDeclared: isDeclared)
        let names = fresh.compactMap { $0.policy.queue?.queue }
        for key in Set(names.map { QueueKey(owner: owner, name: $0) }) { try ensure(key) }
        guard !fresh.isEmpty, new[0].owner.uid != 0 else { return }
        let atOnce = fresh.count { new in
            guard new.isTaskOnceDue, new.definition.paused != true, !isInMaintenance,
                let first = new.firstFireDate(at: moment)
            else { return false }
            return first <= moment.reading(of: new.clock)
        }
        try requireTaskRoom(for: new[0].owner, owner, max(1, atOnce))
    }

    /// Makes the queue that a job has from now on, as one that was changed or restored.
    ///
    /// `hadOne`: it was accepted with a queue.
    /// - Throws: `ControlError` as `requireQueues`.
    func requireQueue(_ policy: QueuePolicy?, of job: StoredJob, hadOne: Bool) throws {
        guard let policy else { return }
        try ensure(QueueKey(owner: job.ownerID, name: policy.queue))
        if !hadOne { try requireTaskRoom(for: job.owner, job.ownerID) }
    }

    /// - Throws: `ControlError` `limitReached` where the owner may not have so many tasks more.
    func requireTaskRoom(for owner: Owner, _ id: OwnerID, _ more: Int = 1) throws {
        guard owner.uid != 0 else { return }
        let count = try queues.tasks(of: id)
        guard count + more > terms.maxTasks else { return }
        throw ControlError(
            .limitReached,
            "\(owner.words) has \(count) tasks that are not over, with \(more) more it would be above "
                + "maxTasksPerUser, which is \(terms.maxTasks); 'timerctl queue list' shows where they wait"
        )
    }
}
