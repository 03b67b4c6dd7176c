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
        guard descriptor >= 0 else {
            // Without IPv6 no browser looks there.
            self.port = port
            return
        }
        // Not to be shared: SO_REUSEADDR would let another one have it as well.
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = in_port_t(port).bigEndian
        address.sin6_addr = in6addr_loopback
        var length = socklen_t(MemoryLayout.size(ofValue: address))
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let isBound = bind(descriptor, pointer, length) == 0
                let code = isBound ? 0 : errno
                if isBound { getsockname(descriptor, pointer, &length) }
                return code
            }
        }
        switch result {
        case 0: self.port = Int(in_port_t(bigEndian: address.sin6_port))
        case EADDRNOTAVAIL: self.port = port
        default:
            Glibc.close(descriptor)
            throw ListeningSocket.refusal(
                IOError(errnoCode: result, reason: "bind"),
                .port(port)
            )
        }
    }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }
}
