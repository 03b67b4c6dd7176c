// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What one write does to runs.
extension JobWriter {
    /// Stores that the fire's command is about to be started: after a crash it may have been.
    func prepareRun(of job: JobID, fire: FireID, attempt: Int) throws -> RunID {
        try database.prepare(SQL.markRunning).run(fire)
        try database.prepare(SQL.insertRun).run(job, fire, attempt)
        return RunID(rawValue: database.lastInsertRowID)
    }

    /// Takes back that the fire's command is about to be started: it was not, and is not now.
    func unprepare(_ fire: FireID) throws {
        try database.prepare(SQL.unprepare).run(fire)
        try database.prepare(SQL.deleteRunOfFire).run(fire)
    }

    /// Records that the run's process exists.
    ///
    /// `process`: what tells it from others, should it outlive the daemon.
    mutating func recordStarted(
        _ command: RunningCommand,
        _ pid: Int32,
        _ process: Orphan?,
        at date: Timestamp
    ) throws {
        let fire = command.fire
        try database.prepare(SQL.markStarted).run(command.run, pid, date, process?.ticks)
        try note(.runStarted, command.job, fire: fire.id, run: command.run) {
            $0.at = date
            $0.fireDate = fire.fireDate
            $0.attempt = fire.isOnFailure ? nil : fire.attempt
            $0.onFailure = fire.isOnFailure ? true : nil
        }
    }

    /// Records that a run in progress has processes that its timeout could not end.
    func recordSurvivors(_ count: Int, of run: RunID) throws {
        try database.prepare(SQL.markSurvivors).run(run, count)
    }

    /// Records how a run ended, and forgets the runs of its job beyond those that are kept.
    ///
    /// `next`: what follows it, which is stored with it.
    mutating func recordFinished(
        _ run: RunID,
        of job: StoredJob,
        _ ended: EndedRun,
        next: RetryDecision = .done
    ) throws {
        let (outcome, code, error) = ended.outcome.columns
        try database.prepare(SQL.markFinished).run(
            run,
            outcome,
            code.map(Int64.init),
            error,
            ended.startedAt,
            ended.endedAt,
            ended.usage?.userMicroseconds,
            ended.usage?.systemMicroseconds,
            ended.usage?.peakMemory,
            ended.survivors.isEmpty ? nil : ended.survivors.count
        )
        // A job that was invalidated meanwhile begins nothing more.
        switch try isInvalidated(job.id) ? .done : next {
        case .done: try database.prepare(SQL.markDone).run(ended.fire)
        case .retry(let delay):
            try wait(ended.fire, for: .retry, until: moment.wall + delay)
        case .onFailure: try wait(ended.fire, for: .onFailure, until: nil)
        }
        for (stream, bytes, dropped) in [
            ("stdout", ended.output.stdout, ended.output.stdoutDropped),
            ("stderr", ended.output.stderr, ended.output.stderrDropped),
        ] where !bytes.isEmpty {
            try database.prepare(SQL.insertOutput).run(
                run,
                stream,
                bytes,
                dropped,
                job.ownerID
            )
        }
        if !ended.output.stdout.isEmpty || !ended.output.stderr.isEmpty { try noteSpace(of: job) }
        if let runsKept { try database.prepare(SQL.forgetRuns).run(job.id, runsKept) }
        try note(.runFinished, job, fire: ended.fire, run: run) {
            $0.fireDate = ended.fireDate
            $0.attempt = ended.isOnFailure ? nil : ended.attempt
            $0.onFailure = ended.isOnFailure ? true : nil
            $0.outcome = outcome
            $0.status = outcome == .exited ? code : nil
            $0.signal = outcome == .signalled ? code : nil
            $0.reason = error
        }
    }
}

extension JobWriter {
    private func isInvalidated(_ job: JobID) throws -> Bool {
        try database.prepare(SQL.isInvalidated).value(job, as: Bool.self) ?? false
    }
}

/// How a run ended, for the record.
struct EndedRun: Sendable {
    var fire: FireID
    /// The fire's date by the wall clock.
    var fireDate: Timestamp
    var attempt: Int
    /// Whether it was what the job wants done when a fire has failed.
    var isOnFailure = false
    var outcome: RunOutcome
    /// Nil where no process was started.
    var startedAt: Timestamp?
    var endedAt: Timestamp
    var output: CapturedOutput
    /// Nil where no process was started, or nobody saw it end.
    var usage: RunUsage?
    /// The processes of its group that could not be ended.
    var survivors: [Int32] = []
}

extension RunOutcome {
    /// Whether there ever was a process.
    var wasStarted: Bool {
        if case .notStarted = self { false } else { true }
    }

    /// As `runs` keeps it: the word, the status or signal, and the text of what kept it from starting.
    var columns: (outcome: Run.Outcome, code: Int32?, error: String?) {
        switch self {
        case .exited(let status): (.exited, status, nil)
        case .signalled(let signal): (.signalled, signal, nil)
        case .timedOut: (.timedOut, nil, nil)
        case .notStarted(let text): (.notStarted, nil, text)
        case .interrupted: (.interrupted, nil, nil)
        }
    }
}

extension JobWriter.SQL {
    static let markRunning = "UPDATE fires SET state = 'running' WHERE id = ?1"
    static let insertRun = "INSERT INTO runs (job_id, fire_id, attempt) VALUES (?1, ?2, ?3)"
    static let markStarted = """
        UPDATE runs SET pid = ?2, started_at_us = ?3, pid_ticks = ?4,
            boot_id = (SELECT boot_id FROM daemon_state)
        WHERE id = ?1
        """
    static let markSurvivors = "UPDATE runs SET survivors = ?2 WHERE id = ?1 AND outcome IS NULL"
    static let markFinished = """
        UPDATE runs SET outcome = ?2, code = ?3, error = ?4,
            started_at_us = coalesce(?5, started_at_us), ended_at_us = ?6,
            user_us = ?7, system_us = ?8, peak_memory_bytes = ?9, survivors = ?10
        WHERE id = ?1
        """
    static let isInvalidated = "SELECT state = 'invalidated' FROM jobs WHERE id = ?1"
    static let markDone = "UPDATE fires SET state = 'done' WHERE id = ?1"
    static let insertOutput = """
        INSERT INTO run_output (run_id, stream, bytes, dropped, owner_id)
        VALUES (?1, ?2, ?3, ?4, ?5)
        """
    /// Not those of a fire whose next attempt waits: they tell which one that is.
    static let forgetRuns = """
        DELETE FROM runs WHERE job_id = ?1 AND outcome IS NOT NULL AND id <= (
            SELECT id FROM runs WHERE job_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
        AND (SELECT state FROM fires WHERE fires.id = runs.fire_id) = 'done'
        """
}
