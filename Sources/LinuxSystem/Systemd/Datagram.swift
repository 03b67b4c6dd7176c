// SPDX-License-Identifier: Apache-2.0

// `timeval` is of CLinux or of Glibc, by which of the two the compiler reads first.
import CLinux
import Glibc
import Platform
package import SystemPackage

/// One message to a Unix socket, from a socket of its own.
enum Datagram {
    /// Sends `bytes` without waiting; false if nobody took them.
    ///
    /// `address`: a path, or an abstract name after "@".
    @discardableResult
    static func send(_ bytes: [UInt8], to address: String) -> Bool {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let sent = SocketAddress(address)?.withPointer { pointer, size in
            sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), pointer, size)
        }
        return sent == bytes.count
    }
}

/// Many messages to a Unix socket, which wait for a second where it is full; on one thread.
package final class DatagramSender {
    private let descriptor: Int32
    private let address: String

    package init(to address: String) {
        self.address = address
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Nil once it is taken.
    package func send(_ bytes: [UInt8]) -> Errno? {
        let sent = SocketAddress(address)?.withPointer { pointer, size in
            sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), pointer, size)
        }
        return sent == nil ? .invalidArgument : sent == bytes.count ? nil : .last
    }
}

/// The address of a Unix socket: a path, or an abstract name after "@", unix(7).
private struct SocketAddress {
    private var address = sockaddr_un()
    private let size: Int

    init?(_ text: String) {
        var bytes = Array(text.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        guard isAbstract || bytes.first == UInt8(ascii: "/"),
            bytes.count <= SocketError.longestPath
        else { return nil }
        if isAbstract { bytes[0] = 0 }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // An abstract name ends where the address does, a path with its NUL.
        size = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(size)) }
        }
    }
}
