// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import NIOCore
import Platform
import TimerControl

/// The process at the other end of a connection, as the kernel saw it connect.
struct Peer: Hashable, Sendable {
    var uid: UInt32
    var gid: UInt32
    var pid: Int32
    /// Nil for a peer without a connection.
    var life: ConnectionLife?
    /// The user name of the uid; nil if it was not looked up, or there is none.
    var name: String?
    /// The host that it is on, where another node relays its connection; nil for this one.
    var host: String?
    /// Of a request: nothing else that the connection asks for is in progress, or begins, before its answer.
    var isAlone = false
    /// Of a request that may wait: what it takes while it is at work.
    var place: WorkPlace?

    var owner: Owner { Owner(uid: uid, name: name) }
}

enum PeerCredentials {
    /// Asks the kernel who is at the other end (SO_PEERCRED).
    static func peer(of channel: any Channel) -> EventLoopFuture<Peer> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        let credentials: EventLoopFuture<UnixCredentials> = provider.unsafeGetSocketOption(
            level: .socket,
            name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        )
        return credentials.map { Peer(uid: $0.uid, gid: $0.gid, pid: $0.pid) }
    }
}
