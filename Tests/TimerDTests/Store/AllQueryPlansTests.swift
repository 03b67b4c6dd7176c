// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TimerD

/// No statement reads a whole table, but where that is what is asked for.
@Suite("All query plans", .timeLimit(.minutes(1))) struct AllQueryPlansTests {
    /// What may be read as a whole, by any statement: it is small, and stays so.
    private static let small: [(words: String, reason: String)] = [
        ("SCAN daemon_state", "one row"),
        ("SCAN zone_rules", "a row for each zone in use"),
        ("SCAN owners", "a row for each user"),
        ("SCAN outbox", "what the last writes have changed and nobody was told of yet"),
        ("SCAN tagging", "owners, by another name"),
        ("SCAN naming", "owners, by another name"),
        ("SCAN fires USING INDEX fires_open", "what is in progress or claimed, and nothing else"),
        ("SCAN boot_jobs", "the jobs of @reboot, where all of them are due"),
        ("SCAN (subquery", "rows that a search has found"),
        ("SCAN CONSTANT ROW", "no table"),
    ]

    /// The statements that read all of a table, with the reason.
    private static let scans = [
        "JobStore.SQL.targets": "the jobs that are tied to a process, each, at the start",
        "EventLog.SQL.oldest": "the oldest of all events, in their order, up to its LIMIT",
        "EventWords.SQL.any": "the first row that there is",
        "UploadStore.SQL.oldest":
            "the oldest of all parts, in the order of their dates, up to its LIMIT",
        "QueueStore.SQL.all": "all queues, a row each, for the metrics",
        "TaskStore.SQL.renewLeases": "the tasks that are not dead, each, at the start",
        "DamagedRows.SQL.queues": "a row for each queue, at the start",
        "DamagedRows.SQL.tasks": "the tasks, each, once as a damaged one is met",
        "DamagedRows.SQL.notices": "the notices, a few hundred of each user, at the start",
        "DamagedRows.SQL.taskCounts": "the tasks, each, once as a damaged one is mended",
        "DamagedRows.SQL.claimsOfStrays":
            "the jobs, each, once where a fire has lost its job, at the start",
        "DamagedRows.SQL.noticeCounts": "the notices, once a damaged one is mended, at the start",
    ]

    /// The functions that are parts of statements.
    private static let parts: Set = [
        "Queries.SQL.tagged", "Queries.SQL.ownTags", "Queries.SQL.named", "Queries.SQL.hasTag",
        "Queries.SQL.any", "Queries.SQL.lastDate",
        "Queries.SQL.way", "Queries.SQL.isIdle", "Queries.SQL.isMatch", "Queries.SQL.definitions",
        "DaemonState.SQL.next", "DaemonState.SQL.last", "Outbox.SQL.sum",
        "Outbox.SQL.sumOfOwner", "NoticeStore.SQL.columns",
    ]

    /// What the connection itself does, beside statements about rows.
    private static let literals: Set = [
        "ATTACH ?1 AS disk", "BEGIN IMMEDIATE", "BEGIN DEFERRED", "COMMIT", "SAVEPOINT step",
        "RELEASE step", "ROLLBACK TO step", "PRAGMA journal_mode = WAL", "PRAGMA user_version",
        "PRAGMA page_size", "PRAGMA application_id",
        "PRAGMA integrity_check(100)", "VACUUM INTO ?1",
        // Tables in memory.
        "INSERT OR IGNORE INTO touched VALUES (?1)", "INSERT OR IGNORE INTO named VALUES (?1)",
        "INSERT OR IGNORE INTO keyed VALUES (?1)",
    ]

    /// The Swift files of the daemon.
    private static func sources() throws -> [String] {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().appendingPathComponent("../../../Sources/TimerD")
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        let swift = files?.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" } ?? []
        return try swift.map { try String(contentsOf: $0, encoding: .utf8) }
    }

    @Test("Each statement that the source has a name for is in the list of these tests")
    func complete() throws {
        var named: Set<String> = []
        // Made once: it takes longer than to look at a line with it.
        let typeBegins = /^(?:final )?(?:extension|enum|struct|class|actor) ([\w.]+)/
        let statementBegins = /^\s+static \w+ (\w+)/
        for source in try Self.sources() {
            // The type that begins at the margin, and whose statements come next.
            var (outer, type): (String, String?) = ("", nil)
            for line in source.split(separator: "\n") {
                if let match = line.firstMatch(of: typeBegins) {
                    outer = String(match.1)
                    type = outer.hasSuffix(".SQL") ? outer : nil
                } else if line == "    enum SQL {" {
                    type = outer + ".SQL"
                } else if line == "    }", type != outer {
                    type = nil
                } else if let type, let match = line.firstMatch(of: statementBegins) {
                    named.insert("\(type).\(match.1)")
                }
            }
        }
        let listed = AllStatements.byName.keys.map { $0.prefix { $0 != "(" } }.map(String.init)
        #expect(named.subtracting(Self.parts).symmetricDifference(listed).sorted() == [])
        #expect(named.count > 150)
    }

    @Test("What is prepared has a name, or is one of a few words of the connection's own")
    func literal() throws {
        for source in try Self.sources() {
            for match in source.matches(of: /prepare\(\s*"([^"]*)"/) {
                #expect(Self.literals.contains(String(match.1)), "\(match.1)")
            }
            #expect(!source.contains(/prepare\(\s*"""/))
        }
    }

    @Test("Each statement finds its rows by an index, or is one of those that ask for all")
    func plans() async throws {
        try await TestScheduler.with { test in
            var scanning: Set<String> = []
            for (name, sql) in AllStatements.byName {
                let plan = try await test.store.reader.read { database in
                    // Nothing that SQLite could compute as it plans: what is bound later it cannot either.
                    let words = sql.replacing(/\?\d+/, with: "abs(1)")
                    return try database.prepare("EXPLAIN QUERY PLAN " + words)
                        .all { try $0.get(3, as: String.self) }
                }
                let scans = plan.filter { step in
                    step.hasPrefix("SCAN") && !Self.small.contains { step.hasPrefix($0.words) }
                }
                guard !scans.isEmpty else { continue }
                scanning.insert(name)
                #expect(Self.scans[name] != nil, "\(name): \(plan)")
            }
            #expect(Set(Self.scans.keys).subtracting(scanning).isEmpty)
        }
    }
}
