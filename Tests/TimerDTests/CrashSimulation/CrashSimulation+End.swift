// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import SQLite
@testable import TimerD

/// The quiet end: no trouble any more, time for all that is due, and then everything is checked.
extension CrashSimulation {
    func finish() {
        operationsBeforeEnd = disk.operations
        calmDown()
        settle()
        setClockRight()
        settle()
        for id in jobs.keys.sorted() where stored(id)?.state == .paused { resume(id) }
        settle()
        let end = conductor.now + .seconds(75)
        quietAt = end
        while problems.isEmpty, conductor.now < end { turn() }
        quietAt = nil
        becomeQuiet()
        guard problems.isEmpty else { return }
        verifyPromises()
        checkNothingKept()
        checkDates()
        checkWatcher()
        checkCounters()
        checkTasks()
        stopAndCheck()
    }

    /// Waits for a moment when no command runs or waits.
    private func becomeQuiet() {
        var turns = 0
        while problems.isEmpty {
            settle()
            // As each read has it: what has happened may be stored a little later than it was told.
            life?.storeLane.perform {}
            settle()
            drainQueues()
            // What is committed ahead of its date is open too, for those 10 ms.
            let open = inspect {
                try $0.number("SELECT count(*) FROM fires WHERE state IN ('waiting', 'running')")
            }
            if open == 0, processes.living.isEmpty { return }
            advance()
            turns += 1
            if turns > 1000 { return check(.nothingOpen, false, "runs never end: \(openFires)") }
        }
    }

    /// Fires that have not come to their end, as people read them.
    private var openFires: [String] {
        let sql =
            "SELECT id, job_id, state, waits_for FROM fires WHERE state IN ('waiting', 'running')"
        return inspect {
            try $0.prepare(sql).all { row in
                let cause: String? = try row.get(3)
                return "\(try row.get(0, as: Int64.self)) of job \(try row.get(1, as: Int64.self)),"
                    + " \(try row.get(2, as: String.self)) \(cause ?? "")"
            }
        } ?? []
    }

    /// Fires without an end, claimed ones too.
    private var notEnded: [String] {
        let sql = """
            SELECT fires.id, fires.job_id, fires.state, fires.reason, jobs.state, wall_date_us
            FROM fires JOIN jobs ON jobs.id = fires.job_id
            WHERE fires.state IN ('claimed', 'waiting', 'running') LIMIT 10
            """
        return inspect {
            try $0.prepare(sql).all { row in
                let (reason, date): (String?, Timestamp) = (try row.get(3), try row.get(5))
                return
                    "\(try row.get(0, as: Int64.self)) of the \(try row.get(4, as: String.self)) job"
                    + " \(try row.get(1, as: Int64.self)), \(try row.get(2, as: String.self))"
                    + " \(reason ?? "") for \(date.rfc3339)"
            }
        } ?? []
    }

    private func checkDates() {
        guard let moment else { return }
        for id in jobs.keys.sorted() {
            guard let job = jobs[id], let stored = stored(id),
                let rows = inspect({ try Ledger.Row.all(of: id, in: $0) })
            else { continue }
            if stored.state == .scheduled, let due = stored.dueDate {
                check(
                    .notOverdue,
                    due > moment.reading(of: stored.clock),
                    "job \(id) (\(job.dates.words)) was due at \(due.rfc3339)"
                )
            }
            if job.isRedated, job.isOfBoot || !job.repeats { continue }
            if job.isOfBoot {
                // One by hand that a crash left without an answer is told by its reason.
                let own = rows.count {
                    !byHand.contains($0.id) && !$0.isByHand && $0.state != .claimed
                }
                // The last one may be still to come, by its jitter.
                let pending = stored.fireDate == nil ? 0 : 1
                let least = stored.state.isLive && !prunes ? job.bootsAtLeast - pending : 0
                check(
                    .everyDate,
                    own >= least && own <= job.bootsAtMost,
                    "job \(id) (@reboot) has \(own) rows, at \(least) to \(job.bootsAtMost) starts of the machine"
                )
            } else if job.repeats {
                // A life takes minutes; to count the dates of years would take as long.
                let age = moment.reading(of: stored.clock) - job.dates.start
                // It was found to be another while the clock was forgotten.
                if job.isRedated, age >= .hours(24) { continue }
                check(.everyDate, age < .hours(24), "job \(id) (\(job.dates.words)) is \(age) old")
                guard age < .hours(24) else { continue }
                // A fire by hand that came to nothing has that as its reason.
                var own = rows.filter { !byHand.contains($0.id) }
                if job.isRedated {
                    own = own.filter { $0.last > job.dates.start }
                    // Its last fire, by its count, was before it is known to have been what it is.
                    if own.isEmpty, stored.endReason == .count { continue }
                }
                let ledger = Ledger(
                    job.dates,
                    stored,
                    own,
                    at: moment,
                    ahead: max(mostAhead, mostShift - moment.wallOffset),
                    forgotten: prunes
                        ? forgotten(stored, rows, at: moment.reading(of: stored.clock)) : []
                )
                check(.everyDate, ledger.problems.isEmpty, ledger.problems.joined(separator: "\n"))
                tally.checks[.everyDate, default: 0] += ledger.dateCount
            } else {
                let problem = problem(ofOneShot: stored, rows)
                check(.everyDate, problem == nil, "job \(id) (\(job.dates.words)) \(problem ?? "")")
            }
            for row in rows where row.state == .fired {
                check(
                    .toldOnce,
                    told[row.id] != nil,
                    "fire \(row.id) of job \(id) was told to nobody"
                )
            }
        }
    }

    /// The dates of which nothing may be kept: those before the oldest row, those of ranges among the
    /// rest, and those that were told to be left out.
    ///
    /// Of a job that has ended, or whose dates are of elapsed time, no range is kept, and a row that was open as the
    /// others were removed stays before them.
    private func forgotten(_ job: StoredJob, _ rows: [Ledger.Row], at now: Timestamp)
        -> [ClosedRange<Timestamp>]
    {
        let closed = rows.filter { $0.state != .claimed }
        let hasRanges = job.state.isLive && job.clock == .wall
        let kept = hasRanges ? closed : closed.suffix(SimulatedLife.keepingLittle.runs)
        let ranges = inspect { try Ledger.forgottenRanges(of: job.id, in: $0) } ?? []
        return ranges + (toldSkips[job.id] ?? []) + [.distantPast...(kept.first?.first ?? now)]
    }

    private func problem(ofOneShot job: StoredJob, _ rows: [Ledger.Row]) -> String? {
        let fired = rows.count { [.fired, .done, .dead].contains($0.state) }
        let skipped = rows.count { $0.state == .skipped }
        switch (job.state, job.endReason) {
        case (.scheduled, _):
            return rows.contains { $0.state != .claimed } ? "has rows, and is still to fire" : nil
        case (.paused, _): return "is paused"
        case (.finished, _) where prunes && rows.isEmpty: return nil
        case (.finished, .skipped): return skipped > 0 ? nil : "was skipped without a row"
        case (.finished, _):
            // A command whose run had its place taken has a row with the reason.
            return fired + skipped > 0 ? nil : "finished without a fire or a reason"
        case (.invalidated, _): return nil
        }
    }

    /// Whoever watches has got everything that is stored.
    private func checkWatcher() {
        pumpWatcher()
        settle()
        check(.noGap, watcher.isLive, "the watcher never gets there")
        let numbers = watcher.received.map(\.seq)
        check(
            .numbersGrow,
            zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 },
            "to a watcher"
        )
        let stored = inspect {
            try $0.prepare("SELECT seq, type, job_id FROM events ORDER BY seq").all { row in
                (
                    try row.get(0, as: Int64.self), try row.get(1, as: String.self),
                    try row.get(2, as: Int64.self)
                )
            }
        }
        for (seq, type, job) in stored ?? [] {
            check(.noGap, watcher.seen.contains(seq), "event \(seq), \(type) of job \(job)")
        }
        checkFacts()
    }

    /// What is stored as having happened has an event, whatever number that has.
    private func checkFacts() {
        if watcher.hasMissed { return }
        var got: [Event.Kind: Set<Int64>] = [:]
        for event in watcher.received {
            let id =
                switch event.type {
                case .fireFired, .fireSkipped: event.fire?.rawValue
                case .runStarted, .runFinished: event.run?.rawValue
                default: event.job.rawValue
                }
            if let id { got[event.type, default: []].insert(id) }
        }
        for (kind, sql) in [
            (Event.Kind.jobAdded, "SELECT id FROM jobs"),
            (.jobInvalidated, "SELECT id FROM jobs WHERE state = 'invalidated'"),
            (.jobFinished, "SELECT id FROM jobs WHERE state = 'finished'"),
            (
                .fireFired,
                "SELECT id FROM fires WHERE fired_at_us IS NOT NULL AND state <> 'claimed'"
            ),
            (.fireSkipped, "SELECT id FROM fires WHERE state = 'skipped'"),
            (.runFinished, "SELECT id FROM runs WHERE outcome IS NOT NULL"),
        ] {
            let ids = inspect { try $0.prepare(sql).all { try $0.get(0, as: Int64.self) } } ?? []
            let missing = ids.filter { got[kind]?.contains($0) != true }
            check(.noGap, missing.isEmpty, "no \(kind.rawValue) of \(missing)")
        }
    }

    private func checkCounters() {
        for (what, kept, counted) in [
            (
                "scheduled jobs",
                "SELECT scheduled + \(Outbox.SQL.sum("scheduled")) FROM daemon_state",
                "SELECT count(*) FROM jobs WHERE state = 'scheduled'"
            ),
            (
                "paused jobs", "SELECT paused + \(Outbox.SQL.sum("paused")) FROM daemon_state",
                "SELECT count(*) FROM jobs WHERE state = 'paused'"
            ),
            (
                "live jobs", "SELECT sum(live) + \(Outbox.SQL.sum("live")) FROM owners",
                "SELECT count(*) FROM jobs WHERE state IN ('scheduled', 'paused')"
            ),
        ] + CrashSimulation.taskCounters {
            let numbers = inspect { (try $0.number(kept), try $0.number(counted)) }
            check(
                .counters,
                numbers.map { $0.0 == $0.1 } == true,
                "\(what): kept \(numbers?.0 ?? -1), counted \(numbers?.1 ?? -1)"
            )
        }
    }

    /// A daemon that was told to stop leaves nothing open, and a sound database.
    private func stopAndCheck() {
        guard let life else { return }
        life.stop()
        Task(executorPreference: life.pool) { await life.end() }
        settle()
        for (what, sql) in [
            (
                // One that a daemon before may have told is told again at its date.
                "fires claimed, waiting or running",
                "SELECT count(*) FROM fires WHERE state IN ('waiting', 'running')"
                    + " OR (state = 'claimed' AND fired_at_us IS NULL)"
            ),
            ("events in the outbox", "SELECT count(*) FROM outbox"),
            (
                "claims",
                "SELECT count(*) FROM jobs JOIN fires ON fires.id = claim_id"
                    + " WHERE fired_at_us IS NULL"
            ),
            ("runs without an end", "SELECT count(*) FROM runs WHERE outcome IS NULL"),
        ] {
            let count = inspect { try $0.number(sql) }
            check(.nothingOpen, count == 0, "\(count ?? -1) \(what); open: \(notEnded)")
        }
        let words = inspect {
            try $0.prepare("PRAGMA integrity_check").all { try $0.get(0, as: String.self) }
                + $0.prepare("PRAGMA foreign_key_check").all { try $0.get(0, as: String.self) }
        }
        check(.integrity, words == ["ok"], "\(words ?? [])")
    }
}
