// SPDX-License-Identifier: Apache-2.0

import JobModel
import LinuxSystem
import Locks
import SQLite

/// What is written: commands wait until it is durable, what has happened does not.
extension Scheduler {
    /// Writes `body` and returns once it is durable and its outcome has been armed, see `submitWrite`.
    func write<T: Sendable>(
        unstarted: Set<FireID> = [],
        _ body: @escaping @Sendable (inout JobTransaction) throws -> T,
        durable: @escaping @Sendable (isolated Scheduler, T) -> Void = { _, _ in }
    ) async throws -> T {
        try await submitWrite(unstarted: unstarted, body, durable: durable).value()
    }

    /// Has the store write `body`, which takes its place in the store's queue at once.
    ///
    /// What is promised is there once the write is durable and its outcome has been armed. `durable` and `failed` are called
    /// here in the order of the store, `durable` after the outcome has been armed; a caller that awaits the value may resume
    /// after later answers of the store, as continuations go by way of the pool. `isLong`: earlier writes are committed
    /// before it. `user`: who asked for it; nil if reads of all users are to wait for it. `unstarted`: see
    /// `TransactionTerms`.
    @discardableResult
    func submitWrite<T: Sendable>(
        of user: UInt32? = nil,
        isLong: Bool = false,
        unstarted: Set<FireID> = [],
        _ body: @escaping @Sendable (inout JobTransaction) throws -> T,
        durable: @escaping @Sendable (isolated Scheduler, T) -> Void = { _, _ in },
        failed: @escaping @Sendable (isolated Scheduler, any Error) -> Void = { _, _ in }
    ) -> Promised<T> {
        let makeTransaction = transactionMaker(unstarted: unstarted)
        let (handovers, pending, terms) = (handovers, pending, terms)
        let write = user.map { PendingWrites.Write.command(of: $0) } ?? .common
        let promised = Promised<T>()
        pending.begin(write)
        store.submit(of: user, isLong: isLong) { database in
            var writer = try makeTransaction(database)
            let value = try body(&writer)
            return (value, try writer.finish())
        } completion: { result in
            pending.end(write)
            if case .success = result { terms.beginHandover() }
            handovers.add { scheduler in
                switch result {
                case .success((let value, let outcome)):
                    scheduler.take(
                        outcome,
                        finish: { scheduler in
                            durable(scheduler, value)
                            promised.keep(.success(value))
                        }
                    )
                case .failure(let error):
                    failed(scheduler, error)
                    promised.keep(.failure(error))
                }
            }
        }
        return promised
    }

    /// Tells the store what has happened: it is written as soon as the store can, in order.
    ///
    /// `durable` is called here once it is stored, after its outcome has been armed. Without `durable` this thread
    /// does not hear of an outcome that leaves it nothing to do (`StoreOutcome.isNothing`). If it can never be
    /// stored, `job`, which it is about, is held, and `dropped` is called instead. `user`: whose jobs it is about, where
    /// it is about several; nil if any user may know of it. `share`: the user in whose share of fires it counts. `delay`:
    /// how long it may wait for others to share a commit with. `seesAll`: what was postponed before it is stored before it.
    func record<T: Sendable>(
        of job: StoredJob? = nil,
        about user: UInt32? = nil,
        within delay: Duration = .zero,
        share: UInt32? = nil,
        seesAll: Bool = false,
        unstarted: Set<FireID> = [],
        _ body: @escaping @Sendable (inout JobTransaction) throws -> T,
        durable: (@Sendable (isolated Scheduler, T) -> Void)? = nil,
        dropped: @escaping @Sendable (isolated Scheduler, any Error) -> Void = { _, _ in }
    ) {
        let makeTransaction = transactionMaker(unstarted: unstarted)
        let share = share.flatMap { turns.isLimited($0) ? $0 : nil }
        let written = Locked<Result<(value: T, outcome: StoreOutcome), any Error>?>(nil)
        let (pending, handovers, terms) = (pending, handovers, terms)
        let write =
            (job?.owner.uid ?? user).map { PendingWrites.Write.record(about: $0) } ?? .common
        pending.begin(write)
        let isGivenUp: @Sendable (any Error) -> Bool = { error in
            if error.isStorageTrouble { return false }
            written.withLock { $0 = .failure(error) }
            return true
        }
        store.record(within: delay, seesAll: seesAll, isGivenUp: isGivenUp) { database in
            var writer = try makeTransaction(database)
            let value = try body(&writer)
            let outcome = try writer.finish()
            written.withLock { $0 = .success((value, outcome)) }
        } durable: {
            pending.end(write)
            if let share { handovers.noteStored(share: share) }
            let result = written.withLock { $0 }
            if case .success(let (_, outcome)) = result {
                if durable == nil, outcome.isNothing { return }
                terms.beginHandover()
            }
            handovers.add { scheduler in
                switch result {
                case .success(let (value, outcome)):
                    scheduler.take(outcome, finish: { durable?($0, value) })
                case .failure(let error):
                    scheduler.recordDropped(of: job?.id, error)
                    dropped(scheduler, error)
                case nil: break
                }
            }
        }
    }

    /// Takes what the store has said in one batch.
    func receive(_ batch: Handovers.Batch) {
        for (owner, count) in batch.stored { firesStored(count, of: owner) }
        for answer in batch.answers { answer(self) }
    }

    /// What makes the transaction of a write that is queued now; moves the horizon on where that needs no load.
    func transactionMaker(unstarted: Set<FireID> = [])
        -> @Sendable (Database) throws -> JobTransaction
    {
        window.extend(now: clock.now().elapsed)
        return terms.transactionMaker(unstarted: unstarted)
    }
}

extension Error {
    /// Whether the database could not write for now: the disk is full, fails or is locked.
    ///
    /// Any other error is a fault of the write itself: it would fail again.
    var isStorageTrouble: Bool {
        guard let error = self as? DatabaseError else { return false }
        return error.isFull || error.isIOError || error.isBusy || error.isReadOnly
            || error.isCorrupt || error.isOutOfMemory
    }
}
