// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Locks
import SQLite

/// Runs writes in shared transactions and tells each of them when it is durable.
///
/// What is queued together is committed together: the first write of a batch of the thread opens a
/// transaction, each is undone alone if it throws, and one commit makes the others durable. Then
/// their completions are called, in the order of submission, on the thread of the store. A user whose commands have
/// taken long of a batch ends it: what others asked for before is told then, and his time is noted in `longWrites`.
///
/// There are two kinds of write. A *command* may be refused: if the disk is full it gets the error,
/// and is not tried again. A *record* is a fact that has happened: it is kept, and tried until it
/// is stored. Commands run only after the records that were submitted before them are applied, and
/// fail with their error as long as that cannot be; but for records that were postponed, which may be stored later.
///
/// After each commit, after what was refused without one, and before it tells anybody, it looks whether the database's files
/// are still where they were, and whole. If one was taken away, nobody is told that anything was stored, and nothing is
/// written any more. Of a copy of jobs that are shared the former does not hold: they are stored where they are shared.
actor WriteQueue {
    enum Batch {
        /// Nothing has failed but single commands, which are undone.
        case open
        /// A record was not applied; what came before it may still be committed.
        case blocked(DatabaseError)
        /// The transaction is lost.
        case failed(DatabaseError)

        var error: DatabaseError? {
            switch self {
            case .open: nil
            case .blocked(let error), .failed(let error): error
            }
        }
    }

    private struct AfterTelling {
        var call: @Sendable () -> Void
    }

    /// Who waits for the commit of a batch.
    struct Completion {
        var isOfRecord = false
        let call: @Sendable (DatabaseError?) -> Void
    }

    /// Records that are applied one after the other, without a savepoint for each: that would cost more than
    /// the record.
    struct Group {
        /// Whether something else was written in the transaction before.
        let hasSavepoint: Bool
        var count = 0
    }

    nonisolated let thread: any StoreLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    nonisolated let path: String
    let database: Database
    private let onTrouble: @Sendable (DatabaseError) -> Void
    private let onRecovered: @Sendable () -> Void
    private let onLost: @Sendable (DatabaseError) -> Void
    private let now: @Sendable () -> SuspendingClock.Instant
    private let published = Locked(WriteStatistics())
    /// What users have taken of the thread for long.
    nonisolated let longWrites = LongWrites()
    /// What each user's commands have taken of it in this batch.
    private var work = BatchWork()
    /// See `onCompletions`.
    private let afterTelling = Locked(AfterTelling(call: {}))
    var isClosed = false

    var batch = Batch.open
    /// Who waits for the commit of this batch, in order of submission.
    var completions: [Completion] = []
    /// Applied in the open transaction.
    var appliedRecords: [WriteRecord] = []
    /// The last of them, if they can be undone together; nil if what was written last was something else.
    var group: Group?
    /// Not stored yet, and applied in no transaction.
    var keptRecords: [WriteRecord] = []
    var writes = 0
    var isRetryQueued = false
    var isProbeQueued = false
    /// Set once a file of the database was taken away; from then on nothing is written.
    private(set) var lost: DatabaseError?
    var retryDelay = WriteQueue.firstRetryDelay
    /// See `postpone`.
    var postponed = PostponedRecords() {
        didSet { database.notes.hasPostponed = !postponed.records.isEmpty }
    }

    /// Takes over `database`, and the hook of `thread`.
    ///
    /// `onTrouble` is called once when writes begin to fail, `onRecovered` once when they are all
    /// stored again, `onLost` once when a file of the database was taken away; all on the thread of
    /// the store. `now` measures what commands take.
    init(
        database: sending Database,
        thread: any StoreLoop,
        now: @escaping @Sendable () -> SuspendingClock.Instant = { .now },
        onTrouble: @escaping @Sendable (DatabaseError) -> Void,
        onRecovered: @escaping @Sendable () -> Void,
        onLost: @escaping @Sendable (DatabaseError) -> Void = { _ in }
    ) {
        path = database.path
        self.database = database
        self.thread = thread
        self.now = now
        self.onTrouble = onTrouble
        self.onRecovered = onRecovered
        self.onLost = onLost
        thread.onBatchEnd { [weak self] in
            self?.assumeIsolated { $0.finishBatch() }
        }
    }

    /// What has been written so far, and whether writing works; asks no thread, so that it answers
    /// while the disk does not.
    nonisolated var statistics: WriteStatistics { published.withLock { $0 } }

    /// Sets what is called after completions: once for all of the records between two commands, or at the end
    /// of a batch.
    ///
    /// On the thread of the store, or where that has ended on the caller's.
    nonisolated func onCompletions(_ body: @escaping @Sendable () -> Void) {
        afterTelling.withLock { $0.call = body }
    }

    nonisolated func endTelling() {
        let call = afterTelling.withLock { $0.call }
        call()
    }

    // MARK: - On the thread of the store

    func run(_ command: WriteCommand) {
        guard let user = command.user else { return carryOut(command) }
        let start = now()
        carryOut(command)
        if work.add(now() - start, of: user) { finishBatch() }
    }

    private func carryOut(_ command: WriteCommand) {
        guard !isClosed else { return command.refuse(closedError) }
        if let lost { return command.refuse(lost) }
        applyRecords()
        if let error = batch.error {
            completions.append(Completion { _ in command.refuse(error) })
            return
        }
        let isFirst = !database.isInTransaction
        do {
            completions.append(Completion(call: try apply(command.body)))
        } catch is PostponedFirst {
            storePostponed()
            carryOut(command)
        } catch {
            // The refusal may rest on an earlier write of this batch. If that is not stored the refusal is not true, and the
            // failure is told instead.
            completions.append(
                Completion { failure in command.refuse(isFirst ? error : failure ?? error) }
            )
        }
    }

    func run(_ record: WriteRecord) {
        guard !isClosed, lost == nil else { return }
        keptRecords.append(record)
        applyRecords()
    }

    func closeDatabase() -> Result<Void, any Error> {
        guard !isClosed else { return .success(()) }
        storePostponed()
        finishBatch()
        if lost == nil {
            applyRecords()
            finishBatch()
            if lost == nil, let loss = loss() {
                lost = loss
                onLost(loss)
            }
        }
        isClosed = true
        database.close()
        if let lost { return .failure(lost) }
        guard !keptRecords.isEmpty, let trouble = statistics.trouble else { return .success(()) }
        return .failure(trouble)
    }

    /// Runs `body` in the open transaction, or a new one, so that it is undone alone if it throws.
    func apply<T>(_ body: (Database) throws -> T) throws -> T {
        try endGroup()
        let isFirst = try beginIfFirst()
        do {
            // The first write needs no savepoint: it is undone with the whole transaction.
            let result = try isFirst ? body(database) : database.savepoint { try body(database) }
            guard database.isInTransaction else { throw failure("a write ended its transaction") }
            writes += 1
            return result
        } catch {
            if isFirst {
                database.rollback()
            } else if !database.isInTransaction {
                batch = .failed(asDatabaseError(error))
            }
            throw error
        }
    }

    /// Opens a transaction if none is open; returns whether it did.
    func beginIfFirst() throws(DatabaseError) -> Bool {
        guard !database.isInTransaction else { return false }
        do {
            try database.begin()
            return true
        } catch {
            database.rollback()
            batch = .failed(error)
            throw error
        }
    }

    /// Commits the batch, calls the completions, and has records that failed tried again later.
    func finishBatch() {
        storePostponedIfDue(isIdle: !database.isInTransaction)
        let wasLost = lost != nil
        let duration = commit()
        let outcome = batch
        let told = completions
        var failure: DatabaseError?
        if case .failed(let error) = outcome {
            failure = error
            keptRecords.insert(contentsOf: appliedRecords, at: 0)
        }
        publish(outcome, committedIn: duration)
        batch = .open
        completions = []
        appliedRecords = []
        group = nil
        database.notes.groupTally = nil
        writes = 0
        // Noted before anybody is answered, so that the user's next request finds it.
        work.end(notingIn: longWrites)
        for completion in told {
            // Whoever waits for all that came before finds it told.
            if !completion.isOfRecord { endTelling() }
            completion.call(failure)
        }
        endTelling()
        if let lost {
            keptRecords = []
            if !wasLost { onLost(lost) }
            return
        }
        guard !isClosed else { return }
        database.checkpointIfDue()
        if !keptRecords.isEmpty { retryLater() } else if statistics.trouble != nil { probeLater() }
    }

    /// That a file of the database was taken away, or cut off; nil for none, and for a copy of jobs that are shared.
    private func loss(afterCommit: Bool = false) -> DatabaseError? {
        database.home == nil ? database.loss(afterCommit: afterCommit)?.error(path: path) : nil
    }

    /// Commits; returns how long it took, nil if it failed or nothing had been changed.
    private func commit() -> Duration? {
        guard database.isInTransaction else {
            // A refusal may rest on what is missing from the files by now.
            if lost == nil, !completions.isEmpty || batch.error != nil, let loss = loss() {
                lost = loss
                batch = .failed(loss)
            }
            return nil
        }
        let start = ContinuousClock.now
        let before = database.loggedCommits
        do {
            try storeGroupTally()
            try database.commit()
            if let home = database.home {
                // The write is stored in the home of the jobs, whatever has become of the copy.
                lost = home.loss ?? database.loss(afterCommit: true)?.errorOfCopy(path: path)
            } else if let loss = loss(afterCommit: true) {
                lost = loss
                batch = .failed(loss)
                return nil
            }
            return database.loggedCommits > before ? ContinuousClock.now - start : nil
        } catch {
            database.rollback()
            lost = database.home == nil ? loss() : database.home?.loss
            batch = .failed(lost ?? asDatabaseError(error))
            return nil
        }
    }

    private func publish(_ outcome: Batch, committedIn duration: Duration?) {
        let (writes, kept) = (writes, keptRecords.count)
        let turn = published.withLock {
            $0.note(writes: writes, committedIn: duration, kept: kept, error: outcome.error)
        }
        switch turn {
        case nil: break
        case .trouble(let error): if lost == nil { onTrouble(error) }
        case .recovery:
            retryDelay = Self.firstRetryDelay
            onRecovered()
        }
    }
}
