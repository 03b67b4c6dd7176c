// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemPackage

/// Why this program does not know the words that it was started with.
package enum UnknownCommandLine {
    /// Nil where they are known.
    ///
    /// Swift has them from /proc alone: where that is not mounted there are none, not even the program's name, and what
    /// they ask for would be dropped without a word.
    package static var reason: String? {
        guard CommandLine.argc == 0 else { return nil }
        let file = "/proc/self/cmdline"
        let cause = access(file, R_OK) == 0 ? nil : Errno(rawValue: errno).text
        return "cannot read the command line from '\(file)'\(cause.map { ": \($0)" } ?? ""); "
            + "/proc has to be mounted, in a folder of chroot(1), too"
    }
}
