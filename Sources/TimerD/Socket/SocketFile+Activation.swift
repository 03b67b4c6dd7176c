// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem

extension SocketFile {
    /// Takes over a socket that the service manager listens on at `path`.
    ///
    /// It stays the manager's: the file and its mode outlive the daemon, and clients may connect while no
    /// daemon runs.
    ///
    /// - Throws: `SocketError` for what is no such socket.
    static func adopt(_ descriptor: Int32, at path: String) throws(SocketError) -> SocketFile {
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0,
            isListening == 1
        else {
            throw SocketError(
                path,
                "the service manager handed over what is no listening socket",
                isLasting: true
            )
        }
        guard let name = name(of: descriptor) else {
            throw SocketError(
                path,
                "the service manager handed over what is no Unix socket",
                isLasting: true
            )
        }
        guard name == path else {
            throw SocketError(
                path,
                "the service manager listens at '\(name)'; 'ListenStream' and 'socket' have to agree",
                isLasting: true
            )
        }
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0,
            fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0,
            // Has the kernel name this process, not the manager, to whoever asks who listens: SO_PEERCRED of unix(7).
            Glibc.listen(descriptor, queueLength) == 0
        else { throw .failed(path, "use the service manager's socket") }
        return SocketFile(path: path, adopting: descriptor)
    }

    /// The path that a Unix socket is bound to; nil for any other.
    private static func name(of descriptor: Int32) -> String? {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isKnown = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isKnown, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        return withUnsafeBytes(of: &address.sun_path) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
