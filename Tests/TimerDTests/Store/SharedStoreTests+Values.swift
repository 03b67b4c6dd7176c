// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Cluster
import Foundation
import Locks
import Logging
import Postgres
import Schedules
import TestPostgres
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// Values on their way there and back.
extension SharedStoreTests {
    @Test("Text of any kind, numbers of any size and bytes come back as they were")
    func values() throws {
        let folder = try TemporaryFolder()
        let database = try SharedTestStore.current().database(in: folder.path)
        try database.begin()
        let insertion = try database.prepare("INSERT INTO zone_rules VALUES (?1, ?2, ?3)")
        let texts = ["", "\0", "a\0b\u{10FFFF}\0", "\u{10FFFF}", "'\"\\{}NULL", "\u{1F600}é"]
        for (number, text) in texts.enumerated() {
            try insertion.run(Int64(number), text, Array("\0\u{FF}".utf8))
        }
        try insertion.run(Int64.min, "least", [UInt8]())
        try insertion.run(Int64.max, "most", (0...255).map { UInt8($0) })
        try database.commit()
        let mine = try rows(of: database)
        database.close()
        #expect(mine["zone_rules"]?.count == texts.count + 2)
        #expect(try stored(folder.path)["zone_rules"] == mine["zone_rules"])
    }

    @Test("Many rows are written, changed and removed in portions, and all are there")
    func portions() throws {
        let folder = try TemporaryFolder()
        let database = try SharedTestStore.current().database(in: folder.path)
        let count = SharedColumns.portion.rows * 2 + 500
        try database.begin()
        let insertion = try database.prepare("INSERT INTO zone_rules VALUES (?1, ?2, ?3)")
        for number in 1...count {
            try insertion.run(Int64(number), "zone \(number)", Array("rules".utf8))
        }
        try database.commit()
        // Those that are changed and those that are removed are several portions each.
        for sql in [
            "UPDATE zone_rules SET name = 'changed ' || id",
            "DELETE FROM zone_rules WHERE id % 2 = 0",
        ] {
            try database.begin()
            try database.execute(sql)
            try database.commit()
        }
        let mine = try rows(of: database)
        database.close()
        #expect(mine["zone_rules"]?.count == count / 2)
        #expect(try stored(folder.path)["zone_rules"] == mine["zone_rules"])
    }
}
