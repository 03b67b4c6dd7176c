// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a new job is held against beside its owner's number of jobs: keys that are taken, queues that are full.
extension JobTransaction {
    /// The job that has the key of a new one still; nil where the key is free.
    func keptJob(of key: String, _ owner: OwnerID) throws -> StoredJob? {
        guard let id = try jobs.id(ofKey: key, owner: owner), var job = try job(id),
            // It may have been given another key, or none.
            job.definition.key == key
        else { return nil }
        if !job.state.isLive, let end = job.endedAt, try !fires.hasOpen(id) {
            guard moment.wall - end < job.definition.keyLife else { return nil }
        }
        job.isExisting = true
        return job
    }

    /// Makes the queues that new jobs name.
    ///
    /// - Throws: `ControlError` `limitReached` where the owner has too many queues, or too many tasks.
    func requireQueues(for new: [NewJob], of owner: OwnerID) throws {
        let names = Set(new.compactMap { $0.policy.queue?.queue })
        guard !names.isEmpty else { return }
        for name in names { try ensure(QueueKey(owner: owner, name: name)) }
        guard new[0].owner.uid != 0 else { return }
        let count = try queues.tasks(of: owner)
        guard count < maxTasks else {
            throw ControlError(
                .limitReached,
                "you have \(count) tasks that are not over, and maxTasksPerUser is \(maxTasks); "
                    + "'timerctl queue list' shows where they wait"
            )
        }
    }
}
