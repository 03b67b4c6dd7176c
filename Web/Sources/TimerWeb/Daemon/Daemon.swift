// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// The daemon, by its socket.
///
/// Each page has a connection of its own: it costs some 100 us, a daemon that was restarted is found again
/// without a word, no page waits behind another's requests, and a connection that is refused has changed
/// nothing.
struct Daemon: Sendable {
    let socket: String
    /// How long it may say nothing before it counts as one that hangs.
    let patience: Duration
    /// Told once it hangs, for they ask nothing that could find out.
    let streams = OpenStreams()

    /// Connects for as long as `body` takes, which is begun once the daemon has answered.
    ///
    /// What is sent to a daemon that hangs waits in its socket, and would be done whenever it goes on.
    ///
    /// - Throws: `DaemonHangs`, `ClientError`, the daemon's `ControlError`, and what `body` throws.
    func connected<Value: Sendable>(
        _ body: (Session) async throws -> Value
    ) async throws -> Value {
        let client = try await ControlClient.connect(to: socket)
        var isAsked = false
        do {
            let value = try await minding(client) {
                let session = try await Session(client)
                isAsked = true
                return try await body(session)
            }
            await client.close()
            return value
        } catch var error as DaemonHangs {
            error.isAsked = isAsked
            throw error
        } catch {
            await client.close()
            throw error
        }
    }

    /// Connects for as long as a stream follows the daemon, or until a page finds that it hangs.
    ///
    /// - Throws: `ClientError`, and what `body` throws.
    func streaming(_ body: (ControlClient) async throws -> Void) async throws {
        let client = try await ControlClient.connect(to: socket)
        do {
            try await streams.keeping(client) { try await body(client) }
            await client.close()
        } catch {
            await client.close()
            throw error
        }
    }

    /// Does what asks by `client`, and closes that where the daemon hangs, so that the calls end.
    ///
    /// A request may take long: the daemon hangs where it answers nobody else any more either.
    ///
    /// - Throws: `DaemonHangs`, and what `body` throws.
    func minding<Value>(
        _ client: ControlClient,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let minder = Task { () -> Bool in
            let half = patience / 2
            repeat {
                // try?: whoever is cancelled is not asked for what it has found.
                try? await Task.sleep(for: half)
                guard !Task.isCancelled else { return false }
            } while await answers(within: half)
            guard !Task.isCancelled else { return false }
            await client.close()
            await streams.close()
            return true
        }
        defer { minder.cancel() }
        do {
            return try await body()
        } catch let error as ClientError where error.reason == .closed {
            // A stream's may have been closed by what another page has found.
            minder.cancel()
            guard await minder.value else { throw error }
            throw DaemonHangs(socket: socket, patience: patience)
        }
    }

    /// Whether it answers a connection of its own.
    private func answers(within limit: Duration) async -> Bool {
        do {
            let client = try await ControlClient.connect(to: socket)
            let end = Task {
                try await Task.sleep(for: limit)
                await client.close()
            }
            defer { end.cancel() }
            do {
                _ = try await client.status()
                await client.close()
                return true
            } catch {
                await client.close()
                // A refusal is an answer.
                return error is ControlError
            }
        } catch {
            // Its queue is full. Had it gone, the other connection would have ended with it.
            return false
        }
    }
}

/// The daemon is there and says nothing, as one that was stopped.
struct DaemonHangs: Error, CustomStringConvertible {
    var socket: String
    var patience: Duration
    /// Whether more was sent than whether it answers.
    var isAsked = false

    var description: String {
        "timerd at '\(socket)' does not answer: it has said nothing for \(patience.components.seconds) s"
    }
}

/// The connections of the streams that are open.
final class OpenStreams: Sendable {
    private let clients = Locked<[ObjectIdentifier: ControlClient]>([:])

    /// Keeps one for as long as `body` takes.
    func keeping(_ client: ControlClient, _ body: () async throws -> Void) async rethrows {
        let key = ObjectIdentifier(client)
        clients.withLock { $0[key] = client }
        defer { clients.withLock { $0[key] = nil } }
        try await body()
    }

    /// Ends them; each stream looks for the daemon again.
    func close() async {
        for client in clients.withLock({ Array($0.values) }) { await client.close() }
    }
}
