// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// A Unix socket of a test's own.
enum BoundSocket {
    /// A new one, bound at the path; nobody can connect yet.
    ///
    /// Its caller closes it, and no program inherits it.
    static func make(at path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isBound = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        #expect(isBound == 0)
        return descriptor
    }

    /// The same, listening.
    static func listen(at path: String) -> Int32 {
        let descriptor = make(at: path)
        #expect(Glibc.listen(descriptor, 16) == 0)
        return descriptor
    }
}
