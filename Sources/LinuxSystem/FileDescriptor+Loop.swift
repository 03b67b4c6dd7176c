// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
package import SystemPackage

extension FileDescriptor {
    /// Has reads and writes answer EAGAIN where they would wait.
    package func stopBlocking() throws(Errno) {
        let flags = fcntl(rawValue, F_GETFL)
        guard flags != -1, fcntl(rawValue, F_SETFL, flags | O_NONBLOCK) != -1 else {
            throw .last
        }
    }

    /// Closes; Linux frees the descriptor whatever close(2) answers.
    package func closeForGood() {
        Glibc.close(rawValue)
    }
}
