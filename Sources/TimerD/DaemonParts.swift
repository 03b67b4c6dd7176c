// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import NIOCore
import NIOPosix
import RunLoopTimers
import Schedules
import TimerControl

/// Everything that a daemon consists of, once it runs.
struct DaemonParts {
    let lock: DatabaseLock
    let store: Store
    let thread: RunLoopThread
    let scheduler: Scheduler
    let watch: ClockWatch
    let sockets: MultiThreadedEventLoopGroup
    let socket: ControlSocket
    /// Nil unless the metrics are served over HTTP.
    let endpoint: MetricsEndpoint?
    let log: Logger

    static func start(
        _ configuration: Configuration,
        _ manager: ServiceManager,
        log: Logger
    ) async throws -> DaemonParts {
        DescriptorLimit.raise()
        let lock = try DatabaseLock(database: configuration.database)
        let now = SystemClock.read().wall
        let store = try Store(configuration.database, log: log, now: now)
        let account = Account(uid: geteuid())
        let own = Owner(uid: account.uid, name: account.name)
        try await store.writer.write { try Owners($0).rename(own) }
        let clock = try await SystemClock.resumed(store, bootID: SystemClock.bootID(), log: log)
        let sockets = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let bus = EventBus(newest: store.state.eventSequenceEnd - 1, loop: sockets.any())

        let thread = RunLoopThread(name: "timerd-timers")
        let runner = try SpawnRunner { clock.now().wall.microseconds }
        let accounts = Accounts()
        let scheduler = Scheduler(
            loop: thread,
            clock: clock,
            store: store.writer,
            runner: runner,
            accounts: accounts,
            events: bus,
            eventSequenceEnd: store.state.eventSequenceEnd,
            settings: Settings(configuration, account: account),
            log: log
        )
        let watch = try ClockWatch { signal in
            Task { await scheduler.clockSignalled(signal) }
        }
        await scheduler.onLoadDateChange { watch.set($0) }
        let recovered = try await scheduler.recover()
        if recovered.interrupted > 0 || recovered.redelivered > 0 {
            log.notice(
                "recovered",
                metadata: [
                    "interrupted_runs": "\(recovered.interrupted)",
                    "redelivered_fires": "\(recovered.redelivered)",
                ]
            )
        }
        let status = StatusReport(
            configuration: configuration,
            startedAt: clock.now().wall,
            clock: clock,
            scheduler: scheduler,
            store: store,
            watchers: { bus.watcherCount },
            newestEvent: { bus.newest }
        )
        let metrics = MetricsReport(status: status) { bus.lostCount }
        let handler = CommandHandler(
            scheduler: scheduler,
            reader: store.reader,
            care: store.care,
            clock: clock,
            status: { await status.reply(to: $0) },
            metrics: metrics.reply,
            log: log,
            own: own
        )
        var socketSettings = ControlSocket.Settings(configuration, uid: geteuid())
        socketSettings.inherited = try manager.socket(for: configuration.socket)
        socketSettings.admission.warnOfUnknownNames(log)
        let socket = try await ControlSocket.start(
            socketSettings,
            bus: bus,
            source: store.events(after: scheduler),
            accounts: accounts,
            logger: log
        ) { request, peer in
            // The daemon's own user is known by its uid.
            let owner = peer.uid == own.uid ? own : peer.owner
            return await handler.handle(request, from: owner, over: peer.life)
        }
        status.connections.set { socket.connectionCount }
        var endpoint: MetricsEndpoint?
        if let address = ListenAddress(configuration.listen) {
            // Jobs run already; they are not ended because somebody else has the port.
            do {
                let made = try await MetricsEndpoint.start(
                    at: address,
                    on: bus.loop,
                    logger: log,
                    metrics: metrics.reply
                )
                log.info("serving metrics", metadata: ["listen": "\(made.address)"])
                endpoint = made
            } catch {
                log.error("no metrics are served: \(error); ignoring")
            }
        }
        return DaemonParts(
            lock: lock,
            store: store,
            thread: thread,
            scheduler: scheduler,
            watch: watch,
            sockets: sockets,
            socket: socket,
            endpoint: endpoint,
            log: log
        )
    }

    /// Goes over to what `new` says, and returns what is in force from now on.
    func reload(_ new: Configuration, over old: Configuration) async -> Configuration {
        var new = new
        for setting in old.changes(to: new)
        where [.database, .socket, .listen].contains(setting) {
            log.warning("a changed setting needs a restart", metadata: ["setting": "\(setting)"])
        }
        (new.database, new.socket, new.listen) = (old.database, old.socket, old.listen)
        await scheduler.reload(Settings(new, account: scheduler.settings.account))
        let socketSettings = ControlSocket.Settings(new, uid: geteuid())
        socket.reload(socketSettings)
        let changed = old.changes(to: new).map(\.rawValue).joined(separator: " ")
        log.notice("reloaded", metadata: ["changed": "\(changed)"])
        socketSettings.admission.warnOfUnknownNames(log)
        return new
    }

    /// Answers what is in progress, ends the runs, gives back what was claimed, closes the store.
    ///
    /// - Throws: what could not be stored.
    func stop(drainTime: Duration) async throws {
        watch.stop()
        await scheduler.stop(drainTime: drainTime)
        await endpoint?.stop()
        await socket.stop(within: .seconds(1))
        try await store.close()
        thread.stop()
        try await sockets.shutdownGracefully()
        lock.release()
    }
}

extension ControlSocket.Settings {
    /// Root serves all users, any other user none but itself.
    init(_ configuration: Configuration, uid: UInt32) {
        self.init(
            path: configuration.socket,
            admission: Admission(
                owner: uid,
                isShared: uid == 0,
                allow: configuration.allow.compactMap(Admission.Entry.init),
                deny: configuration.deny.compactMap(Admission.Entry.init)
            ),
            maxConnections: configuration.maxConnections,
            maxConnectionsPerUser: configuration.maxConnectionsPerUser,
            maxInFlight: configuration.maxInFlight,
            maxInFlightPerUser: configuration.maxInFlightPerUser
        )
    }
}

extension Admission {
    /// May block, for as long as the user database takes.
    fileprivate func warnOfUnknownNames(_ log: Logger) {
        for entry in unknownNames() {
            log.warning("allow or deny names nobody", metadata: ["entry": "\(entry)"])
        }
    }
}

extension EventBus: EventPublisher {}

extension Scheduler {
    /// What the clock watch saw.
    func clockSignalled(_ signal: ClockWatch.Signal) {
        switch signal {
        case .dateHasCome: windowDue()
        case .clockWasStepped:
            let step = clockStepped()
            if step != .zero {
                log.notice("the wall clock was stepped", metadata: ["step": "\(step)"])
            }
        }
    }
}

extension Store {
    /// Where watchers read what they have missed, once all that was told before is stored.
    func events(after scheduler: Scheduler) -> EventSource {
        { [reader] after, owner, limit in
            // A page that lacks what is not stored yet would be taken for all that there is.
            try await scheduler.store.barrier()
            return try await reader.read { database in
                let log = EventLog(database)
                return EventPage(
                    events: try log.events(
                        after: after,
                        owner: try Queries(database).id(of: owner),
                        limit: limit
                    ),
                    prunedThrough: try log.prunedThrough()
                )
            }
        }
    }
}
