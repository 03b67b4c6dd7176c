// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

/// Tasks that go along with their job into another queue, or stay as it is of none any more.
extension TaskStore {
    /// Takes the job's tasks that no worker has, all or that of `fire`, into `queue`, with the priority that they have there.
    ///
    /// - Returns: whether there was any that was not there.
    func move(of job: JobID, _ fire: FireID?, to queue: QueuePolicy) throws -> Bool {
        let first = fire ?? FireID(rawValue: 0)
        let last = fire ?? FireID(rawValue: .max)
        // As a whole: where a damaged task keeps it from that, the counts go by what it was before it is mended.
        return try mending {
            try database.savepoint {
                // The counts first: once the tasks are there, nothing tells them from the others.
                for sql in [SQL.leaveQueues, SQL.enterQueue, SQL.move] {
                    try database.prepare(sql).run {
                        $0.add(job)
                        $0.add(queue.queue)
                        $0.add(queue.priority)
                        $0.add(first)
                        $0.add(last)
                    }
                    guard database.changes > 0 else { return false }
                }
                return true
            }
        }
    }

    /// How many tasks of the job each queue has whose name can be read.
    func left(of job: JobID, _ sql: String = SQL.left) throws -> [(queue: String, count: Int)] {
        let rows: [(queue: String, count: Int)?] =
            try database.prepare(sql).all(job) { row in
                guard let queue = row.ifReadable(0, as: String.self) else { return nil }
                return (queue, try row.get(1))
            }
        return rows.compactMap(\.self)
    }
}

extension TaskStore.SQL {
    private static let areMoved = """
        job_id = ?1 AND fire_id BETWEEN ?4 AND ?5 AND state <> 'reserved'
            AND (queue <> ?2 OR priority <> ?3)
        """
    /// Adds them to the counts of a queue, or with "-" takes them off: the triggers know of no task that changes its queue.
    private static func counted(in queue: String, _ sign: String) -> String {
        """
        INSERT INTO queues (owner_id, name, ready, delayed, dead)
        SELECT owner_id, \(queue), \(sign)sum(state = 'ready'), \(sign)sum(state = 'delayed'),
            \(sign)sum(state = 'dead')
        FROM tasks INDEXED BY tasks_by_job WHERE \(areMoved) GROUP BY 1, 2
        ON CONFLICT (owner_id, name) DO UPDATE SET ready = ready + excluded.ready,
            delayed = delayed + excluded.delayed, dead = dead + excluded.dead
        """
    }
    static let leaveQueues = counted(in: "queue", "-")
    static let enterQueue = counted(in: "?2", "")
    static let left = left(in: "main")
    /// `schema`: also disk, for a dry run.
    static func left(in schema: String) -> String {
        """
        SELECT queue, count(*) FROM \(schema).tasks INDEXED BY tasks_by_job WHERE job_id = ?1
        GROUP BY queue
        """
    }
    static let move = """
        UPDATE tasks INDEXED BY tasks_by_job SET queue = ?2, priority = ?3 WHERE \(areMoved)
        """
}
