// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Testing

@testable import SQLite

/// A database that nobody has open, as a bad disk leaves it: with values that its tables do not allow.
enum UnruledDatabase {
    /// Runs `sql` on it as if no table had a rule.
    static func execute(_ sql: String, on path: String) throws {
        func run(_ statements: String) throws {
            var handle: OpaquePointer?
            defer { sqlite3_close(handle) }
            try #require(sqlite3_open(path, &handle) == SQLITE_OK)
            var message: UnsafeMutablePointer<CChar>?
            let code = sqlite3_exec(handle, statements, nil, nil, &message)
            try #require(code == SQLITE_OK, "\(message.map { String(cString: $0) } ?? ""): \(sql)")
        }
        let database = try Database(path: path, mode: .readOnly)
        let schemas = try database.prepare(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%) STRICT%'"
        ).all { (name: try $0.get(0, as: String.self), sql: try $0.get(1, as: String.self)) }
        database.close()
        let set = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
        let unruled = [(" NOT NULL", ""), (") STRICT, ", ") "), (") STRICT", ")")].reduce("sql") {
            "replace(\($0), '\($1.0)', '\($1.1)')"
        }
        try run(set + unruled + " WHERE type = 'table'")
        try run("PRAGMA ignore_check_constraints = ON; " + sql)
        for schema in schemas {
            let words = schema.sql.replacing("'", with: "''")
            try run("\(set) '\(words)' WHERE name = '\(schema.name)'")
        }
    }
}
