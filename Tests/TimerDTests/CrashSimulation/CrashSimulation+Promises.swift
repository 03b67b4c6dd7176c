// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import SQLite
@testable import TimerD

/// What was answered against what is stored: after every start, and at the end.
extension CrashSimulation {
    func stored(_ id: JobID) -> StoredJob? {
        inspect { try Queries($0).job(id) } ?? nil
    }

    /// What `body` says of the database as it is; a database that cannot be read is a problem.
    func inspect<T>(_ body: (Database) throws -> T) -> T? {
        guard let inspector = life?.inspector, !disk.hasCrashed else { return nil }
        do {
            return try disk.withoutFault { try body(inspector) }
        } catch {
            check(.integrity, false, "\(error)")
            return nil
        }
    }

    func verifyPromises() {
        findNewJobs()
        if life?.loss == nil {
            for id in acceptedElsewhere.sorted() {
                check(.accepted, stored(id) != nil || prunes, "job \(id)")
            }
            acceptedElsewhere = []
        }
        for id in jobs.keys.sorted() { verify(id) }
        checkRuns()
        checkShared()
    }

    /// Takes note of jobs whose add was not answered: they were asked for, all or none of a batch.
    private func findNewJobs() {
        let ids = inspect {
            try $0.prepare("SELECT id FROM jobs ORDER BY id").all { try $0.get(0, as: JobID.self) }
        }
        for id in ids ?? [] {
            if jobs[id] == nil {
                register(id)
                jobs[id]?.bootsAtMost = tally.powerLosses
            }
            noteRedating(id)
            guard let number = jobs[id]?.definition.userInfo.flatMap({ Int64($0.text) }),
                let definition = definitions[Int(number)]
            else {
                check(.nobodyElses, false, "job \(id) was added by nobody")
                continue
            }
            check(.nobodyElses, !definition.isRefused, "job \(id), whose add was refused")
        }
        var batches: [Int: Int] = [:]
        for job in jobs.values {
            guard let number = job.definition.userInfo.flatMap({ Int64($0.text) }),
                let definition = definitions[Int(number)]
            else { continue }
            batches[definition.batch, default: 0] += 1
        }
        for (batch, count) in batches.sorted(by: { $0.key < $1.key }) {
            let of = definitions.values.filter { $0.batch == batch }
            // What was asked for after it may have put another definition in the place of one of them.
            if of.contains(where: { $0.name.map { replacedNames.contains($0) } ?? false }) {
                continue
            }
            let all = of.count
            check(.allOrNone, count == all, "\(count) of the \(all) jobs from \(batch) on")
        }
    }

    private func verify(_ id: JobID) {
        guard let promised = jobs[id] else { return }
        let stored = stored(id)
        check(.accepted, stored != nil || mayBeForgotten(id), "job \(id)")
        guard let stored else {
            jobs[id]?.state = .ended
            return
        }
        if let move = moves[id], promised.inFlight == 0 || lives > 0 {
            resolveMove(id, stored)
            _ = move
        }
        let problem = promised.problem(with: stored)
        check(.answered, problem == nil, "job \(id) \(problem ?? "")")
        if prunes { return }
        for fire in promised.byHand {
            let state = inspect { try $0.fireState(fire) } ?? nil
            check(.answered, state != nil, "fire \(fire) of job \(id), by hand, is not there")
        }
        if promised.skips > 0 {
            let rows = inspect { try $0.count(of: id, reason: .skip) } ?? 0
            check(.answered, rows >= promised.skips, "job \(id): dates dropped \(rows)")
        }
        if let date = promised.movedTo, stored.clock == .wall, stored.state.isLive {
            let isThere = stored.fireDate == date || inspect { try $0.hasRow(id, at: date) } == true
            check(
                .answered,
                isThere,
                "job \(id) was moved to \(date.rfc3339), next \(stored.fireDate?.rfc3339 ?? "-"), rows "
                    + "\(inspect { try Ledger.Row.all(of: id, in: $0) } ?? [])"
            )
        }
    }

    /// Whether a job may be gone for good: one that has ended, where little is kept.
    func mayBeForgotten(_ id: JobID) -> Bool { prunes && endsTold.contains(id) }

    /// A move was done, or not: what the store says.
    func resolveMove(_ id: JobID, _ stored: StoredJob) {
        guard let move = moves[id] else { return }
        if case .every = stored.schedule, stored.schedule.anchor != move.new {
            // Where the disk failed, a crash may still bring it about.
            return
        }
        moves[id] = nil
        let told = inspect { try $0.firedDates(of: id, after: move.old) } ?? []
        let passed = inspect { try $0.lastSkipped(of: id, from: move.old) } ?? nil
        jobs[id]?.dates.move(from: move.old, to: move.new, passed: passed, told: told)
    }
}

extension Database {
    func fireState(_ fire: FireID) throws -> Run.State? {
        try prepare("SELECT state FROM fires WHERE id = ?1 AND state <> 'forgotten'").first(fire) {
            try $0.get(0)
        }
    }

    /// The later dates of which rows say that they have fired, on the job's clock.
    func firedDates(of job: JobID, after date: Timestamp) throws -> [Timestamp] {
        let sql =
            "SELECT fire_date_us FROM fires WHERE job_id = ?1 AND fire_date_us > ?2 AND state = 'fired'"
        return try prepare(sql).all(job, date) { try $0.get(0) }
    }

    /// The last date of the row of skipped dates that begins with that one.
    func lastSkipped(of job: JobID, from first: Timestamp) throws -> Timestamp? {
        try prepare(
            """
            SELECT fire_date_us + coalesce(last_date_us - wall_date_us, 0) FROM fires
            WHERE job_id = ?1 AND fire_date_us = ?2 AND state = 'skipped'
            """
        ).value(job, first)
    }

    /// How many rows of a job have that reason.
    func count(of job: JobID, reason: FireReason) throws -> Int {
        try prepare("SELECT count(*) FROM fires WHERE job_id = ?1 AND reason = ?2").first(
            job,
            reason
        ) {
            try $0.get(0)
        } ?? 0
    }

    func hasRow(_ job: JobID, at date: Timestamp) throws -> Bool {
        try prepare("SELECT 1 FROM fires WHERE job_id = ?1 AND fire_date_us = ?2").first(job, date)
        {
            try $0.get(0, as: Int.self)
        } != nil
    }

    /// The one number that a query answers with.
    func number(_ sql: String) throws -> Int { try prepare(sql).value(as: Int.self) ?? 0 }
}
