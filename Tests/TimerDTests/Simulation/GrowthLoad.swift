// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import TimerControl

@testable import SQLite
@testable import TimerD

/// A load of 50 fires a second that goes on, and what it may leave in the database.
///
/// 44 jobs without a command and five with one fire each second, and one one-shot is added a
/// second that fires in the next.
struct GrowthLoad {
    /// Of the history of a job, and of all else.
    var keeping: TestScheduler.Keeping

    static let firesPerSecond = 50
    static let oneShotsPerSecond = 1
    static let oneShot = JobDefinition(schedule: ScheduleWords(in: "1s"))

    static var repeating: [JobDefinition] {
        let silent = [ScheduleWords(every: "1s"), ScheduleWords(cron: "* * * * * *")]
        let definitions = silent.flatMap {
            Array(repeating: JobDefinition(schedule: $0), count: 22)
        }
        var running = JobDefinition(schedule: ScheduleWords(every: "1s"))
        running.command = ["x"]
        return definitions + Array(repeating: running, count: 5)
    }

    /// What each run writes.
    static let output = CapturedOutput(stdout: Array(repeating: UInt8(ascii: "x"), count: 1000))

    /// Ended jobs and events are kept so long, and with `isShort` few of everything.
    init(age: TimeSpan, isShort: Bool) {
        keeping = TestScheduler.Keeping()
        if isShort {
            keeping.runs = 20
            keeping.limits.eventsKept = 2000
        }
        keeping.limits.eventsMaxAge = age
        keeping.limits.endedJobsMaxAge = age
        keeping.limits.doubt = .seconds(60)
    }

    /// Whether no table holds more than what is kept, in words: what is wrong, or nothing.
    func excess(_ rows: Rows, fileSize: Int) -> [String] {
        let jobs = rows["jobs"]
        let age = keeping.limits.endedJobsMaxAge + Retention.pause
        let endedFor = Int(age.microseconds / 1_000_000) + 5
        let rowsOfJob = keeping.runs + JobTransaction.trimInterval + 1 + JobTransaction.rangeLimit
        let limits = [
            ("jobs", jobs, 49 + Self.oneShotsPerSecond * endedFor),
            // Those of kept runs stay beside the newest.
            ("fires", rows["fires"], 49 * rowsOfJob + 5 * keeping.runs + jobs),
            ("runs", rows["runs"], 5 * (keeping.runs + 1)),
            ("events", rows["events"], keeping.limits.eventsKept + Retention.surplus + 200),
            // What goes with them.
            ("job_definitions", rows["job_definitions"], jobs),
            ("run_output", rows["run_output"], rows["runs"]),
            ("outbox", rows["outbox"], 100),
            ("event_words", rows["event_words"], 0),
            ("job_names", rows["job_names"], jobs),
            ("job_tags", rows["job_tags"], 0),
            ("the file's bytes", fileSize, Self.promise(rows)),
        ]
        return limits.compactMap { $1 > $2 ? "\($0): \($1), at most \($2)" : nil }
    }

    /// As docs/configuration.md has it.
    static func promise(_ rows: Rows) -> Int {
        let output = 2 * Self.output.stdout.count
        let bytes = ["jobs": 500, "fires": 120, "runs": 400 + output, "events": 100]
        return bytes.reduce(200_000) { $0 + $1.value * rows[$1.key] }
    }

    /// How many rows each table has.
    struct Rows: Hashable, Sendable, CustomStringConvertible {
        private var counts: [String: Int] = [:]

        static let tables = [
            "jobs", "fires", "runs", "events", "job_definitions", "run_output", "outbox",
            "job_names", "job_tags", "event_words",
        ]

        init(_ database: Database) throws {
            for table in Self.tables {
                counts[table] = try database.prepare("SELECT count(*) FROM \(table)").value()
            }
        }

        subscript(table: String) -> Int { counts[table, default: 0] }

        var description: String {
            Self.tables.map { "\($0) \(self[$0])" }.joined(separator: ", ")
        }
    }

    static func size(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.size] as? Int) ?? 0
    }
}
