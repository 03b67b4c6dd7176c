// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How much of a busy processor a thread takes.
enum ThreadPriority {
    /// Has the calling thread, from now on, give way to the daemon's others: to timers above all.
    ///
    /// For work that may take a core for long and that nobody but its user waits for. No process may
    /// be started on this thread: it would inherit that.
    static func giveWay() {
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        // Of a process setpriority(2) means the first thread, of 0 the calling one: on Linux they
        // need not have the same.
        let nice = min(getpriority(process, id_t(getpid())) + 5, 19)
        setpriority(process, 0, nice)
    }
}
