// SPDX-License-Identifier: Apache-2.0

import CLinux
import DequeModule
import Glibc

/// Threads for what may block for as long as a file server or a user database does.
///
/// A thread for each piece of work, up to a limit: work that waits for a dead server delays no other work. A
/// thread without work for 10 s ends.
final class BlockingThreads: Sendable {
    private let desk: WorkDesk

    /// `limit`: how many threads there are at most.
    init(limit: Int) {
        desk = WorkDesk(limit: limit)
    }

    deinit {
        desk.close()
    }

    /// Does `work` on one of the threads.
    func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            desk.put { continuation.resume(returning: work()) }
        }
    }
}

/// @unchecked because `lock` guards every mutable property.
///
/// It is a lock of pthreads, because a condition of pthreads needs one.
private final class WorkDesk: @unchecked Sendable {
    /// How long a thread waits for work before it ends, in seconds.
    static let patience = 10

    private let limit: Int
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrival = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var work: Deque<@Sendable () -> Void> = []
    private var threads = 0
    private var idle = 0
    private var isClosed = false

    init(limit: Int) {
        self.limit = limit
        pthread_mutex_init(lock, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(arrival, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(arrival)
        pthread_mutex_destroy(lock)
        arrival.deallocate()
        lock.deallocate()
    }

    func put(_ item: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(lock)
        work.append(item)
        if work.count > idle, threads < limit, startThread() { threads += 1 }
        // Without any thread nobody would ever do it: the caller does.
        let isAbandoned = threads == 0
        if isAbandoned { work.removeLast() }
        pthread_cond_signal(arrival)
        pthread_mutex_unlock(lock)
        if isAbandoned { item() }
    }

    /// Has the threads end once there is no work left.
    func close() {
        pthread_mutex_lock(lock)
        isClosed = true
        pthread_cond_broadcast(arrival)
        pthread_mutex_unlock(lock)
    }

    private func startThread() -> Bool {
        var thread = pthread_t()
        let desk = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread,
            nil,
            { desk in
                // The retain above is this thread's.
                desk.map { Unmanaged<WorkDesk>.fromOpaque($0).takeRetainedValue().serve() }
                return nil
            },
            desk.toOpaque()
        )
        guard code == 0 else {
            desk.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    /// What each thread does.
    private func serve() {
        pthread_mutex_lock(lock)
        while let item = next() {
            pthread_mutex_unlock(lock)
            item()
            pthread_mutex_lock(lock)
        }
        threads -= 1
        pthread_mutex_unlock(lock)
    }

    /// Waits for work, with the lock held; nil after `patience` without work, or once closed and empty.
    private func next() -> (@Sendable () -> Void)? {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_sec += Self.patience
        idle += 1
        defer { idle -= 1 }
        while work.isEmpty, !isClosed {
            if pthread_cond_timedwait(arrival, lock, &deadline) == ETIMEDOUT { break }
        }
        return work.popFirst()
    }
}
