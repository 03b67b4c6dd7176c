// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import SystemPackage

/// The relay on its thread: turns of what is ready, what was told and what is due.
///
/// Each connection that is ready is read once a turn, up to `mostPerRead`, so that a busy one delays no other by more.
final class RelayEngine {
    struct Parts: Sendable {
        let node: String
        let carrier: any NodeCarrier
        let limits: RelayLimits
        let surroundings: Relay.Surroundings
        let inbox: RelayInbox
        let poller: Poller
        let names: NameThread
        let counts: RelayCounts
    }

    enum Mode {
        case idle
        case following(leader: String?)
        case leading(adopt: @Sendable (Int32, RelayedPeer) -> Void)
    }

    static let bellKey: UInt64 = 0
    static let listenerKey: UInt64 = 1
    static let mostPerRead = 16 * 1024

    let node: String
    let carrier: any NodeCarrier
    private(set) var limits: RelayLimits
    let surroundings: Relay.Surroundings
    let poller: Poller
    let names: NameThread
    private let counts: RelayCounts
    private let inbox: RelayInbox

    /// In µs of CLOCK_BOOTTIME; of this turn.
    private(set) var now = Fence.now()
    private(set) var mode = Mode.idle
    /// Why there is no connection with PostgreSQL; nil while there is one.
    private(set) var carrierTrouble: String? = "it is not connected yet"

    var connections: [UInt64: RelayedConnection] = [:]
    private var lastKey = RelayEngine.listenerKey
    var promises: RelayPromises
    var shares: RelayShares
    var clientsByUser: [UInt32: Int] = [:]
    var clientCount = 0
    /// Clients whose name is looked up, by their number.
    var naming: [UInt32: [RelayedConnection]] = [:]
    /// Clients that wait for the node that leads, the first first; some of them may not wait any more.
    var waiting: [RelayedConnection] = []
    var clientDeadlines = DeadlineQueue()
    var flushDeadlines = DeadlineQueue()

    /// All links, by their numbers.
    var links: [UInt64: Link] = [:]
    /// Links that are over, of which the other node has to be told once there is a carrier.
    private var untold: [(link: UInt64, node: String)] = []
    /// The link with the node that leads, while this node follows it.
    var leaderLink: Link?
    /// Numbers of links that are over, the oldest first.
    var retired: [UInt64] = []
    /// No link is opened again before, in µs of this node's CLOCK_BOOTTIME.
    var retryTime = Int64.min
    /// Why the node that leads has not taken a connection.
    var leaderTrouble: String?
    /// Connections that are not read until the carrier is less full.
    var held: [RelayedConnection] = []

    var listener: Int32?
    /// Until then nobody is accepted, for lack of descriptors.
    var acceptTime: Int64?

    private var isOver = false
    var scratch = [UInt8](repeating: 0, count: RelayEngine.mostPerRead)

    init(_ parts: Parts) {
        node = parts.node
        carrier = parts.carrier
        limits = parts.limits
        promises = RelayPromises(parts.limits)
        shares = RelayShares(parts.limits)
        surroundings = parts.surroundings
        inbox = parts.inbox
        poller = parts.poller
        names = parts.names
        counts = parts.counts
    }

    func nextKey() -> UInt64 {
        lastKey += 1
        return lastKey
    }

    func run() {
        while !isOver {
            let events = poller.wait(patience())
            now = Fence.now()
            for event in events { serve(event) }
            for command in inbox.take() { follow(command) }
            if !isOver { doWhatIsDue() }
            for link in links.values { send(link) }
            publishCounts()
        }
        carrier.stop()
    }

    private func serve(_ event: Poller.Event) {
        switch event.key {
        case Self.bellKey: break  // The inbox is looked at in each turn.
        case Self.listenerKey: acceptClients()
        default:
            // One that was closed earlier in this turn is not there any more.
            guard let connection = connections[event.key] else { return }
            serve(connection, event)
        }
    }

    private func follow(_ command: RelayCommand) {
        switch command {
        case .follow(let leader, let listener): follow(leader, listener)
        case .lead(let adopt): lead(adopt)
        case .carrier(let event): heard(event)
        case .carryAgent(let descriptor): carryAgent(descriptor)
        case .limitClients(let all, let ofUser):
            (limits.maxConnections, limits.maxConnectionsPerUser) = (all, ofUser)
        case .named(let uid, let name): named(uid, name)
        case .stop: stop()
        }
    }

    // MARK: - Changes of who leads

    private func follow(_ leader: String?, _ listener: Int32) {
        // Nobody follows himself.
        let leader = leader == node ? nil : leader
        if !isFollowing(leader) {
            closeLinks("node '\(node)' follows \(leader.map { "node '\($0)'" } ?? "nobody")")
            mode = .following(leader: leader)
            (leaderTrouble, retryTime) = (nil, .min)
        }
        if self.listener != listener {
            stopAccepting()
            self.listener = listener
            startAccepting()
        }
        openWaiting()
    }

    private func isFollowing(_ leader: String?) -> Bool {
        if case .following(leader) = mode { return true }
        return false
    }

    private func lead(_ adopt: @escaping @Sendable (Int32, RelayedPeer) -> Void) {
        stopAccepting()
        listener = nil
        closeLinks("node '\(node)' leads")
        mode = .leading(adopt: adopt)
        openWaiting()
    }

    private func stop() {
        guard !isOver else { return }
        isOver = true
        stopAccepting()
        closeLinks("node '\(node)' stops")
        for connection in connections.values {
            switch connection.phase {
            case .naming, .waiting: refuse(connection, .stopping)
            default: break
            }
            close(connection)
        }
        names.stop()
    }

    // MARK: - The carrier

    private func heard(_ event: CarrierEvent) {
        switch event {
        case .connected:
            carrierTrouble = nil
            surroundings.report(.carrierConnected)
            for (link, node) in untold { reset(link, of: node, "messages may have been lost") }
            untold = []
            openWaiting()
        case .received(let payload): received(payload)
        case .drained: releaseHeld()
        case .broken(let reason):
            // Also where it is as before: whoever keeps the log knows when that is news.
            surroundings.report(.carrierBroken(reason: reason))
            carrierTrouble = reason
            for link in Array(links.values) {
                untold.append((link.state.id, link.state.node))
                drop(link, reason, tellsOther: false)
            }
            releaseHeld()
        }
    }

    private func releaseHeld() {
        shares.begin()
        let released = held
        held = []
        for connection in released {
            connection.isHeld = false
            if connections[connection.key] != nil { watch(connection) }
        }
    }

    // MARK: - Time

    private func doWhatIsDue() {
        for key in clientDeadlines.take(until: now) {
            guard let connection = connections[key] else { continue }
            waitedLongEnough(connection)
        }
        for key in flushDeadlines.take(until: now) {
            if let connection = connections[key] { close(connection) }
        }
        for link in Array(links.values) where link.isWatched {
            switch link.state.due(at: now, limits) {
            case .nothing: break
            case .ping: link.state.ping()
            case .silence:
                drop(link, "node '\(link.state.node)' has been silent", tellsOther: true)
            }
        }
        if let time = acceptTime, time <= now { startAccepting() }
        if retryTime <= now, !waiting.isEmpty { openWaiting() }
    }

    /// How long there is nothing to do, in ms; -1 for ever.
    private func patience() -> Int32 {
        var next = Int64.max
        for time in [clientDeadlines.first, flushDeadlines.first, acceptTime] {
            next = min(next, time ?? .max)
        }
        for link in links.values where link.isWatched {
            next = min(next, link.state.nextLook(limits))
        }
        if !waiting.isEmpty, retryTime > now { next = min(next, retryTime) }
        guard next != .max else { return -1 }
        // Rounded up: it would return just before the time, again and again.
        return Int32(clamping: max(0, next - Fence.now() + 999) / 1000)
    }

    private func publishCounts() {
        counts.clients.store(clientCount, ordering: .relaxed)
        counts.relayedHere.store(connections.count - clientCount, ordering: .relaxed)
    }
}
