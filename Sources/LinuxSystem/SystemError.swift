// SPDX-License-Identifier: Apache-2.0

import Platform
package import SystemPackage

/// A system call that failed: what was being done, and the text of its errno.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package var description: String

    /// Without a `cause`, to be made right after the call.
    package init(_ doing: String, _ cause: Errno = .last) {
        description = "\(doing): \(cause.text)"
    }
}
