// SPDX-License-Identifier: Apache-2.0

import CGatheredLog
import CSQLite
import Platform
import SystemPackage

/// The write-ahead log of a connection that writes.
extension Database {
    /// Copies the log into the file if it has grown to 4 MiB.
    ///
    /// SQLite would do so within the commit that passes that size, and the callers that wait for that commit
    /// would wait for the copy too: so the owner calls this after it has told them. There is no error: what
    /// cannot be copied now stays in the log, and counts again at the next commit.
    package func checkpointIfDue() {
        guard Int(loggedPages) * pageSize >= 4 << 20 else { return }
        loggedPages = 0
        sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }

    /// A write that changes nothing: of the page that has the number of the schema, which is set to what it is.
    package func rewriteFirstPage() throws(DatabaseError) {
        let version = try prepare("PRAGMA user_version").value(as: Int.self) ?? 0
        try execute("PRAGMA user_version = \(version)")
    }

    /// Copies what the log holds into the file, and syncs that, before anything is added to it.
    ///
    /// A log from an earlier daemon may hold a commit whose sync failed. A loss of power would end the log
    /// there, and lose all that was added after it. On a full disk, or while another program reads, the log
    /// stays as it is.
    func settleLog() throws(DatabaseError) {
        do throws(DatabaseError) {
            try rewriteLog()
            let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
            if code != SQLITE_OK { throw DatabaseError(of: handle, sql: "checkpoint", path: path) }
        } catch {
            if !error.isFull, !error.isBusy { throw error }
        }
    }

    /// Writes each byte of the log again, and syncs it.
    ///
    /// What a failed sync left is in the system's memory and reads well, but counts as written: no later sync
    /// writes it (https://lwn.net/Articles/752063/). The checkpoint that follows takes the log as durable,
    /// and a loss of power during it would leave half a file.
    private func rewriteLog() throws(DatabaseError) {
        // Nobody else adds to the log, or begins it anew, meanwhile.
        try execute("BEGIN IMMEDIATE")
        defer { rollback() }
        var file: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        guard let file, let methods = file.pointee.pMethods?.pointee else { return }
        func check(_ code: Int32) throws(DatabaseError) {
            guard code != SQLITE_OK else { return }
            let number = DatabaseError.lastErrno(handle, of: SQLITE_FCNTL_JOURNAL_POINTER)
            let reason = number == 0 ? "" : ": \(Errno(rawValue: number).text)"
            throw DatabaseError(
                code: code,
                systemError: number,
                message: "cannot write the log of '\(path)' again\(reason)",
                path: path
            )
        }
        var size: sqlite3_int64 = 0
        try check(methods.xFileSize(file, &size))
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        for offset in stride(from: 0, to: size, by: bytes.count) {
            let count = Int32(min(sqlite3_int64(bytes.count), size - offset))
            try check(methods.xRead(file, &bytes, count, offset))
            try check(methods.xWrite(file, bytes, count, offset))
        }
        try check(methods.xSync(file, SQLITE_SYNC_NORMAL))
    }

    /// Has a commit write the log with one system call.
    func gatherLog() throws(DatabaseError) {
        let code = gather_log(handle)
        if code != SQLITE_OK { throw DatabaseError(code: code, message: "no memory", path: path) }
    }

    /// Replaces SQLite's own hook, which checkpoints; this one counts.
    func takeOverCheckpoints() throws(DatabaseError) {
        pageSize = try prepare("PRAGMA page_size").value() ?? pageSize
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                let database = Unmanaged<Database>.fromOpaque(context).takeUnretainedValue()
                database.loggedPages = pages
                database.loggedCommits += 1
                return SQLITE_OK
            },
            // Not retained: the connection that calls the hook is closed before its owner is freed.
            Unmanaged.passUnretained(self).toOpaque()
        )
    }
}
