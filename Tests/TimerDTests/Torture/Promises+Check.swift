// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import TimerControl

@testable import LinuxSystem
@testable import SQLite
@testable import TimerD

extension Promises {
    /// What the database at `path` does not keep of what was promised, a sentence each.
    ///
    /// `log`: that of a daemon which has stopped in order, so nothing is half done.
    func broken(in path: String, stopped log: String? = nil) throws -> [String] {
        // Before the database is read: what the daemon does meanwhile is in there and not in here.
        let state = now
        let attempts = try? String(contentsOfFile: attemptsFile, encoding: .utf8)
        let database = try Database(path: path, mode: .readOnly)
        defer { database.close() }
        try database.beginReading()
        var problems = state.problems
        problems += try jobProblems(state, database)
        problems += try batchProblems(state, database)
        problems += try eventProblems(state, database)
        problems += try gridProblems(state, database)
        problems += try attemptProblems(attempts ?? "", isAtRest: log != nil, database)
        problems += try fireProblems(state, database)
        if let log {
            problems += try idleProblems(database, log)
            let sound = try database.prepare("PRAGMA integrity_check").all {
                try $0.get(0, as: String.self)
            }
            if sound != ["ok"] { problems += sound.prefix(5).map { "the database: \($0)" } }
        }
        return problems
    }

    /// Each job that was answered is there, as it was stated, in the state that was answered last.
    private func jobProblems(_ state: State, _ database: Database) throws -> [String] {
        var stored: [JobID: (state: Job.State, mark: String?, date: Timestamp?)] = [:]
        let query = """
            SELECT id, state, user_info, CASE WHEN clock = 'wall' THEN fire_date_us
                ELSE fire_date_us + (SELECT shift_us FROM daemon_state) END
            FROM jobs JOIN job_definitions ON job_id = id
            """
        let rows = try database.prepare(query).all { row in
            (
                id: try row.get(0, as: JobID.self), state: try row.get(1, as: Job.State.self),
                mark: try row.get(2, as: String?.self), date: try row.get(3, as: Timestamp?.self)
            )
        }
        for row in rows { stored[row.id] = (row.state, row.mark, row.date) }
        var problems: [String] = []
        for (id, promise) in state.jobs {
            guard let job = stored[id] else {
                problems.append("job \(id) was answered and is not there")
                continue
            }
            if job.mark != "\"\(promise.mark)\"" {
                problems.append("job \(id) is \(job.mark ?? "nothing"), not '\(promise.mark)'")
            }
            if let answered = promise.state, answered != job.state {
                // All else is for its clients to do.
                let isByItself = answered == .scheduled && job.state == .finished
                if !isByItself { problems.append("job \(id) was \(answered), is \(job.state)") }
            }
            if let date = promise.movedTo, job.state == .scheduled, let next = job.date,
                (next - date).magnitude > TimeSpan(microseconds: 2000)
            {
                problems.append("job \(id) was moved to \(date), is due \(next)")
            }
        }
        return problems
    }

    private func batchProblems(_ state: State, _ database: Database) throws -> [String] {
        let query = "SELECT count(*) FROM job_definitions WHERE user_info GLOB ?1"
        return try state.batches.compactMap { mark, count in
            let found = try database.prepare(query).value("\"\(mark).*", as: Int.self) ?? 0
            return found == 0 || found == count ? nil : "\(found) of the \(count) jobs of \(mark)"
        }
    }

    /// What watchers saw is what is stored, number by number, and nothing that is stored was left
    /// out; a fire that comes again says so.
    private func eventProblems(_ state: State, _ database: Database) throws -> [String] {
        var problems: [String] = []
        let query = """
            SELECT seq, type, job_id, fire_id FROM events WHERE seq BETWEEN ?1 AND ?2
            """
        try database.prepare(query).forEach(state.firstSeq, state.lastSeq) { row in
            let seq: Int64 = try row.get(0)
            let stored = Told(type: try row.get(1), job: try row.get(2), fire: try row.get(3))
            guard let told = state.told[seq] else {
                problems.append("event \(seq) (\(stored)) was never told")
                return
            }
            if told != stored { problems.append("event \(seq) was \(told), is \(stored)") }
        }
        for (fire, count) in state.firstTellings where count > 1 {
            problems.append("fire \(fire) was told \(count) times without saying so")
        }
        return problems
    }

    /// Each date of a grid is one fire, or lies in one row with a reason: from the first on, without
    /// a gap, to the date that comes next.
    private func gridProblems(_ state: State, _ database: Database) throws -> [String] {
        var problems: [String] = []
        // Fires by hand are beside the grid. One that had to wait and was given up has that for its
        // reason; a date of the grid that was taken for one would leave a gap.
        let rows = """
            SELECT fire_date_us, dates, state, reason FROM fires
            WHERE job_id = ?1 AND reason IS NOT 'manual' AND reason IS NOT 'withdrawn'
                AND NOT (state = 'skipped' AND reason IN ('overlap', 'invalidated')
                    AND (fire_date_us - ?2) % ?3 <> 0)
            ORDER BY fire_date_us
            """
        let job = "SELECT anchor_us, fire_date_us, state, claim_id FROM jobs WHERE id = ?1"
        for (id, promise) in state.jobs {
            guard let interval = promise.interval else { continue }
            let stored = try database.prepare(job).first(id) { row in
                (
                    anchor: try row.get(0, as: Int64.self), next: try row.get(1, as: Int64?.self),
                    state: try row.get(2, as: Job.State.self),
                    claim: try row.get(3, as: Int64?.self)
                )
            }
            guard let stored else { continue }
            var expected = stored.anchor
            var last: Int64?
            // The claim; of an event there may be more behind it.
            var claimed: Int64?
            try database.prepare(rows).forEach(id, stored.anchor, interval) { row in
                let date: Int64 = try row.get(0)
                if date != expected {
                    problems.append(
                        "job \(id), every \(interval) us: \(expected) is missing before the row of \(date), "
                            + "\(try row.get(2, as: String.self)) for \(try row.get(3, as: String?.self) ?? "no reason")"
                    )
                }
                last = date
                if claimed == nil, try row.get(2, as: Run.State.self) == .claimed { claimed = date }
                expected = date + (try row.get(1, as: Int64.self)) * interval
                if try row.get(2, as: Run.State.self) == .skipped,
                    try row.get(3, as: FireReason?.self) == nil
                {
                    problems.append("job \(id): the date \(date) was skipped without a reason")
                }
            }
            guard stored.state == .scheduled else { continue }
            let isNext =
                stored.claim == nil ? stored.next == expected : stored.next == (claimed ?? last)
            if !isNext {
                problems.append(
                    "job \(id): next is \(String(describing: stored.next)), after \(expected)"
                )
            }
        }
        return problems
    }

    /// No command ran twice within an attempt, and each that ran had its row before.
    private func attemptProblems(
        _ text: String,
        isAtRest: Bool,
        _ database: Database
    ) throws -> [String] {
        var problems: [String] = []
        var lines: Set<Substring> = []
        for line in text.split(separator: "\n") where !lines.insert(line).inserted {
            problems.append("job, fire, attempt \(line): ran twice")
        }
        let query = "SELECT job_id || ' ' || fire_id || ' ' || attempt, outcome FROM runs"
        let runs = try database.prepare(query).all { row in
            (line: try row.get(0, as: String.self), outcome: try row.get(1, as: String?.self))
        }
        // A daemon that goes on may have ended a run since the file was read.
        for run in runs where isAtRest && run.outcome == "exited" && !lines.contains(run.line[...])
        {
            problems.append("job, fire, attempt \(run.line): has ended and did not run")
        }
        let stored = Set(runs.map { $0.line[...] })
        for line in lines.subtracting(stored) {
            problems.append("job, fire, attempt \(line): ran and has no row")
        }
        return problems
    }

    /// Each fire that was told has its row; and nothing begins after an invalidation was answered.
    private func fireProblems(_ state: State, _ database: Database) throws -> [String] {
        var problems: [String] = []
        // The daemon's wall clock may be off by what counts as no step.
        let noise = TimeSpan.milliseconds(2)
        func check(_ what: String, _ query: String) throws {
            let begun = try database.prepare(query).all { row in
                (job: try row.get(0, as: JobID.self), at: try row.get(1, as: Timestamp?.self))
            }
            for case (let job, let date?) in begun {
                guard let answered = state.jobs[job]?.invalidatedAt, date > answered + noise
                else { continue }
                problems.append("job \(job): \(what) at \(date), invalidated at \(answered)")
            }
        }
        try check("fired", "SELECT job_id, fired_at_us FROM fires")
        // A fire that had begun before the answer is carried out: its command may be on its way to
        // the process table, or wait for a place among the runs. So what counts is not when the run
        // began, but when that was settled: its fire, or the end of the attempt before it.
        let runs = """
            SELECT runs.job_id, max(fires.fired_at_us, coalesce((
                SELECT max(earlier.ended_at_us) FROM runs AS earlier
                WHERE earlier.fire_id = runs.fire_id AND earlier.attempt < runs.attempt), 0))
            FROM runs JOIN fires ON fires.id = runs.fire_id WHERE runs.started_at_us IS NOT NULL
            """
        try check("what a run follows came", runs)
        let stored = Set(
            try database.prepare("SELECT id FROM fires").all { try $0.get(0, as: Int64.self) }
        )
        let gone = state.told.values.filter { told in
            told.type == "fire.fired" && !(told.fire.map(stored.contains) ?? false)
        }
        problems += gone.map { "fire \($0.fire ?? 0) of job \($0.job) was told and has no row" }
        return problems
    }

    /// Once a daemon has stopped in order, no date that has passed waits, and nothing is half done but the runs that it
    /// left to the runner.
    private func idleProblems(_ database: Database, _ log: String) throws -> [String] {
        let late = """
            SELECT count(*) FROM jobs WHERE state = 'scheduled' AND due_us IS NOT NULL
                AND due_us + CASE clock WHEN 'wall' THEN 0
                    ELSE (SELECT shift_us FROM daemon_state) END < ?1
            """
        let now = SystemClock.read().wall
        let passed = try database.prepare(late).value(now - .seconds(5), as: Int.self) ?? 0
        let open = try database.prepare("SELECT count(*) FROM fires WHERE state = 'running'")
            .value(as: Int.self)
        let left = log.split(separator: "\n").count { $0.contains("a run goes on") }
        return (passed == 0 ? [] : ["\(passed) jobs are overdue by more than 5 s"])
            + (open == left
                ? [] : ["\(open ?? 0) fires are running after the end, \(left) runs go on"])
    }
}
