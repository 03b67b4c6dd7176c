// SPDX-License-Identifier: Apache-2.0

import Logging
import ServiceLifecycle
import TimerD

/// Reads the configuration once more whenever the daemon gets a SIGHUP.
///
/// If it cannot be read, or is refused, that is logged, and the configuration stays as it is: the daemon looks at its socket alone.
struct Reloads: Service {
    /// One element for each SIGHUP.
    let signals: AsyncStream<Void>
    let daemon: Daemon
    let threshold: LogThreshold
    let log: Logger
    let read: @Sendable () async throws(SettingError) -> Configuration

    func run() async {
        for await _ in signals.cancelOnGracefulShutdown() {
            do throws(SettingError) {
                let configuration = try await read()
                if let refusal = daemon.refusal(of: configuration) { throw refusal }
                threshold.level = configuration.logLevel
                daemon.reload(.success(configuration))
            } catch {
                log.error("the configuration stays as it was", metadata: ["error": "\(error)"])
                daemon.reload(.failure(error))
            }
        }
    }
}
