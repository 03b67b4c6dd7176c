// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How much of a busy processor a thread takes.
enum ThreadPriority {
    /// Lowers the priority of the calling thread for good, so that it gives way to the timers' thread.
    ///
    /// For work that may use a core for long and that only one user waits for. No process may be started on
    /// this thread: it would inherit the priority.
    static func giveWay() {
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        // On Linux each thread has its own nice value: getpriority(2) of the process reads the first
        // thread's, setpriority(2) of 0 sets the calling thread's.
        let nice = min(getpriority(process, id_t(getpid())) + 5, 19)
        setpriority(process, 0, nice)
    }
}
