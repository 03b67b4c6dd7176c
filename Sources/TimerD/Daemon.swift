// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
public import Logging
public import ServiceLifecycle
import TimerControl

/// The daemon: makes its parts in order, starts them, and stops them in reverse.
public struct Daemon: Service {
    private let configuration: Configuration
    private let manager: ServiceManager
    private let log: Logger
    private let reloads = AsyncStream<Configuration>.makeStream()

    /// `manager`: who is told how the daemon is, and may have its socket already.
    public init(_ configuration: Configuration, manager: ServiceManager, log: Logger) {
        self.configuration = configuration
        self.manager = manager
        self.log = log
    }

    /// Has the daemon go by another configuration, as soon as it runs.
    ///
    /// What cannot be changed in a daemon that runs is logged and stays: its database and socket.
    public func reload(_ configuration: Configuration) {
        reloads.continuation.yield(configuration)
    }

    /// Runs until it is told to stop, by the service group or by cancellation.
    ///
    /// - Throws: `DaemonError` for what keeps it from starting: a database that is in use, cannot be
    ///   read or is not ours, a socket that another daemon answers on; and where a file of its
    ///   database was taken away while it ran.
    public func run() async throws {
        let parts: DaemonParts
        let loss = Loss(reloads: reloads.continuation)
        do {
            parts = try await DaemonParts.start(configuration, manager, log: log) { loss.note($0) }
        } catch {
            throw DaemonError(starting: error)
        }
        log.info(
            "ready",
            metadata: [
                "version": "\(timerdVersion)", "pid": "\(getpid())",
                "database": "\(configuration.database)", "socket": "\(configuration.socket)",
            ]
        )
        let watchdog = Watchdog(manager, on: parts.thread)
        manager.tell(.ready, .status("serving '\(configuration.socket)'"))
        // Ends when the daemon is told to stop, when its task is cancelled, and with its database.
        var configuration = configuration
        for await new in reloads.stream.cancelOnGracefulShutdown() {
            manager.tell(.reloading)
            configuration = await parts.reload(new, over: configuration)
            manager.tell(.ready)
        }
        // After the drain, runs have their jobs' killAfter to end, 5 s unless it says otherwise.
        manager.tell(
            .stopping,
            .status("stopping"),
            .needs(configuration.drainTime + .seconds(20))
        )
        log.info("stopping", metadata: ["drain": "\(configuration.drainTime)"])
        do {
            try await parts.stop(drainTime: configuration.drainTime)
        } catch  where loss.error == nil {
            throw error
        } catch {
            // That nothing could be stored has been told already.
        }
        withExtendedLifetime(watchdog) {}
        if let error = loss.error { throw DaemonError(error.sentence, .inputOutput) }
        log.info("stopped")
    }
}

/// The end of a daemon whose database was taken away.
private final class Loss: Sendable {
    private let state = Locked<DatabaseError?>(nil)
    private let reloads: AsyncStream<Configuration>.Continuation

    init(reloads: AsyncStream<Configuration>.Continuation) { self.reloads = reloads }

    var error: DatabaseError? { state.withLock { $0 } }

    func note(_ error: DatabaseError) {
        state.withLock { $0 = error }
        reloads.finish()
    }
}
