// SPDX-License-Identifier: Apache-2.0

// The SPI is that of Swift 6.3. With another compiler tasks run on libdispatch, and all works the same but
// that its manager wakes up once a second.
#if compiler(>=6.3) && compiler(<6.4)

@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
import DequeModule
import Glibc
import Platform
import SystemPackage

/// Has tasks run on threads of this program instead of libdispatch's.
enum ThreadExecutors {
    /// Runs `body` and ends the process with what it returns; to be called on the first thread before
    /// there is any task.
    ///
    /// - Throws: if the system refuses a thread.
    static func run(_ body: @escaping @Sendable () async -> Never) throws(Errno) -> Never {
        let threads = try TaskThreads()
        Factory.threads = threads
        _createExecutors(factory: Factory.self)
        Task.detached { await body() }
        Factory.main.serve()
    }

    private enum Factory: ExecutorFactory {
        // Written once, before there is another thread that could read it.
        nonisolated(unsafe) static var threads: (any TaskExecutor)?
        static let main = FirstThread()

        static var mainExecutor: any MainExecutor { main }
        static var defaultExecutor: any TaskExecutor { threads ?? UnimplementedTaskExecutor() }
    }
}

extension TaskThreads: SchedulingExecutor {
    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob,
        after delay: C.Duration,
        tolerance: C.Duration?,
        clock: C
    ) {
        guard let delay = delay as? Duration else {
            // It cannot be waited for, and a job that is dropped leaves its task waiting for good.
            preconditionFailure("the runtime asks with its own two clocks, whose unit is Duration")
        }
        enqueue(job, after: delay)
    }
}

/// What is to run on the main actor runs on the first thread, in order.
private final class FirstThread: MainExecutor {
    private let thread = pthread_self()
    private let jobs = Monitor<Deque<UnownedJob>>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        jobs.wakeOne()
    }

    func serve() -> Never {
        while true {
            let job = jobs.wait { jobs in
                jobs.popFirst().map { .found($0) } ?? .wait(until: nil)
            }
            job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }

    func run() throws { serve() }

    // `serve` never returns, so whoever calls this would wait for it in vain.
    func stop() { preconditionFailure("the first thread serves until the process ends") }

    func checkIsolated() {
        // Elsewhere the main actor's state would be open to a data race.
        precondition(pthread_equal(thread, pthread_self()) != 0, "this is not the first thread")
    }
}

#endif
