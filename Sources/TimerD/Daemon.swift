// SPDX-License-Identifier: Apache-2.0

import Glibc
package import LinuxSystem
import Locks
package import Logging
import Runner
import SQLite
import Schedules
public import ServiceLifecycle
import TimerControl

/// The daemon: makes its parts in order, starts them, and stops them in reverse.
public struct Daemon: Service {
    private let configuration: Configuration
    private let manager: ServiceManager
    private let ending = Ending()
    private let log: Logger
    private let reloads = AsyncStream<Result<Configuration, SettingError>>.makeStream()

    /// `manager`: is told the daemon's state, and may hand over its socket.
    package init(_ configuration: Configuration, manager: ServiceManager, log: Logger) {
        self.configuration = configuration
        self.manager = manager
        self.log = log
    }

    /// Has it end the runs when it stops, as where nothing lives on without it; else they go on, and the next
    /// daemon takes them up.
    public func endRunsAtStop() { ending.endsRuns.withLock { $0 = true } }

    /// Gives the daemon another configuration, which it takes over as soon as it runs.
    ///
    /// Database, socket and `listen` stay as they are until a restart; a change of them is logged. Where what was read is
    /// refused, all stays as it is; `daemon.status` tells of both. Either way it listens anew where its socket's file was taken
    /// away.
    public func reload(_ configuration: Result<Configuration, SettingError>) {
        reloads.continuation.yield(configuration)
    }

    /// Why a configuration that was read is refused, of which nothing is to be in force then; nil where it is not.
    ///
    /// A restart, to which a changed place is left otherwise, would end the service.
    public func refusal(of new: Configuration) -> SettingError? {
        // try?: a daemon that is handed several does not run.
        let isHandedOver = (try? manager.socket(for: configuration.socket)) != nil
        if isHandedOver, let refusal = new.refusal(atSocketOf: configuration) { return refusal }
        return new.refusal(ofPlacesUnlike: configuration)
    }

    /// Runs until it is told to stop, by the service group or by cancellation.
    ///
    /// - Throws: `DaemonError` for what keeps it from starting: a database that is in use, cannot be read or
    ///   is not ours, a socket that another daemon answers on; if a file of its database was taken away
    ///   while it ran; and for what it could not store as it stopped.
    public func run() async throws {
        configuration.warnOfContradictions(log)
        if let shared = configuration.shared { return try await runNode(shared) }
        let parts: DaemonParts
        let loss = Loss(reloads: reloads.continuation)
        do {
            parts = try await DaemonParts.start(configuration, manager, log: log) { loss.note($0) }
        } catch {
            throw DaemonError(starting: error)
        }
        warnOfZone()
        log.info(
            "ready",
            metadata: [
                "version": "\(timerdVersion)", "pid": "\(getpid())",
                "database": "\(configuration.database)", "socket": "\(configuration.socket)",
                "runner": "\(parts.core.runner.known.pid ?? 0)",
            ]
        )
        let watchdog = Watchdog(manager, on: parts.thread)
        manager.tell(.ready, .status("serving '\(configuration.socket)'"))
        // Ends when the daemon is told to stop, when its task is cancelled, and when its database is lost.
        var configuration = configuration
        for await new in reloads.stream.cancelOnGracefulShutdown() {
            manager.tell(.reloading)
            configuration = await parts.reload(new, over: configuration)
            manager.tell(.ready)
        }
        let endsRuns = ending.endsRuns.withLock { $0 }
        // After the drain, runs have the `killAfter` of their jobs to end: 5 s by default.
        let time = endsRuns ? configuration.drainTime : .zero
        manager.tell(.stopping, .status("stopping"), .needs(time + .seconds(20)))
        log.info("stopping", metadata: ["runs": endsRuns ? "end within \(time)" : "go on"])
        do {
            try await parts.stop(endsRuns ? .end(after: configuration.drainTime) : .goOn)
        } catch  where loss.error == nil {
            throw DaemonError(stopping: error)
        } catch {
            // The stop failed because the database is lost; `loss.error` says so below.
        }
        withExtendedLifetime(watchdog) {}
        if let error = loss.error { throw DaemonError(error.sentence, .lost) }
        log.info("stopped")
    }

    private func warnOfZone() {
        if let mistake = Zone.localMistake {
            log.warning(
                "words of dates that name no zone are in UTC",
                metadata: ["error": "\(mistake.message)"]
            )
        }
    }

    /// Runs as one node of several.
    private func runNode(_ shared: SharedJobs) async throws {
        let node: NodeDaemon
        do {
            // The one that it has while it stands by.
            try ThreadLimit.require(1)
            node = try NodeDaemon(configuration, shared, manager: manager, log: log)
        } catch {
            throw DaemonError(starting: error)
        }
        warnOfZone()
        let (changes, reloads) = (node.reloads, reloads.stream)
        let reloading = Task { for await new in reloads { changes.yield(.reload(new)) } }
        defer { reloading.cancel() }
        try await node.run { [ending] in ending.endsRuns.withLock { $0 } }
    }
}

/// What becomes of the runs at a daemon's end.
private final class Ending: Sendable {
    let endsRuns = Locked(false)
}

/// The end of a daemon whose database was taken away.
private final class Loss: Sendable {
    private let state = Locked<DatabaseError?>(nil)
    private let reloads: AsyncStream<Result<Configuration, SettingError>>.Continuation

    init(reloads: AsyncStream<Result<Configuration, SettingError>>.Continuation) {
        self.reloads = reloads
    }

    var error: DatabaseError? { state.withLock { $0 } }

    func note(_ error: DatabaseError) {
        state.withLock { $0 = error }
        reloads.finish()
    }
}
