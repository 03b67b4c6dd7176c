// SPDX-License-Identifier: Apache-2.0

import CSQLite
import LinuxSystem
import SQLite
import Schedules

/// Copies and checks the whole database while it is in use.
///
/// One at a time, on a connection and a thread of its own: it delays no fire, no commit and no list.
/// The log grows meanwhile, as the copy stays at one state.
actor DatabaseMaintenance {
    private let path: String
    private let thread = BlockingThreads(named: "timerd-care", limit: 1)
    private var isBusy = false

    init(path: String) {
        self.path = path
    }

    /// Copies the database, as it is at this moment, to `file`.
    ///
    /// - Returns: the size of the copy in bytes.
    /// - Throws: `DatabaseError` for a file that is there and not to be replaced, for one that
    ///   cannot be written, and while another copy or check is in progress.
    func copy(to file: String, replacing: Bool, at now: Timestamp) async throws -> Int64 {
        try await alone { [path] in
            try DatabaseCopy(of: path).write(to: file, replacing: replacing, at: now)
        }
    }

    /// What is wrong with the database: a sentence each, none for a sound one.
    func check() async throws -> [String] {
        try await alone { [path] in
            let database = try Database(path: path, mode: .readOnly)
            defer { database.close() }
            return try database.problems()
        }
    }

    private func alone<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        guard !isBusy else {
            throw DatabaseError(
                code: SQLITE_BUSY,
                message: "the database is being copied or checked already",
                path: path
            )
        }
        isBusy = true
        defer { isBusy = false }
        return try await thread.run { Result { try body() } }.get()
    }
}

extension Database {
    /// What SQLite finds wrong: damage in the file's structure, and rows that refer to missing ones.
    func problems() throws -> [String] {
        let found = try prepare("PRAGMA integrity_check(100)").all { row in
            try row.get(0, as: String.self)
        }
        guard found == ["ok"] else { return found }
        let orphans = "SELECT DISTINCT \"table\", parent FROM pragma_foreign_key_check LIMIT 100"
        return try prepare(orphans).all { row in
            let (table, parent) = (try row.get(0, as: String.self), try row.get(1, as: String.self))
            return "a row of '\(table)' refers to one of '\(parent)' that is missing"
        }
    }
}
