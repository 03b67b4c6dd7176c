// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// How many jobs there are, as the daemon tells it.
extension StatusReply {
    /// Whether they are the jobs that a page shows.
    ///
    /// The daemon counts the jobs of all users. Who sees all of them, an administrator, is also told when the next one
    /// fires, and nobody else is.
    var countsWhatIsShown: Bool { nextFireDate != nil }

    /// The live ones.
    var live: Int { (scheduled ?? 0) + (paused ?? 0) }
}
