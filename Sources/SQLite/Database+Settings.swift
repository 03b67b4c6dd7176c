// SPDX-License-Identifier: Apache-2.0

import CSQLite

extension Database {
    /// Settings of the connection that writes.
    ///
    /// https://www.sqlite.org/pragma.html. Not among them `temp_store = MEMORY`: savepoints would
    /// cost a quarter more of the processor, and a large sort memory without bound.
    func configureWriter() throws(DatabaseError) {
        try execute(
            """
            PRAGMA foreign_keys = ON;
            PRAGMA cache_size = -2048; -- KiB
            -- A transaction's pages wait in memory for its commit. If some are in the log before, and a savepoint is
            -- undone, SQLite 3.40 may commit frames without checksums: a recovery stops at them, and all commits
            -- from there on are lost.
            PRAGMA cache_spill = OFF;
            -- What is deleted is overwritten where its page is written anyway. Debian's SQLite is built to write each page
            -- that becomes free full of zeros: hundreds of MB, in memory and in the log, for one long output.
            PRAGMA secure_delete = FAST;
            """
        )
        // To its end: that it could not be synced SQLite says behind the row with the mode, and goes on without a log.
        try prepare("PRAGMA journal_mode = WAL").run()
        let mode = try prepare("PRAGMA journal_mode").value(as: String.self)
        guard mode == "wal" else {
            throw DatabaseError(
                code: SQLITE_CANTOPEN,
                message: "cannot keep a write-ahead log beside '\(path)':"
                    + " its file system allows journal mode '\(mode ?? "none")' only",
                path: path
            )
        }
        try execute(
            """
            PRAGMA synchronous = FULL; -- a commit returns when its pages of the log are on disk
            PRAGMA journal_size_limit = 16777216; -- bytes: what a burst leaves behind is given back
            """
        )
    }

    func configureReader() throws(DatabaseError) {
        try execute(
            """
            PRAGMA query_only = ON;
            PRAGMA cache_size = -1024; -- KiB
            """
        )
    }
}
