// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import TimerD

/// What has to hold on the way, and at the end.
extension Year {
    func storedJobs() async throws -> [StoredJob] {
        try await test.settle()
        let ids = jobs.map(\.id)
        return try await test.store.reader.read { database in
            try ids.compactMap { try Queries(database).job($0) }
        }
    }

    /// After time has passed, no job has a date behind it.
    func findOverdue() async throws {
        let now = moment
        for job in try await storedJobs() where job.state == .scheduled {
            guard let due = job.dueDate, due <= now.reading(of: job.clock) else { continue }
            fail("job \(job.id) is overdue: \(due.rfc3339), now \(now.wall.rfc3339)")
        }
    }

    /// No wall job waits for a date behind one that it could have, wherever the clock was put.
    func findStalled() async throws {
        guard followsBack, isSet else { return }
        let now = moment
        for job in try await storedJobs() {
            guard job.state == .scheduled, job.clock == .wall, job.movedFrom == nil,
                let date = job.fireDate, let next = job.schedule.nextFireDate(after: now.wall),
                next < date
            else { continue }
            let id = job.id
            let rows = try await test.store.reader.read { try Ledger.Row.all(of: id, in: $0) }
            var candidate: Timestamp? = next
            while let next = candidate, next < date {
                guard rows.contains(where: { $0.first <= next && $0.last >= next }) else {
                    fail("job \(id) waits for \(date.rfc3339), not for \(next.rfc3339)")
                    break
                }
                candidate = job.schedule.nextFireDate(after: next)
            }
        }
    }

    struct Sum {
        var dates = 0
        var fires = 0
        var rows = 0
    }

    /// Compares what is stored and what was told with what should be.
    func check() async throws -> Sum {
        try await test.settle()
        note(test.sink.all)
        var sum = Sum()
        var dates: [FireID: Timestamp] = [:]
        for (job, stored) in zip(jobs, try await storedJobs()) {
            let rows = try await test.store.reader.read { try Ledger.Row.all(of: job.id, in: $0) }
            let ledger = Ledger(job, stored, rows, at: moment)
            for problem in ledger.problems { fail(problem) }
            for row in rows { dates[row.id] = row.first }
            let carriedOut = rows.filter { $0.state == .fired }.map(\.id)
            for id in Set(carriedOut).subtracting(told.map(\.fire)) {
                fail("fire \(id) of job \(job.id) was told to nobody")
            }
            sum.dates += ledger.dateCount
            sum.rows += rows.count
        }
        checkTold(dates)
        sum.fires = told.count
        return sum
    }

    /// A fire is told once, or again as what it is; a command is started once.
    private func checkTold(_ dates: [FireID: Timestamp]) {
        var seen: [FireID: Int64] = [:]
        for fire in told {
            let (event, id) = (fire.event, fire.fire)
            if let before = seen[id], event.redelivered != true {
                fail("fire \(id) of job \(event.job) was told as \(before) and as \(event.seq)")
            }
            seen[id] = event.seq
            if dates[id] == nil {
                fail(
                    "fire \(id) of job \(event.job), told at \(event.at.rfc3339) in life"
                        + " \(fire.life), has no row"
                )
            }
            if event.redelivered != true, let date = event.fireDate, let at = event.firedAt,
                at < date
            {
                fail("fire \(id) of job \(event.job) was told at \(at.rfc3339), too early")
            }
        }
        let counts = Dictionary(grouping: commands) { $0 }.filter { $0.value.count > 1 }
        for fire in counts.keys.sorted() { fail("the command of fire \(fire) was started twice") }
    }
}
