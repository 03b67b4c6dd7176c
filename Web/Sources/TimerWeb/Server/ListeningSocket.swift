// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore

/// The socket that a proxy connects to: nobody else's, at any moment.
enum ListeningSocket {
    /// Has what is created from now on be its owner's alone, and makes sure that the path is free.
    ///
    /// A socket that nobody listens on any more is replaced, as its file stays behind when its program dies.
    static func prepare(_ path: String) throws(WebError) {
        umask(0o077)
        var address = sockaddr_un()
        let size = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < size else {
            throw WebError("the socket's path '\(path)' is longer than \(size - 1) bytes")
        }
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw WebError("'\(path)' is not a socket; move it away, or choose another path")
        }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let probe = "tell whether another program listens at"
        // Does not wait for a place among those that are not accepted yet.
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw failed(probe, path) }
        defer { close(descriptor) }
        let length = socklen_t(MemoryLayout.size(ofValue: address))
        let error = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, length) == 0 ? 0 : errno
            }
        }
        switch error {
        case ECONNREFUSED, ENOENT: return
        case 0, EAGAIN:
            throw WebError("another program listens at '\(path)'; stop it, or choose another path")
        // Nothing else says that nobody listens: a live one is not replaced for want of an answer.
        default: throw failed(probe, path, error)
        }
    }

    /// Lets a group in; nil for the owner alone.
    static func open(_ path: String, to group: String?) throws(WebError) {
        guard let group else {
            guard chmod(path, 0o600) == 0 else { throw failed("change the mode of", path) }
            return
        }
        // Called once, at the start, by the one thread.
        guard let entry = getgrnam(group) else {
            throw WebError("there is no group '\(group)'; 'getent group' lists them")
        }
        guard chown(path, uid_t.max, entry.pointee.gr_gid) == 0 else {
            throw failed("give group '\(group)'", path)
        }
        guard chmod(path, 0o660) == 0 else { throw failed("change the mode of", path) }
    }

    static func refusal(_ error: IOError, _ listening: WebOptions.Listening) -> WebError {
        let reason = String(cString: strerror(error.errnoCode))
        return switch listening {
        case .port(let port) where error.errnoCode == EADDRINUSE:
            WebError("port \(port) is in use; choose another one with --port, or 0 for any")
        case .port(let port) where error.errnoCode == EACCES:
            WebError("port \(port) is not for this user; choose one above 1023 with --port")
        case .port(let port): WebError("cannot listen on port \(port): \(reason)")
        case .socket(let path, _, _): WebError("cannot listen at '\(path)': \(reason)")
        }
    }

    private static func failed(
        _ action: String,
        _ path: String,
        _ error: Int32 = errno
    ) -> WebError {
        WebError("cannot \(action) '\(path)': \(String(cString: strerror(error)))")
    }
}
