// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Logging
import RunLoopTimers
import SQLite
import Schedules
import TimerControl

/// Everything that a daemon consists of.
///
/// Starting has two steps. The first makes every part: it opens and migrates the store and binds the socket.
/// Clients may connect, but get no answer yet, and nothing else has been changed. The second takes over from
/// the daemon before: it writes, then runs and answers. Either may refuse the start.
struct DaemonParts {
    let core: DaemonCore
    let metrics: MetricsReport
    let socket: ControlSocket
    private let lastReload: LastReload
    private var started: StartedParts

    var thread: RunLoopThread { core.loops.timers }
    private var log: Logger { core.log }

    /// Starts all parts; where one cannot, those before it are stopped, and all is as it was but for
    /// the schema.
    ///
    /// If the first step fails, nothing was changed but the schema. `onLost` is called once, when the
    /// database was removed or replaced under the daemon.
    static func start(
        _ configuration: Configuration,
        _ manager: ServiceManager,
        lead: Lead? = nil,
        lastReload: LastReload = LastReload(),
        log: Logger,
        onLost: @escaping @Sendable (DatabaseError) -> Void
    ) async throws -> DaemonParts {
        DescriptorLimit.raise()
        var started = StartedParts()
        do {
            let inherited = try manager.socket(for: configuration.socket)
            let core = try await DaemonCore(
                configuration,
                lead: lead,
                isOfUnits: inherited != nil,
                log,
                onLost,
                &started
            )
            let listener = try lead?.openListener() ?? inherited
            var parts = try await DaemonParts(
                core,
                configuration,
                listener,
                age: lead?.age ?? .zero,
                lastReload,
                &started
            )
            try await parts.recoverAndServe()
            // A node has its page for as long as it runs: see `NodeMetrics`.
            if lead == nil { await parts.serveMetrics(at: configuration.listen) }
            return parts
        } catch {
            // try?: the caller needs the error of the start, not one of the stop.
            try? await started.stop()
            throw error
        }
    }

    /// Makes what clients come to, last of all.
    ///
    /// `listener`: the control socket, if it is there already. `age`: how long ago the process was started.
    private init(
        _ core: DaemonCore,
        _ configuration: Configuration,
        _ listener: Int32?,
        age: TimeSpan,
        _ lastReload: LastReload,
        _ started: inout StartedParts
    ) async throws {
        self.core = core
        self.lastReload = lastReload
        let bus = core.bus
        let now = core.clock.now()
        let status = StatusReport(
            databaseShown: configuration.databaseShown,
            socket: configuration.socket,
            nodeName: configuration.shared?.node,
            started: now.elapsed - age,
            leadsSince: now.elapsed,
            clock: core.clock,
            scheduler: core.scheduler,
            store: core.store,
            watchers: { bus.watcherCount },
            newestEvent: { bus.newest },
            lastReload: { lastReload.told },
            nodes: core.nodes
        )
        metrics = MetricsReport(
            status: status,
            database: configuration.database,
            eventsLost: { bus.lostCount },
            nodes: core.nodes
        )
        let handler = CommandHandler(
            scheduler: core.scheduler,
            reader: core.store.reader,
            care: core.store.care,
            clock: core.clock,
            status: { await status.reply(to: $0) },
            metrics: metrics.reply,
            log: core.log,
            own: core.own,
            nodes: core.nodes
        )
        var settings = ControlSocket.Settings(configuration, uid: geteuid())
        settings.inherited = listener
        let socket = try await Self.bind(settings, core, handler, &started)
        self.socket = socket
        // Weak: who answers its clients is the socket's.
        status.connections.set { [weak socket] in socket?.connectionCount ?? 0 }
        self.started = started
    }

    /// Binds the control socket, whose clients `handler` is to answer; it serves nobody yet.
    private static func bind(
        _ settings: ControlSocket.Settings,
        _ core: DaemonCore,
        _ handler: CommandHandler,
        _ started: inout StartedParts
    ) async throws -> ControlSocket {
        let (scheduler, own) = (core.scheduler, core.own)
        // The daemon's own user is known by its uid alone.
        let owner = { @Sendable (peer: Peer) in peer.uid == own.uid ? own : peer.owner }
        return try await started.start {
            settings.admission.warnOfUnknownNames(core.log)
            return try await ControlSocket.bind(
                settings,
                bus: core.bus,
                source: core.store.events(after: scheduler),
                accounts: core.accounts,
                logger: core.log,
                farewell: { [terms = scheduler.terms] in terms.refusal },
                passedOver: { scheduler.passedOver },
                areOthersAtWork: { [pending = scheduler.pending] in
                    pending.areOthersAtWork(than: $0, within: $1)
                },
                takeLongWrites: { [long = core.store.writer.longWrites] in long.take(of: $0) },
                takeBack: { tasks in scheduler.perform { $0.takeBack(tasks) } },
                check: { handler.check($0, from: owner($1), over: $1.life) },
                handle: {
                    await handler.handle(
                        $0,
                        from: owner($1),
                        over: $1.life,
                        isAlone: $1.isAlone,
                        place: $1.place
                    )
                }
            )
        } stop: {
            await $0.stop(within: .seconds(1))
        }
    }

    /// Goes on where the daemon before this one stopped, and begins to answer clients.
    ///
    /// - Throws: why what the daemon before left could not be recovered; then nothing has been run.
    private func recoverAndServe() async throws {
        let recovered = try await core.recover()
        if recovered.interrupted > 0 || recovered.redelivered > 0 || recovered.takenUp > 0 {
            log.notice(
                "recovered",
                metadata: [
                    "runs_taken_up": "\(recovered.takenUp)",
                    "interrupted_runs": "\(recovered.interrupted)",
                    "redelivered_fires": "\(recovered.redelivered)",
                ]
            )
        }
        socket.serve()
    }

    /// Serves the metrics over HTTP if that is set.
    private mutating func serveMetrics(at listen: String) async {
        guard let address = ListenAddress(listen) else { return }
        let (loop, metrics, log) = (core.bus.loop, metrics, log)
        // Jobs run already; they are not ended because somebody else has the port.
        do {
            try await started.startMetrics(at: address, on: loop, log) {
                await metrics.reply().openMetrics
            }
        } catch {
            log.error("no metrics are served: \(error); ignoring")
        }
    }

    /// Takes over the settings that were read, and returns those in force from now on; where they are refused it looks at the
    /// socket alone.
    func reload(
        _ read: Result<Configuration, SettingError>,
        over old: Configuration
    ) async -> Configuration {
        lastReload.note(read, over: old)
        guard case .success(let read) = read else {
            let settings = ControlSocket.Settings(old, uid: geteuid())
            await socket.listenAnew(for: settings.admission.audience)
            return old
        }
        let new = read.keeping(placesOf: old, log)
        await core.scheduler.reload(
            SchedulerSettings(new, account: core.scheduler.settings.account)
        )
        let socketSettings = ControlSocket.Settings(new, uid: geteuid())
        // Logged once it is in force, so that a reader of the log can rely on it.
        await socket.reload(socketSettings)
        new.tellOfReload(over: old, log)
        socketSettings.admission.warnOfUnknownNames(log)
        return new
    }

    /// Sees to the runs, releases the claims, and stops all parts in reverse.
    ///
    /// `refusal`: see `Scheduler.stop`.
    /// - Throws: what could not be stored.
    func stop(_ runs: RunsAtStop, refusing refusal: ControlError? = nil) async throws {
        core.watch.stop()
        await core.scheduler.stop(runs, refusing: refusal)
        var started = started
        try await started.stop()
    }
}
