// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// A fire with its run, and what the page that follows it is asked with.
struct RunOnPage: Sendable {
    var run: Run
    var cursor: RunCursor

    init(_ run: Run, date: Timestamp?) {
        self.run = run
        // A date that cannot be read comes before all others.
        cursor = RunCursor(date: date ?? .distantFuture, fire: run.fire, run: run.id)
    }
}

/// Rows of `fires` with their `runs`, as values.
enum RunRow {
    /// Behind `columns`, and the date.
    static let ownerColumn = 30

    /// What `run(from:)` reads, in its order; two more columns follow: the date by which a list has it, and whose it is.
    static let columns = """
        fires.id, fires.job_id, fires.wall_date_us, fires.state, fires.reason, fires.missed,
        fires.dates, fires.last_date_us, fires.fired_at_us,
        runs.id, runs.attempt, runs.outcome, runs.code, runs.error,
        runs.started_at_us, runs.ended_at_us, runs.user_us, runs.system_us, runs.peak_memory_bytes,
        runs.handler,
        CASE WHEN fires.waits_for = 'retry' AND \(isLastOfWaiting) THEN fires.waits_until_us
            WHEN \(isLastOfTask) THEN (
                SELECT tasks.ready_us + daemon_state.shift_us FROM tasks CROSS JOIN daemon_state
                WHERE tasks.fire_id = fires.id AND tasks.state = 'delayed' AND daemon_state.one = 1)
        END,
        CASE WHEN \(isLastOfWaiting) THEN fires.waits_for END, runs.survivors,
        (runs.failed_owner_id IS NOT NULL OR runs.id IS NULL AND fires.failed IS 1),
        (SELECT name FROM job_definitions WHERE job_definitions.job_id = fires.job_id), runs.node,
        fires.due_by_us, \(isLastOfTask), runs.stopped
        """
    /// Whether the fire waits, and this is its last run, or it has none.
    private static let isLastOfWaiting = """
        (fires.state = 'waiting' AND coalesce(runs.id, 0) = (
            SELECT coalesce(max(last.id), 0) FROM runs AS last WHERE last.fire_id = fires.id))
        """
    /// Whether it is the last attempt that has ended of a task that no worker has done.
    private static let isLastOfTask = """
        (runs.outcome IS NOT NULL AND (fires.state = 'queued' OR fires.state = 'reserved'
            OR fires.state = 'dead' OR fires.state = 'skipped'
            OR fires.state = 'waiting' AND fires.waits_for IS NULL
                AND fires.reason IS NOT NULL AND fires.reason <> 'manual')
            AND runs.id = (SELECT max(last.id) FROM runs AS last WHERE last.fire_id = fires.id))
        """
    /// Whether a fire is not known to be over, in the words of the index fires_open.
    ///
    /// A fire in a state that this version does not know is open. Not with IN, for which SQLite builds a
    /// table.
    static let isOpen = """
        (fires.state <> 'fired' AND fires.state <> 'done' AND fires.state <> 'skipped'
            AND fires.state <> 'forgotten' AND fires.state <> 'queued' AND fires.state <> 'reserved'
            AND fires.state <> 'dead')
        """
    /// Whether a fire is not known to be over; tasks are among these.
    static let isUnfinished = """
        (fires.state <> 'fired' AND fires.state <> 'done' AND fires.state <> 'skipped'
            AND fires.state <> 'forgotten')
        """
    /// Whether its command is to begin, or to begin again.
    static let isWaiting = "(fires.state = 'waiting' AND fires.waits_for IS NOT NULL)"
    /// Whether it was dropped while it waited, and the end of that is still to come: see `FireStore.drop`.
    static let isDropped = "(fires.state = 'waiting' AND fires.waits_for IS NULL)"
    /// Whether it did not become a fire, or is a task that was dropped; also where that end is still to come.
    static let isSkipped = """
        (fires.state = 'skipped'
            OR \(isDropped) AND fires.reason IS NOT NULL AND fires.reason <> 'manual')
        """
    static let source = "fires LEFT JOIN runs ON runs.fire_id = fires.id"

    /// The fire; if this version cannot read it, what can be read of it, with the reason.
    static func run(from row: borrowing Row) -> RunOnPage {
        do {
            return try read(row)
        } catch {
            return unread(row, (error as? DatabaseError)?.message ?? "\(error)")
        }
    }

    /// What can be read of an unreadable row: enough to say which fire it is, and when it was due.
    private static func unread(_ row: borrowing Row, _ reason: String) -> RunOnPage {
        var run = Run(
            job: row.ifReadable(1) ?? JobID(rawValue: 0),
            fire: row.ifReadable(0) ?? FireID(rawValue: 0),
            state: row.ifReadable(3) ?? .unreadable,
            fireDate: row.ifReadable(2) ?? .distantPast
        )
        run.unread = reason
        run.reason = row.ifReadable(4)
        run.through = row.ifReadable(7)
        run.firedAt = row.ifReadable(8)
        run.id = row.ifReadable(9)
        run.attempt = row.ifReadable(10)
        run.outcome = row.ifReadable(11)
        run.error = row.ifReadable(13)
        run.startedAt = row.ifReadable(14)
        run.endedAt = row.ifReadable(15)
        run.name = row.ifReadable(24)
        run.node = row.ifReadable(25)
        run.dueBy = row.ifReadable(26)
        return RunOnPage(run, date: row.ifReadable(29))
    }

    private static func read(_ row: borrowing Row) throws -> RunOnPage {
        var run = Run(
            job: try row.get(1),
            fire: try row.get(0),
            state: try row.get(3),
            fireDate: try row.date(2) ?? row.get(2)
        )
        run.reason = try row.get(4)
        run.missed = try row.count(5, above: 0)
        run.dates = try row.count(6, above: 1)
        run.through = try row.date(7)
        run.firedAt = try row.date(8)
        run.id = try row.get(9)
        run.attempt = try row.get(10)
        run.outcome = try row.get(11)
        let code: Int32? = try row.get(12)
        run.status = run.outcome == .exited ? code : nil
        run.signal = run.outcome == .signalled ? code : nil
        run.error = try row.get(13)
        run.startedAt = try row.date(14)
        run.endedAt = try row.date(15)
        run.userTime = try row.seconds(16)
        run.systemTime = try row.seconds(17)
        run.peakMemory = try row.get(18)
        run.survivors = try row.get(22)
        run.failed = try row.get(23) ? true : nil
        run.name = try row.get(24)
        run.node = try row.get(25)
        run.dueBy = try row.date(26)
        run.handler = try row.count(19, above: 0).flatMap(RunHandler.init)
        let handler: Int? = try row.get(19)
        guard run.id == nil || run.attempt != nil && handler != nil else {
            throw StoreError.unreadable("a run without the number of its attempt or its handler")
        }
        if run.handler != nil { run.attempt = nil }
        run.nextAttemptAt = try row.date(20)
        run.waitsFor = try row.get(21)
        // The fire may wait for its next attempt; this one is over. Of a task the last one says where that stands.
        if run.outcome != nil, try !row.get(27, as: Bool.self) { run.state = .done }
        // It was dropped, and its end is still to be stored: see `FireStore.drop`.
        if run.state == .waiting, run.waitsFor == nil {
            run.state = run.reason == nil || run.reason == .manual ? .done : .skipped
            // A task that was taken from its worker.
            if run.id != nil, run.outcome == nil { run.outcome = .lost }
        }
        let stopped: Int? = try row.get(28)
        run.stopped = stopped == nil ? nil : true
        run.stoppedBy = RunStop(stored: stopped)
        return RunOnPage(run, date: row.ifReadable(29))
    }
}

extension Row {
    /// A number if it is above `least`; nil if not, and for NULL.
    borrowing func count(_ column: Int, above least: Int) throws -> Int? {
        let count: Int? = try get(column)
        return count.flatMap { $0 > least ? $0 : nil }
    }

    /// A number of µs, in seconds.
    borrowing func seconds(_ column: Int) throws -> Double? {
        let microseconds: Int64? = try get(column)
        return microseconds.map { Double($0) / 1_000_000 }
    }
}
