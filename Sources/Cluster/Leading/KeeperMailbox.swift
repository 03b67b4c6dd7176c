// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Locks
import Platform
import Postgres
import SystemPackage

/// What other threads have for the keeper's, which it wakes, and what they read of it.
final class KeeperMailbox: Sendable {
    /// Work with the keeper's connection; nil where it has none.
    typealias Work = @Sendable (PostgresConnection?, Duration) -> Void

    struct Contents: Sendable {
        var events: [Leadership.Event] = []
        var work: [Work] = []
        var isToStop = false
    }

    private struct State: Sendable {
        var contents = Contents()
        var row = LeaseStatements.OwnRow()
        var hasEnded = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())
    /// For poll(2) of the keeper's thread: readable while there is something.
    let descriptor: CInt

    init() throws(Errno) {
        descriptor = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))
        guard descriptor >= 0 else { throw .last }
    }

    deinit { close(descriptor) }

    var row: LeaseStatements.OwnRow { state.withLock { $0.row } }

    // MARK: - From any thread

    func add(_ event: Leadership.Event) {
        state.withLock { $0.contents.events.append(event) }
        ring()
    }

    func stop() {
        state.withLock { $0.contents.isToStop = true }
        ring()
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
            let isTaken = state.withLock { state in
                if !state.hasEnded { state.contents.work.append(work) }
                return !state.hasEnded
            }
            if isTaken {
                ring()
            } else {
                work(nil, .zero)
            }
        }
        return try result.get()
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

    private func ring() {
        var one: UInt64 = 1
        write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    // MARK: - From the keeper's thread

    func take() -> Contents {
        var rings: UInt64 = 0
        read(descriptor, &rings, MemoryLayout.size(ofValue: rings))
        return state.withLock { state in
            // `end` answers who asks for something then.
            if state.contents.isToStop { return Contents(isToStop: true) }
            defer { state.contents = Contents() }
            return state.contents
        }
    }

    func end() {
        let (waiting, work) = state.withLock { state in
            state.hasEnded = true
            defer {
                state.waiting = []
                state.contents.work = []
            }
            return (state.waiting, state.contents.work)
        }
        for one in work { one(nil, .zero) }
        for one in waiting { one.resume() }
    }
}
