// SPDX-License-Identifier: Apache-2.0

// The SPI is that of Swift 6.3. With another compiler tasks run on libdispatch, and all works the same but
// that a command begins five threads, and the page's manager wakes up once a second.
#if compiler(>=6.3) && compiler(<6.4)

@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
import NIOCore
import NIOPosix

/// Has tasks run on the first thread, which is the event loop of all connections as well.
///
/// Most commands of timerctl ask once and print: to begin threads for that, and to wake them, would take longer
/// than all the rest. A page of timerd-web takes a few milliseconds and waits for the daemon in between: more
/// threads would cost memory and wake-ups, and gain nothing.
public enum OneThread {
    /// Runs `body`, which ends the process; to be called on the first thread before there is any task.
    public static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
            Factory.executor = TaskLoop(loop)
            _createExecutors(factory: Factory.self)
            Task.detached { await body() }
        }
        // `body` ends the process, and only then the loop.
        preconditionFailure("the loop runs until the process ends")
    }

    private enum Factory: ExecutorFactory {
        // Written once, before there is any task.
        nonisolated(unsafe) static var executor: TaskLoop?

        static var mainExecutor: any MainExecutor { executor ?? UnimplementedMainExecutor() }
        static var defaultExecutor: any TaskExecutor { executor ?? UnimplementedTaskExecutor() }
    }
}

/// Runs tasks, and what is to run on the main actor, on an event loop.
private final class TaskLoop: TaskExecutor, MainExecutor, SchedulingExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { self.run(job) }
    }

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
        let job = UnownedJob(job)
        loop.scheduleTask(in: TimeAmount(delay)) { self.run(job) }
    }

    private func run(_ job: UnownedJob) {
        job.runSynchronously(
            isolatedTo: asUnownedSerialExecutor(),
            taskExecutor: asUnownedTaskExecutor()
        )
    }

    func checkIsolated() { loop.preconditionInEventLoop() }

    // Nobody calls these two: `OneThread.run` has begun the loop by itself, and the process ends with it.
    func run() throws { preconditionFailure("the loop is run by whoever made it") }
    func stop() { preconditionFailure("the loop runs until the process ends") }
}

#endif
