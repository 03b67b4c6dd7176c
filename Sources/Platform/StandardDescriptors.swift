// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Descriptors 0, 1 and 2, which whoever starts a program may have closed: `timerd <&- >&- 2>&- &`.
public enum StandardDescriptors {
    /// Fills those that are closed; to be called before any other descriptor is opened.
    ///
    /// Else a file, a pipe or a connection would get the number, and what is meant for nobody would be written to it. The
    /// number fails as a closed one does: it cannot be used the way that it is meant to be.
    public static func fill() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest that is free, which this one is.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
