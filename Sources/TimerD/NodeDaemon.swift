// SPDX-License-Identifier: Apache-2.0

import Cluster
import Glibc
import Locks
import Logging
import Platform
import Postgres
import RunLoopTimers
import ServiceLifecycle
import SystemPackage
import TimerControl

/// A daemon that shares its jobs with others: it stands by, and relays its clients to the node that leads; it leads, as a
/// daemon alone does, while it has the lease.
final class NodeDaemon {
    /// What happens to a node, in the order in which it does.
    enum Change: Sendable {
        case lead(epoch: Int64)
        case stopLeading(StopReason)
        case leader(String?)
        /// No command is to begin on this node, or again.
        case drains(Bool)
        /// No run is in progress any more on a node that drains.
        case drained(epoch: Int64)
        /// Nothing can be stored any more in that epoch.
        case lost(epoch: Int64, DatabaseError)
        case reload(Configuration)
    }

    private var configuration: Configuration
    private let shared: SharedJobs
    private let address: PostgresAddress
    private let manager: ServiceManager
    private let log: Logger
    private let changes = AsyncStream<Change>.makeStream()
    private let socket: SocketFile
    private let lock: DatabaseLock
    private let keeper: NodeKeeper
    private let relay: Relay
    /// Has the service manager know that this process is well, while there is no core.
    private let thread = RunLoopThread(name: "timerd-standby")
    private var watchdog: Watchdog?
    /// The daemon's core, while this node leads; and its epoch.
    private var leading: (parts: DaemonParts, epoch: Int64)?
    /// Who leads, of what this node was told; nil for nobody, and for itself.
    private var leader: String?
    /// Runs commands for the node that leads, while that is another one.
    private var agent: RunAgent?
    /// Why this node could not lead when it had the lease last; nil if it could.
    private var leadFailure: String? { didSet { standing.set(failure: leadFailure) } }
    private let standing = NodeStanding()
    /// Whether no command is to begin here; and whether this node hands over, for that.
    private var drains = false
    private var handsOver = false
    /// Who led before this node did.
    private var leaderBefore: String?

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
        try TrustedPath.checkDatabase(configuration.database)
        lock = try DatabaseLock(database: configuration.database)
        let settings = ControlSocket.Settings(configuration, uid: geteuid())
        if let inherited = try manager.socket(for: configuration.socket) {
            socket = try SocketFile.adopt(inherited, at: configuration.socket)
        } else {
            socket = try SocketFile.listen(
                at: configuration.socket,
                for: settings.admission.isShared ? .everyone : .owner
            )
        }
        do {
            let changes = changes.continuation
            keeper = try Self.keeper(shared, address, configuration, changes, standing, log)
            relay = try Self.relay(shared, address, configuration, standing, log)
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
        case .lead(let epoch): try await lead(epoch)
        case .drains(let drains): await takeNote(ofDraining: drains)
        case .stopLeading(.drains): handOver()
        case .stopLeading(let reason): await stopLeading("\(reason.words)")
        case .drained(let epoch) where epoch == leading?.epoch: await stopLeading("it drains")
        case .lost(let epoch, let error) where epoch == leading?.epoch:
            await stopLeading(error.sentence)
        case .drained, .lost: break
        case .leader(let name): await follow(name)
        case .reload(let new): await reload(new)
        }
    }

    // MARK: - Leading

    private func lead(_ epoch: Int64) async throws {
        log.log(
            level: leadFailure == nil ? .notice : .debug,
            "this node leads",
            metadata: ["node": "\(shared.node)", "epoch": "\(epoch)"]
        )
        await stopAgent()
        let changes = changes.continuation
        let relayed = RelayedClients(node: shared.node)
        // From here on nobody else accepts clients: they wait for the daemon's own socket.
        relay.lead { relayed.take($0, of: $1) }
        let lead = Lead(
            address: address,
            node: shared.node,
            epoch: epoch,
            labels: shared.labels,
            drains: drains,
            fence: keeper.fence,
            lease: shared.lease,
            listener: socket.descriptor,
            clockDifference: await clockDifference(),
            onConnect: { [keeper] in keeper.setStoreBackend($0) },
            nodes: ClusterDesk(keeper: keeper, epoch: epoch)
        )
        do {
            let parts = try await DaemonParts.start(configuration, manager, lead: lead, log: log) {
                changes.yield(.lost(epoch: epoch, $0))
            }
            leading = (parts, epoch)
            watchdog = Watchdog(manager, on: parts.thread)
            relayed.serve(parts.socket, parts.core.own) { descriptor, node in
                Task { await parts.core.admitAgent(descriptor, of: node) }
            }
            manager.tell(.status("leading, at '\(configuration.socket)'"))
            if leadFailure != nil { log.notice("this node leads", metadata: ["epoch": "\(epoch)"]) }
            leadFailure = nil
        } catch {
            relayed.refuseAll()
            try giveUp(error)
        }
    }

    /// Gives back the lease with which this node could not begin; it tries again once the others could have.
    ///
    /// - Throws: what keeps it from that for good.
    private func giveUp(_ error: any Error) throws {
        // The lease ended meanwhile, so that another node leads by now; or the database is away.
        guard
            !keeper.fence.isOpen || error is PostgresError
                || (error as? DatabaseError)?.isLasting == false
        else {
            keeper.coreStopped()
            throw DaemonError(starting: error)
        }
        keeper.coreStopped()
        relay.follow(leader: leader, listener: socket.descriptor)
        startAgent()
        let failure = DaemonError(starting: error).description
        // It may be the same each time.
        if failure != leadFailure {
            log.error("this node could not lead", metadata: ["error": "\(failure)"])
        }
        leadFailure = failure
    }

    /// By how much the clock of the node that led before is ahead of this one's, in µs; 0 where that is not known.
    private func clockDifference() async -> Int64 {
        guard let leaderBefore, let own = keeper.clockDifference else { return 0 }
        // try?: then only the wall clocks tell how much time has passed.
        let nodes = try? await keeper.nodes()
        guard let its = nodes?.first(where: { $0.name == leaderBefore })?.clockDifference else {
            return 0
        }
        return its - own
    }

    private func takeNote(ofDraining drains: Bool) async {
        self.drains = drains
        log.notice(
            drains ? "this node drains" : "this node drains no more",
            metadata: ["node": "\(shared.node)"]
        )
        // One that hands over begins nothing any more.
        if !handsOver { await leading?.parts.core.scheduler.drainHere(drains) }
    }

    /// Has nothing begin here any more; the node leads until its runs have ended.
    private func handOver() {
        guard let leading else { return keeper.coreStopped() }
        handsOver = true
        let (scheduler, epoch, changes) = (
            leading.parts.core.scheduler, leading.epoch, changes.continuation
        )
        Task {
            await scheduler.drainRuns()
            changes.yield(.drained(epoch: epoch))
        }
    }

    /// Stops the core, and gives the lease back.
    private func stopLeading(_ reason: String) async {
        guard let ended = leading?.parts else { return }
        await stop(ended, reason)
        keeper.coreStopped()
        relay.follow(leader: leader, listener: socket.descriptor)
        startAgent()
    }

    /// Runs commands for the node that leads, if that is another one.
    private func startAgent() {
        guard leading == nil, agent == nil, let leader else { return }
        do throws(SystemError) {
            agent = try RunAgent(
                for: leader,
                SchedulerSettings(configuration, account: Account(uid: geteuid())),
                runner: RunnerProgram(socket: configuration.runner),
                log: log
            ) { [relay] in
                relay.carryAgent($0)
            }
        } catch {
            log.error("no commands can be run on this node", metadata: ["error": "\(error)"])
        }
    }

    private func stopAgent() async {
        await agent?.stop()
        agent = nil
    }

    /// Stops the core; what could not be stored is settled by the node that leads next, as after a crash.
    private func stop(_ ended: DaemonParts, _ reason: String, _ runs: RunsAtStop = .goOn) async {
        leading = nil
        handsOver = false
        watchdog = Watchdog(manager, on: thread)
        log.notice(
            "this node leads no more",
            metadata: ["node": "\(shared.node)", "reason": "\(reason)"]
        )
        manager.tell(.status("standing by at '\(configuration.socket)'"))
        do {
            try await ended.stop(runs)
        } catch {
            log.debug("the core has stopped", metadata: ["error": "\(error)"])
        }
    }

    private func follow(_ name: String?) async {
        leader = name == shared.node ? nil : name
        leaderBefore = leader ?? leaderBefore
        guard leading == nil else { return }
        relay.follow(leader: leader, listener: socket.descriptor)
        // The one that leads may be another process of the same name, which knows nothing of a connection before.
        await stopAgent()
        guard let leader else { return }
        log.info("another node leads", metadata: ["node": "\(leader)"])
        startAgent()
    }

    private func reload(_ new: Configuration) async {
        manager.tell(.reloading)
        if let leading {
            configuration = await leading.parts.reload(new, over: configuration)
        } else {
            configuration = new.keeping(placesOf: configuration, log)
            agent?.reload(SchedulerSettings(configuration, account: Account(uid: geteuid())))
            log.notice("reloaded")
        }
        manager.tell(.ready)
    }

    // MARK: - The end

    private func stop(endsRuns: Bool) async {
        let time = endsRuns ? configuration.drainTime : .zero
        manager.tell(.stopping, .status("stopping"), .needs(time + .seconds(20)))
        log.info("stopping", metadata: ["runs": endsRuns ? "end within \(time)" : "go on"])
        changes.continuation.finish()
        await stopAgent()
        var runsAreLeft = false
        if let parts = leading?.parts {
            await stop(parts, "it stops", endsRuns ? .end(after: configuration.drainTime) : .goOn)
            runsAreLeft = await parts.core.scheduler.hasOwnCommands
        }
        // With runs that go on the lease ends by itself: a daemon that is back before takes them up again.
        if runsAreLeft { await keeper.stop() } else { await keeper.release(coreHasStopped: true) }
        relay.stop()
        socket.remove()
        close(socket.descriptor)
        lock.release()
        watchdog = nil
        thread.stop()
        log.info("stopped")
    }
}
