// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Whether something keeps this machine's clock in time.
package enum ClockKeeping {
    /// What the kernel says, adjtimex(2); nil where it says nothing: a container may forbid the call.
    ///
    /// A clock that was set by hand is none that is kept, until it is set right again.
    package static var isSynchronized: Bool? {
        var state = timex()
        return adjtimex(&state) == -1 ? nil : state.status & STA_UNSYNC == 0
    }
}
