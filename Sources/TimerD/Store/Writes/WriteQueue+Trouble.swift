// SPDX-License-Identifier: Apache-2.0

import CSQLite
import SQLite

/// What is done while the database takes no writes: records are tried again, and without any a probe is.
extension WriteQueue {
    static let firstRetryDelay = Duration.milliseconds(250)
    private static let longestRetryDelay = Duration.seconds(5)

    func retryLater() {
        guard !isRetryQueued else { return }
        isRetryQueued = true
        thread.performDeferred(within: retryDelay) { self.assumeIsolated { $0.retry() } }
        retryDelay = min(retryDelay * 2, Self.longestRetryDelay)
    }

    private func retry() {
        isRetryQueued = false
        if !isClosed { applyRecords() }
    }

    /// Has a small write tried now and then, where there is none to be tried again: else nobody would know that the
    /// database takes writes again before somebody needs it to.
    ///
    /// Not of jobs that are shared: whether their home can be reached is known from the lease.
    func probeLater() {
        guard !isProbeQueued, database.home == nil else { return }
        isProbeQueued = true
        thread.perform(after: Self.longestRetryDelay) { self.assumeIsolated { $0.probe() } }
    }

    private func probe() {
        // Alone in its transaction: what it meets is nobody else's failure.
        finishBatch()
        isProbeQueued = false
        guard !isClosed, lost == nil, keptRecords.isEmpty, statistics.trouble != nil else { return }
        do {
            try apply { try $0.rewriteFirstPage() }
        } catch {
            if batch.error == nil { batch = .failed(asDatabaseError(error)) }
        }
        finishBatch()
    }

    // MARK: - Errors

    nonisolated var closedError: DatabaseError { failure("the database is closed") }

    nonisolated func failure(_ message: String) -> DatabaseError {
        DatabaseError(code: SQLITE_MISUSE, message: "\(message): '\(path)'", path: path)
    }

    nonisolated func asDatabaseError(_ error: any Error) -> DatabaseError {
        error as? DatabaseError
            ?? DatabaseError(code: SQLITE_ERROR, message: "\(error)", path: path)
    }
}
