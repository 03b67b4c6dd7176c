// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// A database under a load that goes on, in time that a test moves.
///
/// With `TIMERD_GROWTH_DAYS` the load goes on for so long, with the counts that are kept by default.
@Suite("Growth", .timeLimit(.minutes(600)))
struct GrowthTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let days = environment["TIMERD_GROWTH_DAYS"].flatMap { Double($0) }

    /// Tells nobody, and keeps nothing.
    private struct Nobody: EventPublisher {
        func publish(_ event: Event) {}
    }

    /// What the load leaves in the database of a scheduler that serves it.
    private static func served(_ load: GrowthLoad, seconds: Int, in folder: String) async throws
        -> (rows: GrowthLoad.Rows, size: Int)
    {
        let keeping = load.keeping
        let test = try await TestScheduler(folder: folder, keeping: keeping) { _ in Nobody() }
        test.runner.output = GrowthLoad.output
        for job in GrowthLoad.repeating { try await test.add(job.schedule, command: job.command) }
        for _ in 0..<seconds {
            try await test.advance(by: .seconds(1))
            for _ in 0..<GrowthLoad.oneShotsPerSecond {
                try await test.add(ScheduleWords(in: "1s"))
            }
        }
        try await test.settle()
        let rows = try await test.store.reader.read { try GrowthLoad.Rows($0) }
        try await test.close()
        return (rows, try GrowthLoad.size(of: folder + "/timerd.db"))
    }

    @Test("A load that goes on lets the database grow to what the settings promise, and no further")
    func steadyState() async throws {
        let folder = try TemporaryFolder()
        let load = GrowthLoad(age: .seconds(60), isShort: true)
        let (rows, size) = try await Self.served(load, seconds: 300, in: folder.path)
        #expect(load.excess(rows, fileSize: size) == [])
    }

    @Test("A load without its scheduler leaves in the store what the scheduler would have left")
    func sameAsScheduler() async throws {
        let folder = try TemporaryFolder()
        let load = GrowthLoad(age: .seconds(60), isShort: true)
        let (rows, size) = try await Self.served(load, seconds: 200, in: folder.path)
        let path = folder.file("stored.db")
        let database = try Database(path: path, mode: .readWriteCreate)
        var stored = try StoredLoad(database, load, start: TestScheduler.start)
        for _ in 0..<20 { try stored.pass(10) }
        let storedRows = try GrowthLoad.Rows(database)
        database.close()
        for table in GrowthLoad.Rows.tables where table != "events" {
            #expect(storedRows[table] == rows[table], "\(table)")
        }
        // They are pruned in the same second, not at the same event of it.
        #expect(abs(storedRows["events"] - rows["events"]) <= 2 * GrowthLoad.firesPerSecond)
        let storedSize = try GrowthLoad.size(of: path)
        #expect(storedSize * 10 > size * 8 && storedSize * 8 < size * 10)
    }

    @Test("A month of the load ends within what the settings promise")
    func month() throws {
        // A disk in memory, for its size alone is asked for.
        let folder = "/dev/shm/timerd-growth-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/timerd.db"
        let load = GrowthLoad(
            age: .seconds(Self.days == nil ? 60 : 3600),
            isShort: Self.days == nil
        )
        let minutes = Self.days.map { Int($0 * 1440) } ?? 10
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        var stored = try StoredLoad(database, load, start: TestScheduler.start)
        var (largest, largestLog) = (0, 0)
        for minute in 1...minutes {
            try stored.pass(60)
            largest = max(largest, try GrowthLoad.size(of: path))
            largestLog = max(largestLog, try GrowthLoad.size(of: path + "-wal"))
            // An hour is when what is kept by its age is all there.
            guard minute % 60 == 0 || minute == minutes else { continue }
            let rows = try GrowthLoad.Rows(database)
            try #require(load.excess(rows, fileSize: largest) == [])
            guard minute % 1440 == 0 || minute == minutes || minute == 60 else { continue }
            print(
                "growth: \(minute) min, \(stored.fires) fires, \(largest) bytes of at most",
                "\(GrowthLoad.promise(rows)), log \(largestLog);",
                "a piece of pruning p50 \(stored.pieceTime(perMille: 500)),",
                "p99 \(stored.pieceTime(perMille: 990)), max \(stored.pieceTime(perMille: 1000));",
                "\(rows)"
            )
        }
        #expect(
            stored.fires == minutes * 60 * GrowthLoad.firesPerSecond - GrowthLoad.oneShotsPerSecond
        )
        let integrity = try database.prepare("PRAGMA integrity_check").value(as: String.self)
        #expect(integrity == "ok")
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
            #expect(try await test.store.reader.read { try GrowthLoad.Rows($0) }["events"] == 0)
        }
    }

    private static func total(_ database: Database) throws -> Int {
        try ["jobs", "fires", "runs", "events"].reduce(0) { sum, table in
            sum + (try database.prepare("SELECT count(*) FROM \(table)").value() ?? 0)
        }
    }
}
