// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

/// The oldest runs of a job, which make room for new ones.
extension RunStore {
    /// How many runs one trim looks at of which some stay.
    ///
    /// Each end of a run trims, so it is to cost next to nothing, and still more go by it than come.
    static let trimLimit = 32

    /// Ahead of all runs.
    static let trimStart = RunID(rawValue: 0)

    /// Deletes ended runs of a job that are behind `place`, except for its newest `kept`.
    ///
    /// Those of a fire that is not over stay, because they tell which attempt is next. Many may: those of tasks that are dead,
    /// or with workers. So a trim ends where it has looked at `trimLimit` and some of them stay. `hasHandlers`: their runs
    /// count with the run that they follow, and go with it.
    ///
    /// - Returns: behind which run the next trim goes on; `trimStart` once all of them were looked at.
    func trim(_ job: JobID, keeping kept: Int, hasHandlers: Bool, behind place: RunID) throws
        -> RunID
    {
        let last: RunID? = try database.prepare(hasHandlers ? SQL.ownBehind : SQL.behind)
            .value(job, kept)
        guard let last else { return Self.trimStart }
        if hasHandlers { try database.prepare(SQL.deleteHandlersOf).run(last) }
        var place = place
        while true {
            let rows = try oldest(of: job, behind: place, through: last)
            for row in rows where row.isOver { try delete(row.run) }
            guard rows.count == Self.trimLimit, let next = rows.last?.run else {
                return Self.trimStart
            }
            place = next
            guard rows.allSatisfy({ $0.isOver }) else { return place }
        }
    }

    /// The job's next runs behind `place`; of each, whether it has ended and its fire is over.
    private func oldest(of job: JobID, behind place: RunID, through last: RunID) throws
        -> [(run: RunID, isOver: Bool)]
    {
        try database.prepare(SQL.oldestThrough).all(job, place, last) {
            (try $0.get(0), try $0.get(1))
        }
    }
}

extension RunStore.SQL {
    static let behind = """
        SELECT id FROM runs WHERE job_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2
        """
    static let ownBehind = """
        SELECT id FROM runs WHERE job_id = ?1 AND handler = 0 ORDER BY id DESC LIMIT 1 OFFSET ?2
        """
    /// Whether nothing follows a run: of a task that was dropped after an attempt the fire is skipped.
    ///
    /// A fire keeps its row for as long as it has a run, also a skipped one: see `FireStore.oldest`.
    private static let isOfFireThatIsOver = """
        (SELECT state = 'done' OR state = 'skipped' FROM fires WHERE fires.id = runs.fire_id) IS TRUE
        """
    /// Uses runs_by_job.
    static let oldestThrough = """
        SELECT id, outcome IS NOT NULL AND \(isOfFireThatIsOver)
        FROM runs INDEXED BY runs_by_job
        WHERE job_id = ?1 AND id > ?2 AND id <= ?3 ORDER BY id LIMIT \(RunStore.trimLimit)
        """
    static let deleteHandlersOf = """
        DELETE FROM runs WHERE fire_id = (SELECT fire_id FROM runs WHERE id = ?1)
            AND handler <> 0 AND outcome IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM runs AS own
                WHERE own.fire_id = runs.fire_id AND own.handler = 0 AND own.id > ?1)
            AND \(isOfFireThatIsOver)
        """
}
