// SPDX-License-Identifier: Apache-2.0

/// A connection on one of the two nodes that relay it; of the relay's thread.
final class RelayedConnection {
    enum Kind {
        /// Accepted here.
        case client
        /// Another node's client.
        case othersClient
        /// A node's own, on either of the two.
        case agent
    }

    enum Phase {
        /// A client whose name is looked up.
        case naming
        /// A client that nobody has taken yet.
        case waiting
        /// A client of which the node that leads was told; nothing was read from it.
        case opening(Link, UInt32)
        /// Bytes go in both directions.
        case relayed(Link, UInt32)
        /// It is over, but for what is still to be written here.
        case flushing
    }

    let key: UInt64
    let descriptor: Int32
    /// Whose it is.
    let user: RelayPromises.User
    let kind: Kind
    var userName: String?
    var phase: Phase
    var stream: RelayedStream
    /// Its other end is closed altogether.
    var hasHungUp = false
    /// Not read until the carrier has sent what it has.
    var isHeld = false
    /// What the poller watches it for; nil where it does not.
    var watched: (reads: Bool, writes: Bool)?

    var uid: UInt32 { user.uid }

    init(key: UInt64, descriptor: Int32, user: RelayPromises.User, kind: Kind, phase: Phase) {
        self.key = key
        self.descriptor = descriptor
        self.user = user
        self.kind = kind
        self.phase = phase
        // Who has asked for it may send once the other node has taken it.
        let mayBegin = if case .relayed = phase { true } else { false }
        stream = RelayedStream(mayBegin: mayBegin, promised: Self.firstPromise(kind))
    }

    /// What the other node is promised at first: an agent, of which each node has one, all that may be.
    static func firstPromise(_ kind: Kind) -> Int {
        kind == .agent ? RelayedStream.most : RelayedStream.least
    }

    /// Whether what it sends is to be read now.
    var reads: Bool {
        guard case .relayed = phase else { return false }
        return stream.room > 0 && !isHeld
    }
}

/// A link with the connections that it carries; of the relay's thread.
final class Link {
    var state: NodeLink
    var connections: [UInt32: RelayedConnection] = [:]
    /// Of the connection that was opened last on this side.
    var lastNumber: UInt32 = 0
    /// That of the agent's connection, which there is one of at most.
    var agent: UInt32?

    /// Whether it is found out here when the other node is gone: an agent's ends are looked after elsewhere.
    var isWatched: Bool {
        let agents = agent.flatMap { connections[$0] } == nil ? 0 : 1
        return connections.count > agents
    }

    init(_ state: NodeLink) { self.state = state }

    /// Whether so many connections more can be opened on this side, none with the number of another.
    func hasNumbers(for count: Int, _ limits: RelayLimits) -> Bool {
        count <= Int(limits.connectionsPerLink) - Int(lastNumber)
    }
}

/// What is to happen at times that come in the order in which they were added.
struct DeadlineQueue {
    private var deadlines: [(time: Int64, key: UInt64)] = []
    private var head = 0

    var first: Int64? { head < deadlines.count ? deadlines[head].time : nil }

    mutating func add(_ key: UInt64, at time: Int64) { deadlines.append((time, key)) }

    /// Takes what is due.
    mutating func take(until now: Int64) -> [UInt64] {
        var keys: [UInt64] = []
        while let first, first <= now {
            keys.append(deadlines[head].key)
            head += 1
        }
        if head > deadlines.count / 2 {
            deadlines.removeFirst(head)
            head = 0
        }
        return keys
    }
}
