// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// How many pages of the log one write takes: counts, which no load of the machine changes.
@Suite("Written pages", .timeLimit(.minutes(1))) struct WrittenPagesTests {
    struct Shape: Sendable, CustomTestStringConvertible {
        var owner: Owner
        var hasWords: Bool
        /// Of one add, on the average of many.
        var pages: Double
        var testDescription: String { "\(owner.name), \(hasWords ? "with words" : "bare")" }
    }

    private static let shapes = [
        Shape(owner: .root, hasWords: false, pages: 6.6),
        Shape(owner: Owner(uid: 1001), hasWords: false, pages: 6.6),
        Shape(owner: Owner(uid: 1001), hasWords: true, pages: 9.4),
    ]

    private static func job(_ shape: Shape, _ number: Int, at moment: ClockReading) throws -> NewJob
    {
        var definition = JobDefinition(schedule: ScheduleWords(in: "30d"))
        if shape.hasWords {
            definition.name = "report-\(number)"
            definition.tags = ["nightly", "reports"]
            let text = String(repeating: "x", count: 198)
            definition.userInfo = JSONText(stored: "\"\(text)\"")
        }
        return try NewJob(definition, owner: shape.owner, at: moment, zone: .utc)
    }

    @Test(
        "An add writes the leaves of its own rows, and shares all else with others",
        arguments: shapes
    )
    func add(_ shape: Shape) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("timerd.db")
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        try Migrator(.released).migrate(database)
        let now = Timestamp(microseconds: 1_800_000_000_000_000)
        var seq: Int64 = 0
        var untold: [OutboxEvent] = []
        /// As the write queue does it: one commit for each add, and for each 16 of them one that moves events.
        func addOne(_ number: Int) throws {
            let moment = ClockReading(
                elapsed: now + .milliseconds(Int64(number)),
                wallOffset: .zero
            )
            try database.begin()
            var transaction = JobTransaction(database, at: moment, horizon: now)
            transaction.terms.maxBytes = 1 << 30
            let new = try Self.job(shape, number, at: moment)
            _ = try transaction.add([new], replace: false, limit: 1_000_000)
            untold += try transaction.finish().outboxEvents
            if number.isMultiple(of: PostponedRecords.commitLimit) {
                try EventLog(database).move(
                    untold.map { next in
                        seq += 1
                        var next = next
                        next.event.seq = seq
                        return next
                    }
                )
                untold = []
            }
            try database.commit()
        }
        func logged() throws -> Int {
            var status = stat()
            try #require(stat(path + "-wal", &status) == 0)
            return Int(status.st_size) / (DatabaseFile.pageSize + 24)
        }
        for number in 1...16 { try addOne(number) }
        let before = try logged()
        for number in 17...112 { try addOne(number) }
        let pages = Double(try logged() - before) / 96
        #expect(pages > 1)
        #expect(pages < shape.pages)
    }
}
