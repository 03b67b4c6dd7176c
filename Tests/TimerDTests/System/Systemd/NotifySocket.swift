// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import TimerD

/// The other end of a `Datagram`.
final class NotifySocket {
    let address: String
    private let descriptor: Int32
    private let folder: TemporaryFolder?

    convenience init(isAbstract: Bool) throws {
        let folder = try TemporaryFolder()
        try self.init(at: isAbstract ? "@" + folder.path : folder.file("notify"), in: folder)
    }

    /// `folder`: what is to be there as long as it.
    init(at address: String, in folder: TemporaryFolder? = nil) throws {
        let isAbstract = address.hasPrefix("@")
        self.folder = folder
        self.address = address
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        if isAbstract { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(2 + bytes.count + (isAbstract ? 0 : 1))
        let isBound = withUnsafePointer(to: name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
        }
        try #require(isBound)
    }

    deinit { close(descriptor) }

    /// The next message; nil where none comes in time.
    func receive(within milliseconds: Int32 = 60_000) -> String? {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, milliseconds) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
