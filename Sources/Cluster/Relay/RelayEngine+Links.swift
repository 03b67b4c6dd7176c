// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage

/// Messages of other nodes, and what follows from them.
extension RelayEngine {
    private static let mostRetired = 64

    /// A link with the node that leads, which hears of it by its first message.
    func makeLink(with leader: String) -> Link {
        let id = UInt64.random(in: .min ... .max)
        let link = Link(NodeLink(from: node, to: leader, id: id, at: now))
        links[id] = link
        return link
    }

    func send(_ link: Link) {
        for payload in link.state.takePayloads(at: now) {
            carrier.send(payload, to: link.state.node)
        }
    }

    func received(_ payload: String) {
        let message: NodeMessage
        do {
            message = try NodeMessage(payload: payload)
        } catch {
            surroundings.report(.payloadIgnored(reason: error.description))
            return
        }
        let known = links[message.link].flatMap { link in
            link.state.node == message.sender ? link : nil
        }
        if message.number == 0 {
            // One of a link that is not known is never answered by another.
            guard let known, case .reset(let reason)? = message.frames.first else { return }
            return drop(known, reason, toldBy: message.sender)
        }
        guard let link = known ?? accept(message) else {
            // It may be for another node that has this one's name, which knows the link.
            guard takesPart else { return }
            return reset(message.link, of: message.sender, "node '\(node)' does not know this link")
        }
        guard link.state.receive(message.number, at: now) else {
            return drop(link, "notifications were lost", tellsOther: true)
        }
        for frame in message.frames {
            guard take(frame, of: link) else {
                let reason = "node '\(message.sender)' has sent what it may not"
                return drop(link, reason, tellsOther: true)
            }
        }
    }

    /// Whether this node leads or follows: what comes is for it then, and not for the first of its name.
    private var takesPart: Bool {
        switch mode {
        case .idle, .following(leader: nil): false
        case .following, .leading: true
        }
    }

    /// Takes a link that another node has begun, in place of those that it had here.
    private func accept(_ message: NodeMessage) -> Link? {
        guard case .leading = mode, carrierTrouble == nil, message.number == 1,
            links[message.link] == nil, !retired.contains(message.link)
        else { return nil }
        for link in Array(links.values) where link.state.node == message.sender {
            drop(link, "node '\(message.sender)' has begun anew", toldBy: message.sender)
        }
        let link = Link(NodeLink(from: node, to: message.sender, id: message.link, at: now))
        links[message.link] = link
        return link
    }

    func reset(_ link: UInt64, of other: String, _ reason: String) {
        let message = NodeMessage(
            sender: node,
            link: link,
            number: 0,
            frames: [.reset(reason: reason)]
        )
        carrier.send(message.payload, to: other)
    }

    /// Acts on a frame; false where it breaks the rules.
    ///
    /// One of a connection that is over changes nothing.
    private func take(_ frame: NodeFrame, of link: Link) -> Bool {
        switch frame {
        case .open(let number, let uid, let user):
            let peer = RelayedPeer(node: link.state.node, userName: user, uid: uid)
            return opened(number, peer, link)
        case .openAgent(let number):
            let peer = RelayedPeer(node: link.state.node, userName: nil, uid: 0, isAgent: true)
            return opened(number, peer, link)
        case .data(let number, let bytes):
            guard let connection = link.connections[number] else { return true }
            guard case .relayed = connection.phase, connection.stream.receive(bytes) else {
                return false
            }
            write(connection)
        case .taken(let number, let count):
            guard let connection = link.connections[number] else { return true }
            guard connection.stream.taken(count) else { return false }
            connection.phase = .relayed(link, number)
            if connection.kind == .agent { link.agent = number }
            watch(connection)
        case .finished(let number):
            guard let connection = link.connections[number] else { return true }
            guard case .relayed = connection.phase else { return false }
            connection.stream.otherFinished()
            endIfOver(connection)
            write(connection)
        case .close(let number, let reason):
            guard let connection = link.connections.removeValue(forKey: number) else {
                return true
            }
            if case .opening = connection.phase {
                refuse(connection, .leaderAway(node: link.state.node, reason: reason))
            } else {
                connection.phase = .flushing
                flushAndClose(connection)
            }
        case .reset: return false
        }
        return true
    }

    // MARK: - Opening

    func open(_ connection: RelayedConnection, on link: Link) {
        link.lastNumber += 1
        let number = link.lastNumber
        if !link.isWatched { link.state.resumeWatch(at: now) }
        link.connections[number] = connection
        connection.phase = .opening(link, number)
        guard connection.kind == .agent else {
            let (uid, user) = (connection.uid, connection.userName)
            return link.state.add(.open(connection: number, uid: uid, user: user))
        }
        link.state.add(.openAgent(connection: number))
    }

    /// Makes the end of a connection that another node's client has opened.
    private func opened(_ number: UInt32, _ peer: RelayedPeer, _ link: Link) -> Bool {
        guard case .leading(let adopt) = mode, number > link.lastNumber else { return false }
        link.lastNumber = number
        let (connection, descriptor): (RelayedConnection, Int32)
        do throws(RelayRefused) {
            (connection, descriptor) = try makeEnd(of: number, peer, link)
        } catch {
            link.state.add(.close(connection: number, reason: error.reason))
            return true
        }
        if !link.isWatched { link.state.resumeWatch(at: now) }
        link.connections[number] = connection
        if peer.isAgent { link.agent = number }
        link.state.add(.taken(connection: number, count: UInt32(connection.stream.promised)))
        adopt(descriptor, peer)
        return true
    }

    private struct RelayRefused: Error { let reason: String }

    private func makeEnd(
        of number: UInt32,
        _ peer: RelayedPeer,
        _ link: Link
    ) throws(RelayRefused) -> (RelayedConnection, Int32) {
        guard connections.count - clientCount < limits.maxRelayedHere else {
            let most = limits.maxRelayedHere
            throw RelayRefused(reason: "node '\(node)' has its most connections of others, \(most)")
        }
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            let error = Errno.last
            throw RelayRefused(reason: "node '\(node)' has no descriptors for it: \(error.text)")
        }
        let connection = RelayedConnection(
            key: nextKey(),
            descriptor: ends[0],
            user: RelayPromises.User(node: link.state.node, uid: peer.uid),
            kind: peer.isAgent ? .agent : .othersClient,
            phase: .relayed(link, number)
        )
        connections[connection.key] = connection
        watch(connection)
        guard connection.watched != nil else {
            Glibc.close(ends[1])
            throw RelayRefused(reason: "node '\(node)' has no memory for it")
        }
        return (connection, ends[1])
    }

    // MARK: - Ends

    /// Drops a link as the other node has said, and tells it.
    ///
    /// It may have been a second node of its name, which was stopped and does not know yet that it takes no part: the first
    /// has the link still, and may have nothing to say on it by which it would find out.
    private func drop(_ link: Link, _ reason: String, toldBy other: String) {
        drop(link, reason, tellsOther: false)
        reset(link.state.id, of: other, reason)
    }

    /// Closes all that a link carries; what nobody has taken yet waits again.
    func drop(_ link: Link, _ reason: String, tellsOther: Bool) {
        guard links.removeValue(forKey: link.state.id) != nil else { return }
        retired.append(link.state.id)
        if retired.count > Self.mostRetired { retired.removeFirst() }
        if tellsOther {
            send(link)
            reset(link.state.id, of: link.state.node, reason)
        }
        if leaderLink === link {
            leaderLink = nil
            leaderTrouble = reason
            retryTime = now + limits.retryPause.inMicroseconds
        }
        var closed = 0
        for connection in link.connections.values {
            if case .opening = connection.phase {
                connection.phase = .waiting
                let promised = RelayedConnection.firstPromise(connection.kind)
                connection.stream = RelayedStream(mayBegin: false, promised: promised)
                waiting.append(connection)
            } else {
                close(connection)
                closed += 1
            }
        }
        link.connections = [:]
        guard closed > 0 else { return }
        surroundings.report(
            .linkClosed(node: link.state.node, reason: reason, connections: closed)
        )
    }

    func closeLinks(_ reason: String) {
        for link in Array(links.values) { drop(link, reason, tellsOther: carrierTrouble == nil) }
    }
}
