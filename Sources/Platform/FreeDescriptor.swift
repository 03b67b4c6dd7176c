// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
package import SystemPackage

/// Whether this process gets another descriptor, which libraries need in order to find something out.
///
/// The C library asks several services in turn, and PAM several modules: one that cannot open its file is passed over, and
/// what the others say then is no answer.
package enum FreeDescriptor {
    /// How many must be free: other threads may have given back what there was not as the answer came.
    private static let spare = 8

    /// Opens a descriptor and closes it; asked right behind an answer, so that it counts only if there was one to ask with.
    ///
    /// - Throws: `Errno` of eventfd(2), where there is none; `tooManyOpenFiles` where there are hardly any.
    package static func require() throws(Errno) {
        let lowest = try next()
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard lowest <= Int(clamping: limit.rlim_cur) - spare else { throw .tooManyOpenFiles }
    }

    /// The number that the next descriptor gets: as many are open at least, for the lowest number that is free is given.
    ///
    /// - Throws: `Errno` of eventfd(2), where there is none.
    package static func next() throws(Errno) -> Int {
        let descriptor = eventfd(0, CInt(EFD_CLOEXEC))
        guard descriptor >= 0 else { throw .last }
        close(descriptor)
        return Int(descriptor)
    }
}

extension Errno {
    /// Whether it is for want of descriptors or memory, which says nothing of what was asked for.
    package var isShortage: Bool {
        [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory].contains(self)
    }
}
