// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Platform
import SystemPackage

/// Wakes a thread that waits for descriptors: readable from `ring` to `silence`.
final class Bell: Sendable {
    let descriptor: Int32

    init() throws(Errno) {
        descriptor = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))
        guard descriptor != -1 else { throw .last }
    }

    deinit { close(descriptor) }

    func ring() {
        var one: UInt64 = 1
        write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    func silence() {
        var rings: UInt64 = 0
        read(descriptor, &rings, MemoryLayout.size(ofValue: rings))
    }
}
