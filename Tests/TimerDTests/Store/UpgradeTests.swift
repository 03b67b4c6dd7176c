// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing

@testable import SQLite
@testable import TimerD

/// Databases of released schemas, opened by this program.
///
/// A migration that is about to be released gets its fixture by
/// `TIMERD_MAKE_FIXTURE=1 swift test --filter UpgradeTests`; an older fixture is never made anew.
@Suite("Upgrade") struct UpgradeTests {
    private static let fixtures = (1...[Migration].released.count).map {
        DatabaseFixture(schema: $0)
    }
    private static let isMaking = ProcessInfo.processInfo.environment["TIMERD_MAKE_FIXTURE"] != nil

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
    }

    @Test(
        "opens the database of each released schema, and goes on with its jobs and history",
        arguments: fixtures
    )
    func keeps(fixture: DatabaseFixture) async throws {
        try fixture.place(at: path)
        let test = try await TestScheduler(
            folder: folder.path,
            machine: VirtualClock.Machine(wall: DatabaseFixture.stopped)
        )
        #expect(try await DatabaseFixture.lines(of: test.store) == (try fixture.lines()))
        #expect(try await test.store.care.check().isEmpty)
        let last: Int64? = try await test.store.reader.read {
            try $0.prepare("SELECT max(seq) FROM events").value()
        }
        try await test.advance(by: .seconds(3600))
        let fired = test.sink.all(.fireFired)
        #expect(fired.count > 30)
        #expect(fired.allSatisfy { $0.seq > last ?? .max })
        try await test.close()
    }

    @Test("gives the database of each released schema the tables of a new one", arguments: fixtures)
    func schema(fixture: DatabaseFixture) throws {
        try fixture.place(at: path)
        let upgraded = try Database(path: path, mode: .readWriteCreate)
        defer { upgraded.close() }
        let own = Array([Migration].released.prefix(fixture.schema))
        #expect(
            try schema(of: upgraded) == schema(made: own),
            "a migration that was released has been changed"
        )
        try Migrator(.released).migrate(upgraded)
        #expect(try schema(of: upgraded) == schema(made: .released))
    }

    @Test("leaves the file as it was where a migration fails", arguments: fixtures)
    func failure(fixture: DatabaseFixture) throws {
        try fixture.place(at: path)
        let before = try folder.contents()
        let broken = Migration(
            number: [Migration].released.count + 1,
            name: "broken",
            sql: "DELETE FROM fires; DROP TABLE job_tags; nonsense"
        )
        let database = try Database(path: path, mode: .readWriteCreate)
        #expect(throws: DatabaseError.self) { try Migrator(.released + [broken]).migrate(database) }
        database.close()
        #expect(try folder.contents() == before)
    }

    @Test("finds a fixture for the newest schema, made on demand", .enabled(if: isMaking))
    func make() async throws {
        try await DatabaseFixture(schema: [Migration].released.count).make(in: folder.path)
    }

    private func schema(made migrations: [Migration]) throws -> [String] {
        let database = try Database(
            path: folder.file("\(migrations.count)-\(UUID().uuidString).db"),
            mode: .readWriteCreate
        )
        defer { database.close() }
        try Migrator(migrations).migrate(database)
        return try schema(of: database)
    }

    private func schema(of database: Database) throws -> [String] {
        try database.prepare("SELECT sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name")
            .all { try $0.get(0) }
    }
}
