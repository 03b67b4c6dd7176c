// SPDX-License-Identifier: Apache-2.0

import CSQLite
import SQLite

/// Reads the database while the store writes: a connection and a thread of its own.
actor Reader {
    private nonisolated let thread: any StoreLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private nonisolated let path: String
    private let database: Database
    private var isClosed = false

    /// Opens the database at `path`, which a writer has made; from then on it lives on the thread that
    /// `makeThread` starts.
    init(
        path: String,
        on disk: any Disk = SystemDisk(),
        makeThread: @Sendable () -> any StoreLoop = { StoreThread(name: "timerd-reader") }
    ) throws(DatabaseError) {
        self.path = path
        database = try Database(path: path, mode: .readOnly, on: disk)
        thread = makeThread()
    }

    /// Runs `body` on one state of the database, from its first query to its last.
    ///
    /// It sees every write whose completion has been called. The log cannot be shortened while `body` runs,
    /// so that should be brief: a page of a list, not the whole of it.
    ///
    /// - Throws: what `body` throws; `DatabaseError` once the reader is closed.
    nonisolated(nonsending) func read<T: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let isQueued = thread.perform {
                let result = self.assumeIsolated { reader in
                    Result { try reader.readNow(body) }
                }
                continuation.resume(with: result)
            }
            if !isQueued { continuation.resume(throwing: closedError) }
        }
    }

    /// Closes the connection and ends the thread, after the reads that were asked for before.
    nonisolated(nonsending) func close() async {
        thread.perform { self.assumeIsolated { $0.closeDatabase() } }
        await thread.stop()
    }

    private func readNow<T>(_ body: (Database) throws -> T) throws -> T {
        guard !isClosed else { throw closedError }
        try database.beginReading()
        // The transaction has changed nothing; this only ends it.
        defer { database.rollback() }
        return try body(database)
    }

    private func closeDatabase() {
        isClosed = true
        database.close()
    }

    private nonisolated var closedError: DatabaseError {
        DatabaseError(code: SQLITE_MISUSE, message: "the database is closed: '\(path)'", path: path)
    }
}
