// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Tells whoever waits for a stream that the daemon behind it does not answer, and when it does again; it ends nothing.
///
/// A stream may rightly be silent for days. Only the daemon's answer on another connection tells that from one that is stuck.
struct SilenceWatch: Sendable {
    let socket: String
    /// How long after each answer the daemon is asked again.
    var pause = Duration.seconds(60)
    /// How long an answer may take before it is told of.
    var limit = Duration.seconds(60)
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Returns true once the daemon has answered, and false where there is none: its end is the stream's to tell.
    var look: @Sendable () async -> Bool
    var tell: @Sendable (String) -> Void = { Output.complain($0) }

    init(socket: String) {
        self.socket = socket
        look = { await Self.isAnswered(at: socket) }
    }

    /// Looks until the task is cancelled.
    func start() -> Task<Void, Never> { Task { await run() } }

    private func run() async {
        while !Task.isCancelled {
            do {
                try await sleep(pause)
            } catch {
                return
            }
            let silence = Task { await toldOfSilence() }
            let isAnswered = await look()
            silence.cancel()
            if await silence.value, isAnswered { tell("the daemon at '\(socket)' answers again") }
        }
    }

    /// Whether the limit passed, and was told of, before the answer came.
    private func toldOfSilence() async -> Bool {
        do {
            try await sleep(limit)
        } catch {
            return false
        }
        tell(
            "the daemon at '\(socket)' has not answered for \(limit.components.seconds) s; "
                + "it is waited for"
        )
        return true
    }

    private static func isAnswered(at socket: String) async -> Bool {
        // try?: the end of a daemon is the stream's to tell.
        guard let client = try? await ControlClient.connect(to: socket) else { return false }
        var isAnswered = true
        do {
            _ = try await client.status()
        } catch {
            // A refusal is an answer as well.
            isAnswered = error is ControlError
        }
        await client.close()
        return isAnswered
    }
}
