// SPDX-License-Identifier: Apache-2.0

import Locks

/// A worker's connection to the daemon, made anew where it was lost.
final class WorkerLink: Sendable {
    private struct State {
        var client: ControlClient?
        /// How long to wait before the next connection.
        var pause: Duration?
        var sleep: Task<Void, Never>?
        var isStopped = false
    }

    private let socket: String
    private let state = Locked(State())
    private static let firstPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(10)

    init(_ socket: String) { self.socket = socket }

    /// The connection, after a pause that grows with each one that was dropped.
    func client() async throws -> ControlClient {
        if let client = state.withLock({ $0.client }) { return client }
        let sleep = state.withLock { state -> Task<Void, Never>? in
            guard let pause = state.pause, !state.isStopped else { return nil }
            // try?: cancelled, it is over.
            let sleep = Task<Void, Never> { try? await Task.sleep(for: pause) }
            state.sleep = sleep
            return sleep
        }
        await sleep?.value
        let made = try await ControlClient.connect(to: socket)
        // Two may have found that there is none.
        let (client, spare) = state.withLock { state -> (ControlClient, ControlClient?) in
            if let client = state.client { return (client, made) }
            state.client = made
            return (made, nil)
        }
        await spare?.close()
        return client
    }

    /// An answer came: the next pause is short again.
    func hasWorked() { state.withLock { $0.pause = nil } }

    /// Gives the connection up.
    func drop() async {
        let client = state.withLock { state in
            state.pause = min((state.pause ?? Self.firstPause / 2) * 2, Self.longestPause)
            defer { state.client = nil }
            return state.client
        }
        await client?.close()
    }

    /// Ends what is asked on it, and its pause.
    func stop() {
        let (client, sleep) = state.withLock { state in
            state.isStopped = true
            return (state.client, state.sleep)
        }
        sleep?.cancel()
        if let client { Task { await client.close() } }
    }

    func close() async {
        let client = state.withLock { state in
            defer { state.client = nil }
            return state.client
        }
        await client?.close()
    }
}

/// The tasks that a worker works on.
final class RunningTasks: Sendable {
    private struct Entry {
        var reference: TaskReference
        var work: Task<TaskResult, Never>
        var isLost = false
    }

    private struct State {
        var entries: [FireID: Entry] = [:]
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Whether all were cancelled, and whatever is added.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    var count: Int { state.withLock { $0.entries.count } }

    /// Of those that were not lost.
    var references: [TaskReference] {
        state.withLock { $0.entries.values.filter { !$0.isLost }.map(\.reference) }
    }

    func add(_ reference: TaskReference, _ work: Task<TaskResult, Never>) {
        let isCancelled = state.withLock { state in
            state.entries[reference.fire] = Entry(reference: reference, work: work)
            return state.isCancelled
        }
        if isCancelled { work.cancel() }
    }

    func remove(_ fire: FireID) { state.withLock { $0.entries[fire] = nil } }

    func isLost(_ fire: FireID) -> Bool { state.withLock { $0.entries[fire]?.isLost ?? false } }

    func lose(_ fire: FireID) {
        let work = state.withLock { state in
            state.entries[fire]?.isLost = true
            return state.entries[fire]?.work
        }
        work?.cancel()
    }

    func cancelAll() {
        let works = state.withLock { state in
            state.isCancelled = true
            return state.entries.values.map(\.work)
        }
        for work in works { work.cancel() }
    }
}
