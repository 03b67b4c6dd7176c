// SPDX-License-Identifier: Apache-2.0

import CSQLite
import SQLite

extension Database {
    /// Adds a row, whose columns are bound to the statement that it calls with.
    typealias Insertion = (_ bind: (OpaquePointer) -> Void) throws(DatabaseError) -> Void

    /// Fills the tables of a copy, in place of what its migrations have put there.
    ///
    /// `rows`: adds the rows of a table.
    func fill(
        _ tables: [SharedTable],
        epoch: Int64,
        rows: (SharedTable, Insertion) throws -> Void
    ) throws {
        csqlite_keep_rules(handle, 0)
        defer { csqlite_keep_rules(handle, 1) }
        for table in tables {
            try execute("DELETE FROM \"\(table.name)\"")
            let insertion = try prepare(table.localInsertion)
            var count = 0
            try begin()
            try rows(table) { (bind) throws(DatabaseError) in
                try insertion.withRaw { (statement) throws(DatabaseError) in
                    bind(statement)
                    guard sqlite3_step(statement) == SQLITE_DONE else {
                        throw DatabaseError(of: handle, sql: table.localInsertion, path: path)
                    }
                }
                count += 1
                if count % SharedCopy.portion == 0 {
                    try commit()
                    try begin()
                }
            }
            try commit()
        }
        // Numbers that were given out and whose rows are gone are in the tables, but for those that SQLite counts itself.
        try execute(
            "DELETE FROM sqlite_sequence;"
                + "INSERT INTO sqlite_sequence VALUES ('upload_parts', \(epoch << 32))"
        )
    }
}
