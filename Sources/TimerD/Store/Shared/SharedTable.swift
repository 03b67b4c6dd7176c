// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Postgres
import SQLite

/// One table as both databases have it: the same columns, and the same primary key.
///
/// The tables in PostgreSQL are made from those in SQLite, so that the migrations say once what a table is. They have no
/// index but the primary key, and neither triggers nor checks: one node at a time writes them, row by row as they are in its
/// copy.
struct SharedTable: Hashable, Sendable {
    struct Column: Hashable, Sendable {
        var name: String
        var kind: Kind
        /// Its place in the primary key, from 1; 0 if it is not in that.
        var keyPlace: Int
    }

    /// What a column of a STRICT table may hold.
    enum Kind: String, Sendable {
        case integer = "INTEGER"
        case text = "TEXT"
        case bytes = "BLOB"

        var inPostgres: String {
            switch self {
            case .integer: "bigint"
            case .text: "text"
            case .bytes: "bytea"
            }
        }
    }

    let name: String
    let columns: [Column]
    /// The columns of the primary key, by their places in `columns`.
    let key: [Int]

    // What each commit asks for is written once: a text that is made anew is compiled and looked up anew.

    /// Writes rows whole in PostgreSQL, whether they were there or not; takes an array for each column.
    let writing: String
    /// Removes rows in PostgreSQL; takes an array for each column of the primary key.
    let deletion: String
    /// Reads a row of the copy by its primary key.
    let selection: String

    init(name: String, columns: [Column]) {
        self.name = name
        self.columns = columns
        key = columns.indices.filter { columns[$0].keyPlace > 0 }
            .sorted { columns[$0].keyPlace < columns[$1].keyPlace }
        let words = SharedTableWords(name: name, columns: columns, key: key.map { columns[$0] })
        writing = words.writing
        deletion = words.deletion
        selection = words.selection
    }

    /// The tables of a migrated database, by name.
    static func all(of database: Database) throws -> [SharedTable] {
        try database.prepare(Statements.tables).all { try $0.get(0, as: String.self) }.map { name in
            let columns = try database.prepare(Statements.columns).all(name) { row in
                let type = try row.get(1, as: String.self)
                guard let kind = Kind(rawValue: type) else {
                    throw StoreError.unreadable("a column of '\(name)' is of type '\(type)'")
                }
                return Column(name: try row.get(0), kind: kind, keyPlace: try row.get(2))
            }
            return SharedTable(name: name, columns: columns)
        }
    }

    enum Statements {
        static let tables = """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
            """
        static let columns = "SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid"
    }
}

/// What is asked of a table once: when it is made, filled or removed.
extension SharedTable {
    private var words: SharedTableWords {
        SharedTableWords(name: name, columns: columns, key: key.map { columns[$0] })
    }

    // MARK: - In PostgreSQL

    var creation: String { words.creation }
    var removal: String { "DROP TABLE IF EXISTS \(words.place)" }
    /// All rows.
    var reading: String { "SELECT \(words.all) FROM \(words.place)" }

    // MARK: - In SQLite

    /// All rows.
    var localReading: String { "SELECT \(words.all) FROM \"\(name)\"" }

    var localInsertion: String {
        let marks = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        return "INSERT INTO \"\(name)\" (\(words.all)) VALUES (\(marks))"
    }
}
