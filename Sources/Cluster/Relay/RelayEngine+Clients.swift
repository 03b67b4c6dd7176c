// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Platform
import SystemPackage

/// Clients of this node, until the node that leads has taken their connection.
extension RelayEngine {
    private static let mostAcceptedPerTurn = 16
    /// How much of what a client has sent is looked at where it is refused.
    private static let mostRefused = 64 * 1024
    private static let mostRefusedLines = 256

    func startAccepting() {
        acceptTime = nil
        guard let listener else { return }
        do throws(Errno) {
            try poller.add(listener, Self.listenerKey, reads: true, writes: false)
        } catch {
            cannotAccept(error)
        }
    }

    func stopAccepting() {
        acceptTime = nil
        if let listener { poller.remove(listener) }
    }

    private func cannotAccept(_ error: Errno) {
        surroundings.report(.cannotAccept(error))
        stopAccepting()
        // Most likely there is no descriptor: the listener would be ready all the time.
        acceptTime = now + 100_000
    }

    func acceptClients() {
        guard let listener else { return }
        for _ in 0..<Self.mostAcceptedPerTurn {
            let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let descriptor = accept4(listener, nil, nil, flags)
            guard descriptor == -1 else {
                accepted(descriptor)
                continue
            }
            switch Errno.last {
            case .wouldBlock: return
            case .interrupted, .connectionAbort: continue
            case let error: return cannotAccept(error)
            }
        }
    }

    private func accepted(_ descriptor: Int32) {
        let peer: UnixCredentials
        do throws(Errno) {
            peer = try UnixCredentials(peerOf: FileDescriptor(rawValue: descriptor))
        } catch {
            surroundings.report(.cannotAccept(error))
            Glibc.close(descriptor)
            return
        }
        let connection = RelayedConnection(
            key: nextKey(),
            descriptor: descriptor,
            user: RelayPromises.User(node: node, uid: peer.uid),
            kind: .client,
            phase: .naming
        )
        let ofUser = clientsByUser[peer.uid, default: 0]
        // Root has the places that no other user gets.
        let limitOfUser = peer.uid == 0 ? limits.maxConnections : limits.maxConnectionsPerUser
        let isFull = clientCount >= limits.maxConnections
        clientCount += 1
        clientsByUser[peer.uid] = ofUser + 1
        connections[connection.key] = connection
        if isFull {
            return refuse(connection, .tooManyConnections(limit: limits.maxConnections))
        }
        if ofUser >= limitOfUser {
            return refuse(connection, .tooManyOfUser(uid: peer.uid, limit: limitOfUser))
        }
        clientDeadlines.add(connection.key, at: now + limits.leaderWait.inMicroseconds)
        watch(connection)
        // One question for all that wait for its answer.
        if naming[peer.uid] == nil { names.ask(peer.uid) }
        naming[peer.uid, default: []].append(connection)
    }

    /// Has this node's agent wait for the node that leads, as a client does.
    func carryAgent(_ descriptor: Int32) {
        let connection = RelayedConnection(
            key: nextKey(),
            descriptor: descriptor,
            user: RelayPromises.User(node: node, uid: geteuid()),
            kind: .agent,
            phase: .waiting
        )
        connections[connection.key] = connection
        clientDeadlines.add(connection.key, at: now + limits.leaderWait.inMicroseconds)
        watch(connection)
        waiting.append(connection)
        openWaiting()
    }

    func named(_ uid: UInt32, _ name: Result<String?, any Error>) {
        for connection in naming.removeValue(forKey: uid) ?? [] {
            guard case .naming = connection.phase, connections[connection.key] != nil else {
                continue
            }
            switch name {
            case .success(let name?) where name.utf8.count > NodeFrame.mostNameBytes:
                let most = NodeFrame.mostNameBytes
                let reason = "its name has \(name.utf8.count) bytes, of \(most) at most"
                refuse(connection, .unknownUser(uid: uid, reason: reason))
            case .success(let name):
                connection.userName = name
                connection.phase = .waiting
                waiting.append(connection)
            case .failure(let error):
                refuse(connection, .unknownUser(uid: uid, reason: Self.text(error)))
            }
        }
        openWaiting()
    }

    private static func text(_ error: any Error) -> String {
        (error as? Errno)?.text ?? "\(error)"
    }

    /// Has the node that leads take the clients that wait, if there is one and it can be reached.
    func openWaiting() {
        waiting.removeAll { connection in
            if case .waiting = connection.phase { return false }
            return true
        }
        switch mode {
        case .idle, .following(leader: nil): break
        case .leading(let adopt):
            for connection in waiting { handOver(connection, adopt) }
            waiting = []
        case .following(let leader?):
            guard carrierTrouble == nil, retryTime <= now, !waiting.isEmpty else { return }
            if let leaderLink, !leaderLink.hasNumbers(for: waiting.count, limits) {
                // What waits is opened on another, after `retryPause`.
                return drop(leaderLink, "it has numbers for no more connections", tellsOther: true)
            }
            let link = leaderLink ?? makeLink(with: leader)
            leaderLink = link
            for connection in waiting { open(connection, on: link) }
            waiting = []
        }
    }

    /// Gives a client from which nothing was read to this node's own daemon.
    private func handOver(
        _ connection: RelayedConnection,
        _ adopt: @Sendable (Int32, RelayedPeer) -> Void
    ) {
        // This node runs by itself while it leads.
        guard connection.kind == .client else { return close(connection) }
        forget(connection)
        let peer = RelayedPeer(node: node, userName: connection.userName, uid: connection.uid)
        adopt(connection.descriptor, peer)
    }

    func waitedLongEnough(_ connection: RelayedConnection) {
        switch connection.phase {
        case .naming:
            let reason = "the user database does not answer"
            refuse(connection, .unknownUser(uid: connection.uid, reason: reason))
        case .opening(let link, let number):
            link.connections[number] = nil
            link.state.add(.close(connection: number, reason: "the client has waited long enough"))
            refuse(connection, reasonToWait)
        case .waiting: refuse(connection, reasonToWait)
        case .relayed, .flushing: break
        }
    }

    private var reasonToWait: RelayRefusal {
        if let carrierTrouble { return .carrierAway(carrierTrouble) }
        guard case .following(let leader?) = mode else { return .noLeader }
        return .leaderAway(node: leader, reason: leaderTrouble ?? "nothing has come back in time")
    }

    /// Answers each line that a client has sent, or the connection where it has sent none, and closes it.
    func refuse(_ connection: RelayedConnection, _ refusal: RelayRefusal) {
        // It knows no words of clients, and tries again.
        guard connection.kind == .client else { return close(connection) }
        connection.phase = .flushing
        var sent: [UInt8] = []
        while sent.count < Self.mostRefused {
            let count = recv(connection.descriptor, &scratch, scratch.count, 0)
            guard count > 0 else { break }
            sent += scratch[..<count]
        }
        var lines = sent.split(separator: UInt8(ascii: "\n")).prefix(Self.mostRefusedLines)
        if lines.isEmpty { lines = [[]] }
        for line in lines {
            connection.stream.append(own: surroundings.refuse(Array(line), refusal))
        }
        flushAndClose(connection)
    }
}
