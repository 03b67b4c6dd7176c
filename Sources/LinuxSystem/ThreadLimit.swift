// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Platform
import SystemPackage

/// How many threads this process may have.
package enum ThreadLimit {
    /// Makes sure that so many more can be started: where one cannot, some libraries end the process without a word.
    ///
    /// It starts so many, ends them, and waits until the system counts them no more: those that follow find the same room.
    ///
    /// - Throws: `SystemError`, of pthread_create(3).
    package static func require(_ count: Int) throws(SystemError) {
        let trial = Monitor(Trial())
        var started = 0
        defer { end(trial, of: started) }
        while started < count {
            do throws(Errno) {
                try SystemThread.start(named: "timerd-start", stackSize: 1 << 18) {
                    trial.withLock { $0.threads.append(gettid()) }
                    trial.wakeAll()
                    trial.wait { trial -> Monitor<Trial>.Look<Void> in
                        trial.isOver ? .found(()) : .wait(until: nil)
                    }
                }
            } catch {
                let words = "cannot start \(count) threads more (ulimit -u, TasksMax=)"
                throw SystemError(words, error)
            }
            started += 1
        }
    }

    /// The threads that are started to be ended.
    private struct Trial {
        /// Those that have begun, as the kernel numbers them.
        var threads: [Int32] = []
        var isOver = false
    }

    /// Ends the threads once all have begun, and waits until the kernel knows them no more; a second at most.
    private static func end(_ trial: Monitor<Trial>, of started: Int) {
        let threads = trial.wait { trial -> Monitor<Trial>.Look<[Int32]> in
            trial.threads.count == started ? .found(trial.threads) : .wait(until: nil)
        }
        trial.withLock { $0.isOver = true }
        trial.wakeAll()
        for _ in 0..<2000 {
            guard threads.contains(where: { access("/proc/self/task/\($0)", F_OK) == 0 }) else {
                return
            }
            usleep(500)
        }
    }
}
