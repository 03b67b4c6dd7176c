// SPDX-License-Identifier: Apache-2.0

import Glibc
package import SystemPackage

extension Errno {
    /// Of the system call that has just failed.
    package static var last: Self { Self(rawValue: errno) }

    /// Its sentence as part of one of ours, which are in lower case: `no such file or directory`.
    package var text: String {
        // "RPC struct is bad" keeps its capitals, "No such file" does not.
        guard description.dropFirst().first?.isLowercase == true else { return description }
        return description.prefix(1).lowercased() + description.dropFirst()
    }
}
