// SPDX-License-Identifier: Apache-2.0

// `timespec` belongs to CoreFoundation if any module of the program imports that, and to Glibc otherwise.
import CLinux
import Glibc
import Synchronization

/// A thread that works through a queue in batches: what was queued during one batch is the next.
///
/// Everything runs strictly in the order in which it was queued: jobs of the actors whose executor this is,
/// and closures. After each batch comes a hook, in which the owner of a transaction commits it, so that one
/// commit serves all that came together. With nothing to do the thread sleeps in the kernel. It lives, and
/// keeps this object alive, until `stop`.
///
/// Unchecked: each `var` is touched with `mutex` held and never otherwise, and what the two pointers point to
/// lives from `init` to `deinit`.
final class StoreThread: StoreLoop, @unchecked Sendable {
    /// A batch is at most so many items, so that the first of them is not kept waiting.
    static let batchLimit = 512

    private enum Item {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    private enum Phase {
        case running
        case stopping
        case ended
    }

    /// Nanoseconds of CLOCK_MONOTONIC.
    private typealias Nanoseconds = Int64
    private static let atOnce: Nanoseconds = 0
    private static let never: Nanoseconds = .max

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let thread = Atomic<pthread_t>(0)
    private var items: [Item] = []
    /// When the items must be taken at the latest.
    private var deadline = StoreThread.never
    private var phase = Phase.running
    private var afterBatch: @Sendable () -> Void = {}
    private var stopped: [CheckedContinuation<Void, Never>] = []

    /// Starts the thread.
    ///
    /// `name` is what `ps -L` and `top -H` show, of at most 15 bytes.
    init(name: String) {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)

        let start = Unmanaged.passRetained(Start(owner: self, name: name))
        var identifier = pthread_t()
        let result = pthread_create(
            &identifier,
            nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                start.owner.run(name: start.name)
                return nil
            },
            start.toOpaque()
        )
        // It fails only where the process may have no more threads, and a daemon that has just
        // begun cannot go on without this one.
        precondition(result == 0, "cannot start thread '\(name)'")
        pthread_detach(identifier)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// What the new thread is given.
    private final class Start {
        let owner: StoreThread
        let name: String

        init(owner: StoreThread, name: String) {
            self.owner = owner
            self.name = name
        }
    }

    // MARK: - From any thread

    /// Queues a job of an actor whose executor this is.
    func enqueue(_ job: consuming ExecutorJob) {
        let isQueued = append(.job(UnownedJob(job)), deadline: Self.atOnce)
        // Dropping it would leave a task waiting for good: the owner stops the thread last.
        precondition(isQueued, "an actor was used after its thread had ended")
    }

    /// Queues `work`; false if the thread has ended, and `work` will not run.
    @discardableResult
    func perform(_ work: @escaping @Sendable () -> Void) -> Bool {
        append(.work(work), deadline: Self.atOnce)
    }

    /// Queues `work` without waking the thread for it: it runs, in its place in the order, with the
    /// next batch, or by itself after `delay`.
    @discardableResult
    func performDeferred(within delay: Duration, _ work: @escaping @Sendable () -> Void) -> Bool {
        let (seconds, attoseconds) = delay.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        return append(.work(work), deadline: Self.now() + nanoseconds)
    }

    /// Sets what is run, on the thread, after each batch from the next one on.
    func onBatchEnd(_ hook: @escaping @Sendable () -> Void) {
        locked { afterBatch = hook }
    }

    /// How much is queued and not taken up yet.
    var queueLength: Int { locked { items.count } }

    /// Ends the thread once it has run all that is queued; returns when it has.
    ///
    /// Not from code that runs on the thread, which would wait for itself.
    func stop() async {
        await withCheckedContinuation { continuation in
            let isEnded = locked {
                guard phase != .ended else { return true }
                phase = .stopping
                stopped.append(continuation)
                return false
            }
            if isEnded {
                continuation.resume()
            } else {
                pthread_cond_signal(changed)
            }
        }
    }

    /// Called by `assumeIsolated` and `preconditionIsolated` of the actors on this thread.
    func checkIsolated() {
        // Elsewhere the actor's state would be open to a data race.
        precondition(
            thread.load(ordering: .relaxed) == pthread_self(),
            "not on the thread of the store"
        )
    }

    private func append(_ item: Item, deadline newDeadline: Nanoseconds) -> Bool {
        var mustWake = false
        let isQueued = locked {
            guard phase != .ended else { return false }
            items.append(item)
            mustWake = newDeadline < deadline
            deadline = min(deadline, newDeadline)
            return true
        }
        // After unlocking, or the thread would wake just to wait for the mutex.
        if mustWake { pthread_cond_signal(changed) }
        return isQueued
    }

    // MARK: - On the thread

    private func run(name: String) {
        thread.store(pthread_self(), ordering: .relaxed)
        Self.nameThread(name)
        while let batch = nextBatch() {
            for item in batch {
                switch item {
                case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .work(let work): work()
                }
            }
            locked { afterBatch }()
        }
        for continuation in locked({ stopped }) {
            continuation.resume()
        }
    }

    /// Waits for work and takes it; nil at the end.
    private func nextBatch() -> [Item]? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while phase == .running, deadline > Self.atOnce {
            if deadline == Self.never {
                pthread_cond_wait(changed, mutex)
            } else if deadline > Self.now() {
                var until = timespec(
                    tv_sec: Int(deadline / 1_000_000_000),
                    tv_nsec: Int(deadline % 1_000_000_000)
                )
                pthread_cond_timedwait(changed, mutex, &until)
            } else {
                break
            }
        }
        guard !items.isEmpty else {
            // Only `stop` ends the wait with nothing queued.
            phase = .ended
            return nil
        }
        let batch: [Item]
        if items.count <= Self.batchLimit {
            batch = items
            items = []
            deadline = Self.never
        } else {
            batch = Array(items.prefix(Self.batchLimit))
            items.removeFirst(Self.batchLimit)
            deadline = Self.atOnce
        }
        return batch
    }

    private static func nameThread(_ name: String) {
        let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        var name = name
        name.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }

    private static func now() -> Nanoseconds {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func locked<T>(_ body: () -> T) -> T {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}
