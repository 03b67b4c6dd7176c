// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Locks
import SQLite
import Schedules
import TimerControl

/// Copies and checks the whole database while it is in use.
///
/// One at a time, in the order in which they are asked for, on a connection and a thread of its own: it delays no fire,
/// no commit and no list. The log grows meanwhile, as the copy stays at one state.
final class DatabaseMaintenance: Sendable {
    private let path: String
    private let thread = BlockingThreads(named: "timerd-care", limit: 1)

    init(path: String) {
        self.path = path
    }

    /// Copies the database, as it is once its turn has come, to `file`.
    ///
    /// `now`: asked for the date of the copy at that moment.
    ///
    /// - Returns: the size of the copy in bytes.
    /// - Throws: `DatabaseError` for a file that is there and not to be replaced, for one that cannot be
    ///   written, and for a database that is damaged; `CancellationError` if the task is cancelled before its turn.
    func copy(
        to file: String,
        replacing: Bool,
        at now: @escaping @Sendable () -> Timestamp
    ) async throws -> Int64 {
        try await inTurn { [path] in
            try DatabaseCopy(of: path).write(to: file, replacing: replacing, at: now())
        }
    }

    /// What is wrong with the database: a sentence each, none for a sound one.
    ///
    /// - Throws: as `copy`.
    func check() async throws -> [String] {
        try await inTurn { [path] in
            do {
                let database = try Database(path: path, mode: .check)
                defer { database.close() }
                let problems = try database.problems()
                return problems.isEmpty ? try database.lostClaims() : problems
            } catch let error as DatabaseError where error.isCorrupt || error.isUnread {
                // So damaged, or its disk so, that the check itself cannot go on: that is what it was to find.
                return [error.message]
            }
        }
    }

    /// Runs `body` once those that were asked for before are over; who is cancelled waits no longer.
    func inTurn<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let turn = Turn<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                turn.wait(continuation)
                thread.submit { turn.begin()?.resume(with: Result { try body() }) }
            }
        } onCancel: {
            turn.giveUp()
        }
    }
}

/// The place of a copy or a check among the others.
private final class Turn<Value: Sendable>: Sendable {
    private enum State {
        case new
        case waiting(CheckedContinuation<Value, any Error>)
        case begun
        case givenUp
    }

    private let state = Locked(State.new)

    func wait(_ waiter: CheckedContinuation<Value, any Error>) {
        let isGivenUp = state.withLock { state in
            if case .givenUp = state { return true }
            state = .waiting(waiter)
            return false
        }
        if isGivenUp { waiter.resume(throwing: CancellationError()) }
    }

    /// Who waits for it; nil if nobody does any more.
    func begin() -> CheckedContinuation<Value, any Error>? {
        state.withLock { state in
            guard case .waiting(let waiter) = state else { return nil }
            state = .begun
            return waiter
        }
    }

    /// Without effect once it has begun.
    func giveUp() {
        let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .begun: return nil
            case .new, .givenUp:
                state = .givenUp
                return nil
            case .waiting(let waiter):
                state = .givenUp
                return waiter
            }
        }
        waiter?.resume(throwing: CancellationError())
    }
}

extension Database {
    /// What SQLite finds wrong: damage in the file's structure, and rows that refer to missing ones.
    ///
    /// - Throws: where the disk does not give a page, of which SQLite says in a row that it is damaged.
    func problems() throws -> [String] {
        let found = try prepare("PRAGMA integrity_check(100)").all { row in
            try row.get(0, as: String.self)
        }
        guard found == ["ok"] else {
            try requirePages()
            return found
        }
        let orphans = "SELECT DISTINCT \"table\", parent FROM pragma_foreign_key_check LIMIT 100"
        return try prepare(orphans).all { row in
            let (table, parent) = (try row.get(0, as: String.self), try row.get(1, as: String.self))
            return "a row of '\(table)' refers to one of '\(parent)' that is missing"
        }
    }

    /// Jobs that wait for a fire that is not there, or is over: no window comes upon them, so they would never fire, and
    /// nobody would be told.
    fileprivate func lostClaims() throws -> [String] {
        let claims = """
            SELECT id, claim_id FROM jobs
            WHERE state = 'scheduled' AND held IS NULL AND claim_id IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM fires
                WHERE fires.id = jobs.claim_id AND fires.job_id = jobs.id AND \(RunRow.isOpen))
            LIMIT 100
            """
        return try prepare(claims).all { row in
            let (job, fire) = (try row.get(0, as: JobID.self), try row.get(1, as: FireID.self))
            return "job \(job) waits for its fire \(fire), which is not there,"
                + " and fires again once it is paused and resumed"
        }
    }
}
