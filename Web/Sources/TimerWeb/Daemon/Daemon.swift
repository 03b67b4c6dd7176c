// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The daemon, by its socket.
///
/// Each page has a connection of its own: it costs some 100 us, a daemon that was restarted is found again
/// without a word, no page waits behind another's requests, and a connection that is refused has changed
/// nothing.
struct Daemon: Sendable {
    let socket: String

    /// Connects for as long as `body` takes.
    ///
    /// - Throws: `ClientError`, the daemon's `ControlError`, and what `body` throws.
    func connected<Value: Sendable>(
        _ body: (ControlClient) async throws -> Value
    ) async throws -> Value {
        let client = try await ControlClient.connect(to: socket)
        do {
            let value = try await body(client)
            await client.close()
            return value
        } catch {
            await client.close()
            throw error
        }
    }
}
