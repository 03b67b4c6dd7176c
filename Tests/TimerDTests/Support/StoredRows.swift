// SPDX-License-Identifier: Apache-2.0

@testable import SQLite
@testable import TimerD

/// Every row of a database, as text: what tells whether anything in it has changed.
enum StoredRows {
    static func read(_ path: String) throws -> [String] {
        let database = try Database(path: path, mode: .readOnly)
        defer { database.close() }
        let tables = try database.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ).all { try $0.get(0, as: String.self) }
        return try tables.flatMap { table in
            let columns = try database.prepare(
                "SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('\(table)')"
            ).all { try $0.get(0, as: String.self) }
            let row = columns.joined(separator: " || ' ' || ")
            return try database.prepare("SELECT \(row) FROM \"\(table)\" ORDER BY 1").all {
                "\(table): " + (try $0.get(0, as: String.self))
            }
        }
    }
}
