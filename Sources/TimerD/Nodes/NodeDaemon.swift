// SPDX-License-Identifier: Apache-2.0

import Cluster
import Glibc
import LinuxSystem
import Locks
import Logging
import Platform
import Postgres
import RunLoopTimers
import Runner
import SQLite
import ServiceLifecycle
import SystemPackage
import TimerControl

/// A daemon that shares its jobs with others: it stands by, and relays its clients to the node that leads; it leads, as a
/// daemon alone does, while it has the lease.
final class NodeDaemon {
    /// What happens to a node, in the order in which it does.
    enum Change: Sendable {
        /// `formerClock`: by how much the clock of the node that led before was ahead of the database's, in µs.
        case lead(epoch: Int64, formerClock: Int64?)
        case stopLeading(StopReason)
        case leader(String?)
        /// No command is to begin on this node, or again.
        case drains(Bool)
        /// No run is in progress any more on a node that drains.
        case drained(epoch: Int64)
        /// Nothing can be stored any more in that epoch.
        case lost(epoch: Int64, DatabaseError)
        /// What was read, or why it was refused.
        case reload(Result<Configuration, SettingError>)
    }

    var configuration: Configuration
    let shared: SharedJobs
    let address: PostgresAddress
    let manager: ServiceManager
    let log: Logger
    /// When it was started, since the boot of the machine: no step of the wall clock makes it older.
    let startedSinceBoot = SystemClock.read().sinceBoot
    let changes = AsyncStream<Change>.makeStream()
    var socket: SocketFile
    let lock: DatabaseLock
    let keeper: NodeKeeper
    let relay: Relay
    /// Has the service manager know that this process is well, while there is no core.
    let thread = RunLoopThread(name: "timerd-standby")
    var watchdog: Watchdog?
    /// The daemon's core, while this node leads; and its epoch.
    var leading: (parts: DaemonParts, epoch: Int64)?
    /// Who leads, of what this node was told; nil for nobody, and for itself.
    var leader: String?
    /// Runs commands for the node that leads, while that is another one.
    var agent: RunAgent?
    let lastReload = LastReload()
    /// What keeps it from leading.
    let standing = NodeStanding()
    let metrics: NodeMetrics
    /// What serves the page of metrics, to be stopped with the node.
    private var started = StartedParts()

    /// Begins to listen and to take part.
    ///
    /// - Throws: `DaemonError` for what keeps it from that.
    init(
        _ configuration: Configuration,
        _ shared: SharedJobs,
        manager: ServiceManager,
        log: Logger
    ) throws {
        self.configuration = configuration
        self.shared = shared
        self.manager = manager
        self.log = log
        address = try PostgresAddress(shared.text)
        try configuration.checkPlaces()
        if let problem = Database.problem(withPlaceOfCopy: configuration.database) {
            throw DaemonError("copy: \(problem)", .configuration)
        }
        // A loss of power may have left zeros of a copy.
        lock = try DatabaseLock(database: configuration.database, isToBeReplaced: true)
        let settings = ControlSocket.Settings(configuration, uid: geteuid())
        if let inherited = try manager.socket(for: configuration.socket) {
            socket = try SocketFile.adopt(inherited, at: configuration.socket)
        } else {
            socket = try SocketFile.listen(
                at: configuration.socket,
                for: settings.admission.audience
            )
        }
        do {
            let changes = changes.continuation
            keeper = try Self.keeper(shared, address, configuration, changes, standing, log)
            relay = try Self.relay(shared, address, configuration, keeper, standing, log)
            metrics = NodeMetrics(node: shared.node, started: startedSinceBoot) {
                [standing, keeper] in
                standing.trouble == nil && keeper.leaseEnd != nil
            }
        } catch {
            socket.remove()
            throw error
        }
    }

    /// Gives the node another configuration, as `Daemon.reload` does.
    var reloads: AsyncStream<Change>.Continuation { changes.continuation }

    /// Runs until it is told to stop.
    ///
    /// - Throws: `DaemonError` if it cannot go on.
    func run(endsRuns: @Sendable () -> Bool) async throws {
        relay.follow(leader: nil, listener: socket.descriptor)
        do throws(Errno) {
            try keeper.start()
        } catch {
            throw DaemonError("cannot begin to take part: \(error.text)", .unavailable)
        }
        watchdog = Watchdog(manager, on: thread)
        await metrics.serve(at: configuration.listen, &started, log)
        manager.tell(.ready, .status("standing by at '\(configuration.socket)'"))
        log.info(
            "ready",
            metadata: [
                "version": "\(timerdVersion)", "pid": "\(getpid())", "node": "\(shared.node)",
                "database": "\(shared.redacted)", "socket": "\(configuration.socket)",
            ]
        )
        var failure: (any Error)?
        do {
            for await change in changes.stream.cancelOnGracefulShutdown() { try await take(change) }
        } catch {
            failure = error
        }
        await stop(endsRuns: endsRuns())
        if let failure { throw failure }
    }

    private func take(_ change: Change) async throws {
        switch change {
        case .lead(let epoch, let formerClock): try await lead(epoch, formerClock)
        case .drains(let drains): await takeNote(ofDraining: drains)
        case .stopLeading(.drains): handOver()
        case .stopLeading(let reason): await stopLeading("\(reason.words)")
        case .drained(let epoch) where epoch == leading?.epoch: await stopLeading("it drains")
        case .lost(let epoch, let error) where epoch == leading?.epoch:
            await stopLeading(error.sentence, ofCopy: error.isOfCopy)
        case .drained, .lost: break
        case .leader(let name): await follow(name)
        case .reload(let new): await reload(new)
        }
    }

    private func follow(_ name: String?) async {
        // It is no node: nothing is carried to it.
        let isAdoption = name == JobAdoption.name
        leader = name == shared.node || isAdoption ? nil : name
        standing.adoptionEnd = isAdoption ? keeper.leaseEnd : nil
        guard leading == nil else { return }
        relay.follow(leader: leader, listener: socket.descriptor)
        // The one that leads may be another process of the same name, which knows nothing of a connection before.
        await stopAgent()
        if let seconds = standing.adoptionSeconds(at: Fence.now()) {
            log.notice(
                "no node leads: an --adopt is at work in the database, or was cut off, and has the lease",
                metadata: ["seconds": "\(seconds)"]
            )
        }
        guard let leader else { return }
        log.info("another node leads", metadata: ["node": "\(leader)"])
        startAgent()
    }

    private func reload(_ new: Result<Configuration, SettingError>) async {
        manager.tell(.reloading)
        await listenAnew()
        if let leading {
            configuration = await leading.parts.reload(new, over: configuration)
        } else {
            lastReload.note(new, over: configuration)
            if case .success(let new) = new {
                let old = configuration
                configuration = new.keeping(placesOf: old, log)
                agent?.reload(SchedulerSettings(configuration, account: .own()))
                configuration.tellOfReload(over: old, log)
            }
        }
        // Also of one that leads: it may stand by later.
        let taken = configuration.connections(within: DescriptorLimit.most)
        relay.limitClients(all: taken.all, ofUser: taken.ofUser)
        manager.tell(.ready)
    }

    /// Where the socket's file was taken away, listens anew.
    private func listenAnew() async {
        let audience = ControlSocket.Settings(configuration, uid: geteuid()).admission.audience
        guard let new = socket.madeAnew(for: audience, log) else { return }
        if let leading {
            guard await serve(new, by: leading.parts.socket) else {
                // The next reload finds the one before lost, as this one does.
                new.remove()
                close(new.descriptor)
                return
            }
        } else {
            relay.follow(leader: leader, listener: new.descriptor)
        }
        // The one before stays open: the relay may be about to accept from it.
        socket = new
    }

    /// Has the core serve the clients of another socket by a descriptor of its own; false where it cannot.
    private func serve(_ new: SocketFile, by core: ControlSocket) async -> Bool {
        let descriptor = fcntl(new.descriptor, F_DUPFD_CLOEXEC, 3)
        guard descriptor != -1 else {
            log.error("nobody can connect", metadata: ["error": "\(Errno.last.text)"])
            return false
        }
        return await core.serve(SocketFile(path: new.path, adopting: descriptor))
    }

    // MARK: - The end

    private func stop(endsRuns: Bool) async {
        // The ends of this host's runs are stored by the node that leads.
        let endsOwn = endsRuns && leading != nil
        let time = endsOwn ? configuration.drainTime : .zero
        manager.tell(.stopping, .status("stopping"), .needs(time + .seconds(20)))
        log.info("stopping", metadata: ["runs": endsOwn ? "end within \(time)" : "go on"])
        if endsRuns, !endsOwn {
            log.notice(
                "this node stands by, so its runs go on; the end of its timerd-runner ends them"
            )
        }
        changes.continuation.finish()
        await stopAgent()
        var runsAreLeft = false
        if let parts = leading?.parts {
            await stop(parts, "it stops", endsOwn ? .end(after: configuration.drainTime) : .goOn)
            runsAreLeft = await parts.core.scheduler.hasOwnCommands
        }
        // With runs that go on the lease ends by itself: a daemon that is back before takes them up again.
        if runsAreLeft { await keeper.stop() } else { await keeper.release(coreHasStopped: true) }
        relay.stop()
        // try?: its port and its thread end with the process at the latest.
        try? await started.stop()
        socket.remove()
        close(socket.descriptor)
        lock.release()
        watchdog = nil
        thread.stop()
        log.info("stopped")
    }
}
