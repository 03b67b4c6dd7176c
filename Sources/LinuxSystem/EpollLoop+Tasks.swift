// SPDX-License-Identifier: Apache-2.0

/// Tasks that wait for what the loop watches run on its thread: no other has to be woken for them.
///
/// As all that it calls, they must not block.
extension EpollLoop: TaskExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        perform { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
