// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// A queue with what a list says of it beside its row.
struct FoundQueue: Sendable {
    var row: QueueRow
    var owner: String
    /// In elapsed time.
    var oldest: Timestamp?
}

/// What may be asked of tasks and queues.
extension Queries {
    /// A page of the queues of one owner, or of all, by owner and name; where only some are asked for it ends as well where so many
    /// rows were looked at.
    func queues(_ request: ListQueues, owner: OwnerID?) throws -> ([FoundQueue], QueueCursor?) {
        let limit = request.limit ?? 100
        let first = request.cursor.map { OwnerID(rawValue: $0.owner) } ?? .nobody
        // Whoever made up a cursor of another owner still sees queues of this one alone.
        let start = QueueKey(
            owner: max(first, owner ?? first),
            name: owner.map { first < $0 } == true ? "" : request.cursor?.queue ?? ""
        )
        let most = request.paused == nil ? limit : Self.queuesLooked
        let rows = try QueueStore(database).queues(
            after: start,
            upTo: owner ?? OwnerID(rawValue: .max),
            limit: most + 1
        )
        let room = PageRoom()
        var fitting: [QueueRow] = []
        let looked = rows.prefix(most).prefix { row in
            if let paused = request.paused, row.isPaused != paused { return true }
            guard fitting.count < limit,
                room.takes(Self.queueBytes + JSONWriter.byteCount(of: row.key.name))
            else { return false }
            fitting.append(row)
            return true
        }
        let isMore = looked.count < rows.count
        let cursor = looked.last.map {
            QueueCursor(owner: $0.key.owner.rawValue, queue: $0.key.name)
        }
        return (try fitting.map { try found($0) }, isMore ? cursor : nil)
    }

    /// How many rows a page looks at where only some of the queues are asked for: as many as it may have to tell of.
    private static let queuesLooked = Limits.page

    /// What a queue takes in a reply beside its name.
    private static let queueBytes = 300

    func queue(_ key: QueueKey) throws -> FoundQueue? {
        try QueueStore(database).queue(key).map { try found($0) }
    }

    private func found(_ row: QueueRow) throws -> FoundQueue {
        let name: String? = try database.prepare(QueueStore.SQL.ownerName).value(row.key.owner)
        let oldest = row.ready > 0 ? try QueueStore(database).oldest(row.key) : nil
        return FoundQueue(row: row, owner: name ?? "\(row.key.owner.rawValue)", oldest: oldest)
    }

    /// A page of tasks, by growing number; it ends where so many rows were looked at as well.
    func tasks(_ request: ListTasks, owner: OwnerID?, limit: Int, at moment: ClockReading) throws
        -> TasksReply
    {
        let room = PageRoom()
        var (found, looked): ([QueuedTask], Int) = ([], 0)
        var cursor = request.cursor ?? FireID(rawValue: 0)
        var isFull = false
        func look(_ row: borrowing Row) throws -> FireID? {
            guard !isFull else { return nil }
            let fire: FireID = try row.get(0)
            let state: QueuedTask.State? = row.ifReadable(5)
            let queue: String? = row.ifReadable(3)
            let matches =
                request.queue.map { ByteText($0) == queue.map { ByteText($0) } } ?? true
                && request.state.map { $0 == state } ?? true
            if matches {
                guard found.count < limit, room.takes(task: row) else {
                    isFull = true
                    return nil
                }
                do {
                    found.append(try task(row, at: moment))
                } catch let error as DatabaseError where error.isUnreadableValue {
                    found.append(unread(row, fire, error.message))
                }
            }
            looked += 1
            cursor = fire
            return fire
        }
        let select = try database.prepare(
            owner == nil ? TaskStore.SQL.list : TaskStore.SQL.listOfOwner
        )
        if let owner {
            _ = try select.all(cursor, Self.tasksLooked, owner) { try look($0) }
        } else {
            _ = try select.all(cursor, Self.tasksLooked) { try look($0) }
        }
        let isMore = isFull || looked == Self.tasksLooked
        return TasksReply(tasks: found, cursor: isMore ? cursor : nil)
    }

    private static let tasksLooked = 2000

    /// What can be read of an unreadable row: without a state, and with why.
    private func unread(_ row: borrowing Row, _ fire: FireID, _ why: String) -> QueuedTask {
        var task = QueuedTask(
            fire: fire,
            job: row.ifReadable(1) ?? JobID(rawValue: 0),
            queue: row.ifReadable(3) ?? "",
            priority: row.ifReadable(4) ?? 0,
            fireDate: row.ifReadable(9) ?? .distantPast,
            attempt: row.ifReadable(8) ?? 0
        )
        (task.name, task.owner) = (row.ifReadable(10), row.ifReadable(12))
        task.reason = "this task cannot be read: \(why)"
        return task
    }

    private func task(_ row: borrowing Row, at moment: ClockReading) throws -> QueuedTask {
        var task = QueuedTask(
            fire: try row.get(0),
            job: try row.get(1),
            queue: try row.get(3),
            priority: try row.get(4),
            fireDate: try row.get(9),
            attempt: try row.get(8)
        )
        let state: QueuedTask.State = try row.get(5)
        task.state = state
        let (ready, due): (Timestamp, Timestamp?) = (try row.get(6), try row.get(7))
        if state == .ready || state == .delayed {
            task.readyAt = moment.wallDate(ready, on: .elapsed)
        }
        if state == .reserved { task.leaseUntil = due.map { moment.wallDate($0, on: .elapsed) } }
        task.name = try row.get(10)
        task.userInfo = (try row.get(11, as: String?.self)).flatMap(JSONText.init(stored:))
        task.owner = try row.get(12)
        task.reason = try row.get(13)
        return task
    }
}

extension TaskStore.SQL {
    private static let listed = """
        tasks.fire_id, tasks.job_id, tasks.owner_id, tasks.queue, tasks.priority, tasks.state,
        tasks.ready_us, tasks.due_us, tasks.attempt, fires.wall_date_us, job_definitions.name,
        job_definitions.user_info, owners.name, \(reason)
        """
    /// What the last attempt that has ended failed with, or how it was lost; uses runs_by_fire.
    private static let reason = """
        (SELECT CASE WHEN runs.outcome <> 'lost' THEN runs.error
            WHEN tasks.state = 'dead'
                THEN 'lost ' || tasks.losses || ' times, the last time because ' || runs.error
            ELSE 'lost: ' || runs.error END
        FROM runs WHERE runs.fire_id = tasks.fire_id AND runs.outcome IS NOT NULL
        ORDER BY runs.id DESC LIMIT 1)
        """
    private static let listSource = """
        JOIN fires ON fires.id = tasks.fire_id
            JOIN job_definitions ON job_definitions.job_id = tasks.job_id
            LEFT JOIN owners ON owners.id = tasks.owner_id
        """
    static let list = """
        SELECT \(listed) FROM tasks \(listSource)
        WHERE tasks.fire_id > ?1 ORDER BY tasks.fire_id LIMIT ?2
        """
    static let listOfOwner = """
        SELECT \(listed) FROM tasks INDEXED BY tasks_by_owner \(listSource)
        WHERE tasks.owner_id = ?3 AND tasks.fire_id > ?1 ORDER BY tasks.fire_id LIMIT ?2
        """
}
