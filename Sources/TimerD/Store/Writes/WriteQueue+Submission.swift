// SPDX-License-Identifier: Apache-2.0

import SQLite

/// The ways to hand writes to the store's thread, from any other.
extension WriteQueue {
    /// Queues a command; `completion` is called when it is durable, or has failed and is undone.
    ///
    /// `isLong`: it gets a commit of its own, and what was written before is committed first, so that it need
    /// not wait. `seesAll`: what was postponed before it is stored before it. `user`: who asked for it, whose work
    /// is measured; nil where nobody did.
    nonisolated func submit<T: Sendable>(
        of user: UInt32? = nil,
        isLong: Bool = false,
        seesAll: Bool = false,
        _ body: @escaping @Sendable (Database) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        let command = WriteCommand(of: user, body, completion: completion)
        let isQueued = thread.perform {
            self.assumeIsolated { queue in
                if isLong { queue.finishBatch() }
                if seesAll { queue.storePostponed() }
                queue.run(command)
                if isLong { queue.finishBatch() }
            }
        }
        guard !isQueued else { return }
        completion(.failure(closedError))
        endTelling()
    }

    /// Queues a command, before it suspends, and returns when it is durable.
    ///
    /// It runs on its caller's executor: calls made in some order by one actor, or one thread, are
    /// queued in that order. A cancelled task waits all the same, for the write is on its way. What was
    /// postponed before it is stored before it.
    nonisolated(nonsending) func write<T: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            submit(seesAll: true, body) { continuation.resume(with: $0) }
        }
    }

    /// Queues a record, and calls `durable` when it is stored.
    ///
    /// `body` runs again, in a later transaction, each time that it or the commit failed. With a
    /// `delay` the record wakes no disk for itself: it shares the next commit, or is stored at the
    /// latest after that time. A record that `isGivenUp` after an error of its own is undone and not tried
    /// again, and `durable` is called for it too. `seesAll`: what was postponed before it is stored before it.
    nonisolated func record(
        within delay: Duration = .zero,
        seesAll: Bool = false,
        isGivenUp: @escaping @Sendable (any Error) -> Bool = { _ in false },
        _ body: @escaping @Sendable (Database) throws -> Void,
        durable: (@Sendable () -> Void)? = nil
    ) {
        let record = WriteRecord(body: body, isGivenUp: isGivenUp, durable: durable)
        let work: @Sendable () -> Void = {
            self.assumeIsolated { queue in
                if seesAll { queue.storePostponed() }
                queue.run(record)
            }
        }
        if delay > .zero {
            thread.performDeferred(within: delay, work)
        } else {
            thread.perform(work)
        }
    }

    /// Returns when everything submitted before is durable, or has failed.
    ///
    /// - Throws: if a record submitted before is not.
    nonisolated(nonsending) func barrier() async throws {
        try await write { _ in }
    }

    /// Commits what is queued, tries what is kept once more, checkpoints and closes the database.
    ///
    /// Commands submitted later fail, and records are dropped. Called twice, it does nothing the
    /// second time.
    ///
    /// - Throws: why a record could not be stored, and is lost with this process.
    nonisolated(nonsending) func close() async throws {
        try await withCheckedThrowingContinuation { continuation in
            let isQueued = thread.perform {
                continuation.resume(with: self.assumeIsolated { $0.closeDatabase() })
            }
            if !isQueued { continuation.resume() }
        }
    }
}
