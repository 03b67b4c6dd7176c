// SPDX-License-Identifier: Apache-2.0

import Locks
import Postgres
import SystemPackage

/// What other threads have for the keeper's, which it wakes, and what they read of it.
final class KeeperMailbox: Sendable {
    /// Work with the keeper's connection; nil where it has none.
    typealias Work = @Sendable (PostgresConnection?, Duration) -> Void

    struct Contents: Sendable {
        var events: [Leadership.Event] = []
        /// One piece at a time: behind many the lease would not be renewed.
        var work: Work?
        var isToStop = false
    }

    private struct State: Sendable {
        var events: [Leadership.Event] = []
        var work: [Work] = []
        var isToStop = false
        var row = LeaseStatements.OwnRow()
        var leaseEnd: Int64?
        var hasEnded = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())
    /// For the keeper's thread: it rings while there is something.
    let bell: Bell

    init() throws(Errno) { bell = try Bell() }

    var row: LeaseStatements.OwnRow { state.withLock { $0.row } }

    /// When the lease ends that was seen last, in µs of CLOCK_BOOTTIME; nil before the first answer.
    var leaseEnd: Int64? { state.withLock { $0.leaseEnd } }

    // MARK: - From any thread

    func add(_ event: Leadership.Event) {
        state.withLock { $0.events.append(event) }
        bell.ring()
    }

    func stop() {
        state.withLock { $0.isToStop = true }
        bell.ring()
    }

    func update(_ change: (inout LeaseStatements.OwnRow) -> Void) {
        state.withLock { change(&$0.row) }
    }

    /// Does `body` on the keeper's thread, with its connection.
    func ask<Answer: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection, Duration) throws(ClusterError) -> Answer
    ) async throws(ClusterError) -> Answer {
        let result: Result<Answer, ClusterError> = await withCheckedContinuation { continuation in
            let work: Work = { connection, limit in
                guard let connection else {
                    let reason = "there is no connection with the database at the moment"
                    return continuation.resume(returning: .failure(.away(reason)))
                }
                do throws(ClusterError) {
                    continuation.resume(returning: .success(try body(connection, limit)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
            add(work)
        }
        return try result.get()
    }

    /// Has it done on the keeper's thread, or here where that has ended.
    func add(_ work: @escaping Work) {
        let isTaken = state.withLock { state in
            if !state.hasEnded { state.work.append(work) }
            return !state.hasEnded
        }
        if isTaken {
            bell.ring()
        } else {
            work(nil, .zero)
        }
    }

    /// Returns once the keeper's thread has ended.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiting.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: - From the keeper's thread

    func take() -> Contents {
        bell.silence()
        return state.withLock { state in
            // `end` answers who asks for something then.
            if state.isToStop { return Contents(isToStop: true) }
            defer { state.events = [] }
            let work = state.work.isEmpty ? nil : state.work.removeFirst()
            if !state.work.isEmpty { bell.ring() }
            return Contents(events: state.events, work: work)
        }
    }

    func noteLease(endingAt end: Int64) { state.withLock { $0.leaseEnd = end } }

    func end() {
        let (waiting, work) = state.withLock { state in
            state.hasEnded = true
            defer {
                state.waiting = []
                state.work = []
            }
            return (state.waiting, state.work)
        }
        for one in work { one(nil, .zero) }
        for one in waiting { one.resume() }
    }
}
