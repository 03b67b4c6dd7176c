// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A value behind a lock, and a way for threads to sleep until it has changed.
///
/// Of pthreads, as a condition is. `@unchecked`: `value` is touched with `mutex` held and never
/// otherwise, what is handed out of it is Sendable as it is, and the two pointers, to what lives from `init` to
/// `deinit`, never change.
package final class Monitor<Value: Sendable>: @unchecked Sendable {
    /// What a thread that waits makes of the value.
    package enum Look<Result> {
        case found(Result)
        /// Look again once it has changed, at that time at the latest.
        case wait(until: SuspendingClock.Instant?)
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    package init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` with the value while nobody else does; never nested.
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Has one thread that waits look again; to be called without the lock, which that needs.
    package func wakeOne() { pthread_cond_signal(changed) }

    /// Has all threads that wait look again.
    package func wakeAll() { pthread_cond_broadcast(changed) }

    /// Looks at the value, with the lock held, until `look` has found something; sleeps in between.
    package func wait<Result>(_ look: (inout Value) -> Look<Result>) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            switch look(&value) {
            case .found(let result): return result
            case .wait(nil): pthread_cond_wait(changed, mutex)
            case .wait(let until?): sleep(until: until)
            }
        }
    }

    private func sleep(until instant: SuspendingClock.Instant) {
        let (seconds, attoseconds) = max(instant - .now, .zero).components
        var until = timespec()
        clock_gettime(CLOCK_MONOTONIC, &until)
        let nanoseconds = until.tv_nsec + Int(attoseconds / 1_000_000_000)
        until.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        until.tv_nsec = nanoseconds % 1_000_000_000
        pthread_cond_timedwait(changed, mutex, &until)
    }
}
