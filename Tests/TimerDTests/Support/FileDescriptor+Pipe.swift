// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage

@testable import LinuxSystem
@testable import TimerD

extension FileDescriptor {
    /// Both ends of a new pipe, which no executed program inherits.
    static func closeOnExecPipe() throws(Errno) -> (read: Self, write: Self) {
        var ends: [CInt] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw .last }
        for end in ends where fcntl(end, F_SETFD, FD_CLOEXEC) == -1 {
            let cause = Errno.last
            for end in ends { Self(rawValue: end).closeForGood() }
            throw cause
        }
        return (Self(rawValue: ends[0]), Self(rawValue: ends[1]))
    }
}
