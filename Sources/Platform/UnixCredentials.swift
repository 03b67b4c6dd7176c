// SPDX-License-Identifier: Apache-2.0

import Glibc
public import SystemPackage

/// Who is at the other end of a Unix socket: `struct ucred` of unix(7), which Glibc's module leaves out.
public struct UnixCredentials: Sendable {
    public var pid: Int32 = 0
    public var uid: UInt32 = 0
    public var gid: UInt32 = 0

    /// Asks the kernel (SO_PEERCRED): who connected, or, where `socket` connected itself, who called listen(2).
    public init(peerOf socket: FileDescriptor) throws(Errno) {
        var size = socklen_t(MemoryLayout<Self>.size)
        guard getsockopt(socket.rawValue, SOL_SOCKET, SO_PEERCRED, &self, &size) == 0 else {
            throw .last
        }
    }
}
