// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// A database under a load that goes on: 50 fires a second, in time that a test moves.
///
/// With `TIMERD_GROWTH_SECONDS` it goes on for so long, with the counts that are kept by default: 10,000
/// seconds take about six minutes.
@Suite("Growth", .timeLimit(.minutes(240)))
struct GrowthTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["TIMERD_GROWTH_SECONDS"].flatMap { Int($0) }

    /// Tells nobody, and keeps nothing.
    private struct Nobody: EventPublisher {
        func publish(_ event: Event) {}
    }

    /// How long ended jobs and events are kept.
    private static let age = TimeSpan.seconds(seconds == nil ? 60 : 3600)

    /// What is kept; short, where the test is.
    private static var keeping: TestScheduler.Keeping {
        var keeping = TestScheduler.Keeping()
        if seconds == nil {
            keeping.runs = 20
            keeping.limits.eventsKept = 2000
        }
        keeping.limits.eventsMaxAge = age
        keeping.limits.endedJobsMaxAge = age
        return keeping
    }

    private static let output = CapturedOutput(
        stdout: Array(repeating: UInt8(ascii: "x"), count: 1000)
    )

    @Test("A load that goes on lets the database grow to what the settings promise, and no further")
    func steadyState() async throws {
        let folder = "/tmp/timerd-growth-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let keeping = Self.keeping
        let test = try await TestScheduler(folder: folder, keeping: keeping) { _ in Nobody() }
        test.runner.output = Self.output
        for _ in 0..<20 {
            try await test.add(ScheduleWords(every: "1s"))
            try await test.add(ScheduleWords(cron: "* * * * * *"))
        }
        for _ in 0..<5 { try await test.add(ScheduleWords(every: "1s"), command: ["x"]) }
        let seconds = Self.seconds ?? 300
        var largest = 0
        for second in 1...seconds {
            for _ in 0..<5 { try await test.add(ScheduleWords(in: "1s")) }
            try await test.advance(by: .seconds(1))
            largest = max(largest, try Self.size(of: folder + "/timerd.db"))
            if second % max(seconds / 10, 1) == 0 {
                print(
                    "growth: \(second * 50) fires, \(largest) bytes, \(try await Self.rows(test))"
                )
            }
        }
        let rows = try await Self.rows(test)
        let jobs = rows["jobs", default: 0]
        let endedFor = Int((Self.age + Retention.pause).microseconds / 1_000_000) + 5
        #expect(jobs <= 45 + 5 * endedFor)
        #expect(rows["fires", default: 0] <= 45 * Self.rowLimit(keeping.runs) + jobs)
        #expect(rows["runs", default: 0] <= 5 * (keeping.runs + 1))
        #expect(
            rows["events", default: 0] <= keeping.limits.eventsKept + Retention.surplus + 200
        )
        // What goes with them.
        #expect(rows["job_definitions"] == jobs)
        #expect(rows["run_output"] == rows["runs"])
        #expect(rows["outbox", default: 0] <= 100)
        #expect(rows["job_names", default: 0] + rows["job_tags", default: 0] == 0)
        #expect(largest <= Self.promise(rows))
        print("growth: the largest file \(largest) bytes, promised \(Self.promise(rows))")
        try await test.close()
    }

    /// As docs/configuration.md has it.
    private static func promise(_ rows: [String: Int]) -> Int {
        let output = 2 * Self.output.stdout.count
        let bytes = ["jobs": 500, "fires": 120, "runs": 400 + output, "events": 100]
        return rows.reduce(200_000) { $0 + $1.value * (bytes[$1.key] ?? 0) }
    }

    private static func rowLimit(_ runs: Int) -> Int {
        runs + JobWriter.cutInterval + 1 + JobWriter.rangeLimit
    }

    private static let tables = [
        "jobs", "fires", "runs", "events", "job_definitions", "run_output", "outbox", "job_names",
        "job_tags",
    ]

    private static func rows(_ test: TestScheduler) async throws -> [String: Int] {
        try await test.store.reader.read { database in
            var rows: [String: Int] = [:]
            for table in tables {
                rows[table] = try database.prepare("SELECT count(*) FROM \(table)").value()
            }
            return rows
        }
    }

    private static func size(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.size] as? Int) ?? 0
    }

    @Test("A piece of pruning is small, whatever there is to remove")
    func smallPieces() async throws {
        var keeping = TestScheduler.Keeping.all
        keeping.limits.historyMaxAge = .seconds(3600)
        keeping.limits.endedJobsMaxAge = .seconds(3600)
        keeping.limits.eventsMaxAge = .seconds(3600)
        try await TestScheduler.with(keeping: keeping) { test in
            for _ in 0..<20 {
                try await test.add(ScheduleWords(every: "1s"))
                try await test.add(ScheduleWords(cron: "* * * * * *")) { $0.count = 50 }
            }
            try await test.advance(by: .seconds(50))
            test.stall(.seconds(8000))
            let (clock, limits) = (test.clock, keeping.limits)
            var progress = PruneProgress()
            var step = Pruner.Step.more
            var pieces = 0
            while step == .more {
                let piece = try await test.store.writer.write { [progress] database in
                    let before = try Self.total(database)
                    var pruner = Pruner(database, at: clock.now(), limits, from: progress)
                    let step = try pruner.prune()
                    return (step, pruner.progress, before - (try Self.total(database)))
                }
                (step, progress) = (piece.0, piece.1)
                #expect(piece.2 <= 100 + 20)
                pieces += 1
            }
            #expect(pieces > 40)
            #expect(try await Self.rows(test)["events"] == 0)
        }
    }

    private static func total(_ database: Database) throws -> Int {
        try ["jobs", "fires", "runs", "events"].reduce(0) { sum, table in
            sum + (try database.prepare("SELECT count(*) FROM \(table)").value() ?? 0)
        }
    }
}
