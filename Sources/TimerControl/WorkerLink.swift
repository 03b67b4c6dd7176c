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
        await withTaskCancellationHandler {
            await sleep?.value
        } onCancel: {
            sleep?.cancel()
        }
        try Task.checkCancellation()
        let made = try await ControlClient.connect(to: socket)
        let (client, spare) = state.withLock { state -> (ControlClient?, ControlClient?) in
            // Stopped meanwhile, when there was none to be closed.
            if state.isStopped { return (nil, made) }
            // Two may have found that there is none.
            if let client = state.client { return (client, made) }
            state.client = made
            return (made, nil)
        }
        await spare?.close()
        guard let client else { throw ClientError(.closed, "the worker has been stopped") }
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
