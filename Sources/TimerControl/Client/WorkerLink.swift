// SPDX-License-Identifier: Apache-2.0

import Locks

/// A worker's connection to the daemon, which its tasks share, made anew where it was lost.
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
    private let longestPause: Duration

    init(_ socket: String, longestPause: Duration) {
        (self.socket, self.longestPause) = (socket, longestPause)
    }

    /// Whether it has a connection that stands; one that does not is given up.
    func stands() async -> Bool {
        let client = state.withLock { $0.client }
        if await client?.isConnected() == true { return true }
        await drop(client)
        return false
    }

    /// How long whoever finds no connection waits before another is made; nil for not at all.
    var pause: Duration? { state.withLock { $0.pause } }

    /// The connection, after a pause that grows with each one that was dropped or could not be made.
    func client() async throws -> ControlClient {
        if let client = state.withLock({ $0.client }) { return client }
        let pause = await rest()
        try Task.checkCancellation()
        // Another task's may be there by now.
        if let client = state.withLock({ $0.client }) { return client }
        let made = try await connect(after: pause)
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

    /// Waits for as long as the pause is, which it returns; a stop ends that.
    private func rest() async -> Duration? {
        let (pause, sleep) = state.withLock { state -> (Duration?, Task<Void, Never>?) in
            guard let pause = state.pause, !state.isStopped else { return (state.pause, nil) }
            // try?: cancelled, it is over.
            let sleep = Task<Void, Never> { try? await Task.sleep(for: pause) }
            state.sleep = sleep
            return (pause, sleep)
        }
        await withTaskCancellationHandler {
            await sleep?.value
        } onCancel: {
            sleep?.cancel()
        }
        return pause
    }

    /// Waits before what was refused on a connection that stands is asked again; longer each time, until something is
    /// answered.
    func restLonger() async {
        state.withLock { $0.pause = $0.pause ?? longer(nil) }
        let pause = await rest()
        lengthen(after: pause)
    }

    /// Of all that have waited for the same length, the first makes the next one longer.
    private func lengthen(after pause: Duration?) {
        state.withLock { if $0.pause == pause { $0.pause = longer(pause) } }
    }

    /// An answer came: the next pause is short again.
    func hasWorked() { state.withLock { $0.pause = nil } }

    /// Whether the connection stands on which something was refused; any other that has failed is given up.
    ///
    /// With it what is tied to it would go back, and what others ask on it be lost. It does not stand where it did not admit
    /// the worker, or is about to be over.
    func keeps(_ failed: ControlClient?, after error: any Error) async -> Bool {
        if let refusal = error as? ControlError, refusal.reason != .stopping,
            await failed?.isConnected() == true
        {
            return true
        }
        await drop(failed)
        return false
    }

    /// Gives up the connection on which something has failed, and none that another task has made since.
    ///
    /// Nil stands for one that could not be made.
    func drop(_ failed: ControlClient?) async {
        guard let failed else { return }
        let isCurrent = state.withLock { state in
            guard state.client === failed else { return false }
            state.client = nil
            state.pause = longer(state.pause)
            return true
        }
        if isCurrent { await failed.close() }
    }

    private func connect(after pause: Duration?) async throws -> ControlClient {
        do {
            return try await ControlClient.connect(to: socket)
        } catch {
            lengthen(after: pause)
            throw error
        }
    }

    private func longer(_ pause: Duration?) -> Duration {
        min((pause ?? Self.firstPause / 2) * 2, longestPause)
    }

    /// Shuts down its writing, and ends its pause: what waits on it is answered at once, and no other connection is made.
    func endWaiting() {
        let (client, sleep) = state.withLock { state in
            state.isStopped = true
            return (state.client, state.sleep)
        }
        sleep?.cancel()
        client?.endWriting()
    }

    /// Ends what is asked on it without an answer, and its pause.
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
