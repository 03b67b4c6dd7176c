// SPDX-License-Identifier: Apache-2.0

import CSQLite
import LinuxSystem
import SQLite

extension TrustedPath {
    /// How the names of a database and of the files beside it end.
    static let endingsOfDatabase = ["", "-wal", "-shm", "-journal", ".lock"]

    /// The same for a database: its folder, the file, and the files beside it.
    static func problem(withDatabase path: String) -> String? {
        // try?: if its folder cannot be found, opening the database says why.
        let real = (try? DatabaseLock.resolve(path)) ?? path
        let files = [path] + endingsOfDatabase.dropFirst().map { real + $0 }
        return files.lazy.compactMap { problem(with: $0) }.first
    }

    static func checkDatabase(_ path: String) throws(DatabaseError) {
        guard let problem = problem(withDatabase: path) else { return }
        throw DatabaseError(
            code: SQLITE_PERM,
            message: "cannot open database '\(path)': \(problem)",
            path: path
        )
    }
}
