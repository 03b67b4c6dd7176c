// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import TimerControl

@testable import TimerD

/// A database of a schema that was released, as its daemon left it, and what it told of its jobs.
struct DatabaseFixture {
    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures")

    /// When its daemon was stopped.
    static let stopped = TestScheduler.start + .seconds(600)

    let schema: Int

    private var database: URL { Self.folder.appending(path: "schema-\(schema).db") }
    private var told: URL { Self.folder.appending(path: "schema-\(schema).jsonl") }

    /// Puts the database at `path`.
    func place(at path: String) throws {
        try Data(contentsOf: database).write(to: URL(filePath: path))
    }

    /// A line of JSON for each job, then for each fire.
    func lines() throws -> String { try String(contentsOf: told, encoding: .utf8) }

    /// The same of a database that is open.
    static func lines(of store: Store) async throws -> String {
        try await store.reader.read { database in
            let queries = Queries(database)
            var filter = ListJobs()
            filter.all = true
            let jobs = try queries.jobsByNumber(filter, owner: nil, limit: 1000).jobs.map {
                try JSONValue(encoding: $0.told).jsonText
            }
            let runs = try queries.runs(RunFilter(), after: nil, limit: 1000).runs.map {
                try JSONValue(encoding: $0).jsonText
            }
            return (jobs + runs).joined(separator: "\n") + "\n"
        }
    }

    /// Makes the fixture anew, in `folder` first: something of everything that a daemon stores.
    func make(in folder: String) async throws {
        let test = try await TestScheduler(folder: folder)
        test.runner.output = CapturedOutput(
            stdout: Array("done\n".utf8),
            stderr: Array("hm\n".utf8)
        )
        try await Self.addJobs(to: test)
        try await test.advance(to: Self.stopped)
        try await test.close()
        let made = folder + "/timerd.db"
        try Data(contentsOf: URL(filePath: made)).write(to: database)
        let again = try await TestScheduler(
            folder: folder,
            machine: VirtualClock.Machine(wall: Self.stopped)
        )
        try await Self.lines(of: again.store).write(to: told, atomically: true, encoding: .utf8)
        try await again.close()
    }

    private static func addJobs(to test: TestScheduler) async throws {
        try await test.add(ScheduleWords(every: "1m"), command: ["/usr/bin/true"]) {
            $0.name = "backup"
            $0.tags = ["disk", "nightly"]
            $0.env = ["LANG": "C"]
            $0.retries = 2
            $0.timeout = "1h"
            $0.userInfo = JSONText(.object(["level": .integer(7)]))
        }
        try await test.add(ScheduleWords(cron: "*/2 * * * *", tz: "Europe/Berlin")) {
            $0.jitter = "10s"
        }
        try await test.add(ScheduleWords(calendar: "Mon..Fri 09:00")) { $0.misfire = .all }
        try await test.add(ScheduleWords(at: "2030-01-01 00:00"), command: ["x"]) {
            $0.overlap = .queue
        }
        try await test.add(ScheduleWords(cron: "@reboot"))
        try await test.add(ScheduleWords(in: "1m"))
        try await test.add(ScheduleWords(every: "30s")) { $0.count = 3 }
        let paused = try await test.add(ScheduleWords(every: "1h")) { $0.name = "paused" }
        let gone = try await test.add(ScheduleWords(every: "1h"))
        let moved = try await test.add(ScheduleWords(cron: "0 0 * * *"))
        let skipped = try await test.add(ScheduleWords(every: "2m"))
        try await test.advance(by: .seconds(200))
        try await test.change(paused.id, .pause)
        try await test.change(gone.id, .invalidate)
        try await test.change(moved.id, .setFireDate(TestScheduler.start + .seconds(7200)))
        try await test.change(skipped.id, .skip(2))
    }
}

extension StoredJob {
    /// As the wire tells of it, with the owner's number for a name.
    fileprivate var told: Job {
        var job = Job(
            id: id,
            owner: "\(owner.uid)",
            state: state,
            fireDate: fireDate,
            fires: fires,
            addedAt: addedAt,
            endedAt: endedAt,
            endReason: endReason?.rawValue,
            definition: definition
        )
        job.movedFrom = movedFrom
        return job
    }
}
