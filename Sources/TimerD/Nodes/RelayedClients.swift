// SPDX-License-Identifier: Apache-2.0

import Cluster
import Glibc
import LinuxSystem
import Locks
import Platform
import SystemPackage
import TimerControl

/// The clients whose connections other nodes relay to this one, which leads.
///
/// Those that come before the daemon serves wait. An owner is a name: on this host it may have another number.
final class RelayedClients: Sendable {
    /// Takes over a descriptor, at whose other end the agent of that node is.
    typealias Agents = @Sendable (_ descriptor: Int32, _ node: String) -> Void

    private enum State {
        case waiting([(descriptor: Int32, peer: RelayedPeer)])
        case serving(ControlSocket, own: Owner, agents: Agents)
        case refusing(ControlError)
    }

    /// The name of this node.
    private let node: String
    private let state = Locked(State.waiting([]))
    /// Not NIO's: where the system has no thread for that one, it ends the process.
    private static let threads = BlockingThreads(named: "timerd-users", limit: 8)

    init(node: String) { self.node = node }

    /// Takes over a descriptor, at whose other end `peer` is.
    func take(_ descriptor: Int32, of peer: RelayedPeer) {
        let serving = state.withLock { state -> (ControlSocket, Owner, Agents)? in
            switch state {
            case .waiting(let clients):
                state = .waiting(clients + [(descriptor, peer)])
                return nil
            case .serving(let socket, let own, let agents): return (socket, own, agents)
            case .refusing(let error):
                Self.refuse(descriptor, peer, error)
                return nil
            }
        }
        guard let (socket, own, agents) = serving else { return }
        peer.isAgent ? agents(descriptor, peer.node) : admit(descriptor, peer, socket, own)
    }

    /// Hands over those that have waited, and all that come from here on.
    func serve(_ socket: ControlSocket, _ own: Owner, agents: @escaping Agents) {
        let waiting = state.withLock { state -> [(descriptor: Int32, peer: RelayedPeer)] in
            defer { state = .serving(socket, own: own, agents: agents) }
            guard case .waiting(let clients) = state else { return [] }
            return clients
        }
        for (descriptor, peer) in waiting {
            peer.isAgent ? agents(descriptor, peer.node) : admit(descriptor, peer, socket, own)
        }
    }

    /// Refuses those that have waited, and all that come from here on.
    func refuseAll(_ error: ControlError) {
        let waiting = state.withLock { state -> [(descriptor: Int32, peer: RelayedPeer)] in
            defer { state = .refusing(error) }
            guard case .waiting(let clients) = state else { return [] }
            return clients
        }
        for (descriptor, peer) in waiting { Self.refuse(descriptor, peer, error) }
    }

    /// Tells a client why, and closes its connection; another node's agent knows no such words, and tries again.
    private static func refuse(_ descriptor: Int32, _ peer: RelayedPeer, _ error: ControlError) {
        defer { close(descriptor) }
        guard !peer.isAgent else { return }
        // What is unread as it is closed would have the client see a broken connection first. Not all of one who goes on
        // sending: this may be the relay's thread.
        var sent = [UInt8](repeating: 0, count: 1 << 16)
        for _ in 0..<16 {
            guard recv(descriptor, &sent, sent.count, Int32(MSG_DONTWAIT)) > 0 else { break }
        }
        let line = ReplyLine.failure(id: .null, error) + [UInt8(ascii: "\n")]
        // Where it cannot be sent the client sees the end of the connection.
        _ = send(descriptor, line, line.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    }

    private func admit(
        _ descriptor: Int32,
        _ peer: RelayedPeer,
        _ socket: ControlSocket,
        _ own: Owner
    ) {
        // The user database may block; this is the relay's thread.
        Self.threads.submit {
            socket.adopt(descriptor, of: self.known(peer, own))
        }
    }

    /// Who the client is on this host, or why nobody.
    func known(_ peer: RelayedPeer, _ own: Owner) -> Result<Peer, ControlError> {
        // One who has waited here until this node leads is no stranger.
        let host = peer.node == node ? nil : peer.node
        func here(_ uid: UInt32, _ gid: UInt32, _ name: String?) -> Result<Peer, ControlError> {
            .success(Peer(uid: uid, gid: gid, pid: 0, name: name, host: host))
        }
        if host == nil, peer.userName == nil { return here(peer.uid, .max, nil) }
        if peer.isRoot { return here(0, 0, "root") }
        guard let name = peer.userName else {
            return .failure(
                ControlError(
                    .notPermitted,
                    "uid \(peer.uid) has no name on '\(peer.node)', and is nobody on other hosts"
                )
            )
        }
        // Of a daemon of one user that user; of root's it would be whoever is called root on his host.
        if own.uid != 0, name == own.name { return here(own.uid, getegid(), name) }
        do throws(Errno) {
            // Root is who is root there: a name of root's here may be anybody's on another host.
            if let user = try UserDatabase.user(named: name), user.uid != 0 {
                return here(user.uid, user.gid, name)
            }
        } catch {
            return .failure(
                ControlError(.internalError, "cannot look up '\(name)' on '\(node)': \(error.text)")
            )
        }
        return .failure(
            ControlError(
                .notPermitted,
                "there is no user '\(name)' on '\(node)', which leads; users are known by name on all hosts"
            )
        )
    }
}
