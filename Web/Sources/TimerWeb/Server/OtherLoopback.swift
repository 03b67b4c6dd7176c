// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore

/// The page's port of ::1, held so that it is nobody's.
///
/// A browser that looks for a name of this machine asks ::1 first. Whoever listens there would be sent the token
/// and the cookie. Nobody can where a socket has the port; as it does not listen, the browser is refused at once, and
/// asks 127.0.0.1.
struct OtherLoopback {
    /// The one that was asked for; for 0 one that is free on ::1, or 0 where this machine has no ::1.
    let port: Int
    private let descriptor: Int32

    /// - Throws: `WebError` where another program has it.
    init(_ port: Int) throws(WebError) {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        // try?: it is an address. Without IPv6 no browser looks there.
        guard descriptor >= 0, let address = try? SocketAddress(ipAddress: "::1", port: port) else {
            self.port = port
            return
        }
        // Not to be shared: SO_REUSEADDR would let another one have it as well.
        let error = address.withSockAddr { pointer, size in
            bind(descriptor, pointer, socklen_t(size)) == 0 ? 0 : errno
        }
        switch error {
        case 0: self.port = Self.port(of: descriptor)
        case EADDRNOTAVAIL: self.port = port
        default:
            Glibc.close(descriptor)
            throw ListeningSocket.refusal(IOError(errnoCode: error, reason: "bind"), .port(port))
        }
    }

    /// The port behind the family, in the network's order, as in each address of IP.
    private static func port(of descriptor: Int32) -> Int {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout.size(ofValue: address))
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = getsockname(descriptor, pointer, &size)
            }
        }
        return withUnsafeBytes(of: address) { Int($0[2]) << 8 | Int($0[3]) }
    }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }
}
