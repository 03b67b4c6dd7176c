// SPDX-License-Identifier: Apache-2.0

import Platform
import SystemPackage

/// How many threads this process may have.
package enum ThreadLimit {
    /// Makes sure that so many more can be started: where one cannot, some libraries end the process without a word.
    ///
    /// It starts twice as many, and ends them: the system may still count these for a moment after they have ended.
    ///
    /// - Throws: `SystemError`, of pthread_create(3).
    package static func require(_ count: Int) throws(SystemError) {
        let isOver = Monitor(false)
        defer {
            isOver.withLock { $0 = true }
            isOver.wakeAll()
        }
        for _ in 0..<2 * count {
            do throws(Errno) {
                try SystemThread.start(named: "timerd-start", stackSize: 1 << 18) {
                    isOver.wait { over -> Monitor<Bool>.Look<Void> in
                        over ? .found(()) : .wait(until: nil)
                    }
                }
            } catch {
                let words = "cannot start \(2 * count) threads more (ulimit -u, TasksMax=)"
                throw SystemError(words, error)
            }
        }
    }
}
