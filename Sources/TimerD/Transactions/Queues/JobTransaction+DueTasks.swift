// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// What becomes of tasks by itself, as their time comes: ended leases, delays that are over, and the end of those that wait
/// or are kept.
extension JobTransaction {
    /// Does what is due by itself of some tasks; the outcome says when to look again.
    ///
    /// A task is put off if it, its fire or its job cannot be read, so that no other waits for it. `gaps`: what earlier looks
    /// have shown. `now`: when this look is carried out, which may be later than when it was asked for.
    mutating func takeDueTasks(_ gaps: inout LeaseGaps, at now: Timestamp) throws {
        let due = try dueInTurn()
        gaps.look(
            askedAt: moment.elapsed,
            firstEnd: due.compactMap { Self.leaseEnd(of: $0) }.min(),
            firstDue: try tasks.nextDue(),
            at: now
        )
        for (fire, task) in due {
            do {
                let (row, end) = try task.get()
                try takeDue(row, endedAt: end, &gaps)
            } catch let error as DatabaseError where error.isUnreadableValue {
                try tasks.putOff(fire, until: moment.elapsed + Self.unreadPutOff)
                if database.notes.unreadTasks.insert(fire).inserted {
                    outcome.tasks.unread[fire] = error.message
                }
            }
        }
        outcome.tasks.note(try tasks.nextDue())
    }

    /// The tasks that are due, as many as one write takes; where there are more, the users take turns.
    ///
    /// Each user gets a share, with the tasks first that have been due longest. Users that got none in this write come first
    /// in the next.
    private func dueInTurn() throws -> [TaskStore.DueTask] {
        let first = try tasks.due(at: moment.elapsed, limit: Self.dueTasks + 1)
        guard first.count > Self.dueTasks else { return first }
        let owners = try tasks.dueOwners(at: moment.elapsed)
        let last = database.notes.dueOwner
        let share = max(1, Self.dueTasks / max(1, owners.count))
        var due: [TaskStore.DueTask] = []
        for owner in owners.filter({ $0 > last }) + owners.filter({ $0 <= last }) {
            guard due.count < Self.dueTasks else { break }
            due += try tasks.due(at: moment.elapsed, of: owner, limit: share)
            database.notes.dueOwner = owner
        }
        // Rows of a damaged owner are in no share; they are done too, or this would be tried again at once, for ever.
        return due.isEmpty ? Array(first.prefix(Self.dueTasks)) : due
    }

    /// When the lease of a due task has ended; nil where no worker has it, or it cannot be read.
    private static func leaseEnd(of due: TaskStore.DueTask) -> Timestamp? {
        guard case .success(let (row, end)) = due.task, row.state == .reserved else { return nil }
        return end
    }

    private mutating func takeDue(
        _ task: TaskRow,
        endedAt end: Timestamp,
        _ gaps: inout LeaseGaps
    ) throws {
        guard let job = try jobToChange(task.job, of: nil) else {
            // Its job is gone, and its fire with it.
            return try tasks.delete(task.fire)
        }
        switch task.state {
        case .reserved:
            if let next = gaps.renewal(of: task.fire, lease: task.lease, endedAt: end) {
                try tasks.extend(task.fire, lease: task.lease, until: next)
            } else {
                try lose(task, of: job, "its lease has ended")
            }
        case .delayed: try makeReady(task, of: job)
        case .ready: try expire(task, of: job)
        case .dead, .done: try drop(task, of: job, .dropped)
        }
    }

    /// After how long a task that could not be read is looked at again.
    private static let unreadPutOff = TimeSpan.seconds(3600)
    private static let dueTasks = 100

    private mutating func expire(_ task: TaskRow, of job: StoredJob) throws {
        // The clock may have been set back since, or the job given another end.
        let until = taskEnd(of: job)
        if let until, until <= moment.elapsed { return try drop(task, of: job, .expired) }
        try tasks.rest(task, due: until)
        noteRoom(in: task.key)
    }

    /// Until when the job's tasks wait for a worker, in elapsed time; nil for without end.
    func taskEnd(of job: StoredJob) -> Timestamp? {
        job.policy.until.map { moment.elapsedDate($0, on: .wall) }
    }

    /// Has the job's tasks that are ready wait until its `until`, as it is now.
    mutating func renewTaskEnds(of job: StoredJob) throws {
        let until = taskEnd(of: job)
        if try tasks.setEnd(until, ofReadyOf: job.id) { outcome.tasks.note(until) }
    }

    /// Has a piece of all tasks that are ready, those behind `cursor`, wait until their `until` by what the wall clock says now.
    ///
    /// - Returns: behind which to go on; nil behind the last.
    mutating func renewTaskEnds(behind cursor: TaskCursor) throws -> TaskCursor? {
        let piece = try tasks.due(behind: cursor, limit: Self.dueTasks)
        for case (let task?, _) in piece where task.state == .ready {
            guard let job = try jobToChange(task.job, of: nil), let until = taskEnd(of: job) else {
                continue
            }
            try tasks.rest(task, due: until)
            outcome.tasks.note(until)
        }
        return piece.count == Self.dueTasks ? piece.last?.cursor : nil
    }
}
