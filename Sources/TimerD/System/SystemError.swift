// SPDX-License-Identifier: Apache-2.0

import Platform
import SystemPackage

/// A system call that failed: what was being done, and the text of its errno.
struct SystemError: Error, Hashable, CustomStringConvertible {
    var description: String

    /// Without a `cause`, to be made right after the call.
    init(_ doing: String, _ cause: Errno = .last) { description = "\(doing): \(cause.text)" }
}
