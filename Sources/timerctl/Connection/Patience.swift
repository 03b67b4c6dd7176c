// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// How long a command waits for the daemon's first answer before it looks what holds it up.
///
/// A request may rightly take long: a backup, a check, a thousand jobs. If the daemon answers on another
/// connection, the wait has no limit.
struct Patience {
    /// After this long without an answer, the state of the service is looked at, and the daemon has as long again to answer
    /// on another connection.
    static let limit = Duration.seconds(5)
    /// The longest wait in all for a service that is starting or stopping.
    static let longest = Duration.seconds(60)

    let socket: String
    /// What was asked: "job.list".
    let request: String
    var limit = Patience.limit
    var longest = Patience.longest
    /// The state of the daemon's service; nil if systemd has none for that socket.
    var service: @Sendable () -> ServiceState?

    init(socket: String, request: String) {
        (self.socket, self.request) = (socket, request)
        service = { ServiceState.read(socket: socket) }
    }

    /// The result of `body`, unless the daemon turns out to be dead or stuck.
    ///
    /// - Throws: what `body` throws; `Failure` `unavailable`, which says what keeps the answer from coming.
    func wait<Value: Sendable>(for body: @escaping @Sendable () async throws -> Value) async throws
        -> Value
    {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await watch()
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let value = result { return value }
            }
            throw CancellationError()
        }
    }

    /// Returns once the daemon has shown that it is alive.
    private func watch() async throws {
        let start = ContinuousClock.now
        try await Task.sleep(for: limit)
        var service = service()
        // A daemon that is starting answers once it serves. One that cannot start says so for at least two
        // seconds, so this loop sees it.
        while service?.isOnItsWay == true, ContinuousClock.now - start < longest {
            try await Task.sleep(for: min(limit, .seconds(1)))
            service = self.service()
        }
        if await isAlive() { return }
        let waited = ContinuousClock.now - start
        throw Failure(.unavailable, sentence(service, waited: waited))
    }

    /// Whether the daemon answers on a connection of its own, within the limit.
    private func isAlive() async -> Bool {
        let answers: Bool? = await within(limit) { [socket] in
            do throws(ClientError) {
                let client = try await ControlClient.connect(to: socket)
                // try?: a refusal is a sign of life as well.
                _ = try? await client.status()
                return !Task.isCancelled
            } catch {
                return false
            }
        }
        return answers ?? false
    }

    func sentence(_ service: ServiceState?, waited: Duration) -> String {
        let seconds = waited.components.seconds
        let words = "no answer to '\(request)' at '\(socket)' for \(seconds) s"
        guard let service else {
            return "\(words): whoever listens there is stuck, or has not begun to serve"
        }
        return "\(words): \(service.sentence)"
    }
}
