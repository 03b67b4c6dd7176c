// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A system call that failed: what was being done, and the text of its errno.
struct SystemError: Error, Hashable, CustomStringConvertible {
    var description: String

    /// Reads `errno`; to be made right after the call.
    init(_ what: String) {
        description = "\(what): \(String(cString: strerror(errno)))"
    }
}
