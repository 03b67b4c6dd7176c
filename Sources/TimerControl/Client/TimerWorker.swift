// SPDX-License-Identifier: Apache-2.0

import Locks
public import Schedules

/// What a worker says of a task.
public enum TaskResult: Hashable, Sendable {
    /// It is done.
    case finished
    /// It has failed, and why; it is tried again while it has retries left.
    case failed(String)
    /// It goes back, ready after `delay`, which costs no retry; and why, for whoever reads the reports.
    ///
    /// With a `delay` that the daemon refuses, as it is no duration or too long, the task has failed, with that reason.
    case released(delay: String?, String)
}

/// Takes tasks from queues and has a function work on them, some at a time, until it is stopped.
///
/// It extends the leases of what it works on, says what became of it, and connects anew where the daemon goes away. A
/// handler whose task was lost, because its lease has ended or its job was, is cancelled; what it returns then is
/// told to nobody. `TimerWorkerService` of the library TimerService is one as a service, see <doc:Workers>.
public final class TimerWorker: Sendable {
    public struct Settings: Sendable {
        /// The path of the daemon's socket.
        public var socket: String
        /// 1 to 64 names.
        public var queues: [String]
        /// How many tasks at a time, 1 to 1000.
        public var concurrency = 1
        /// A duration, 100 ms to 7 days: how soon another worker has the tasks of one that hangs; it has those of one that died at
        /// once.
        public var lease = "1min"
        /// Whether `run` returns once no task is ready.
        public var endsWhenIdle = false
        /// How long a worker that was stopped waits for the answer of a reserve.
        var lastAnswer = RunningTasks.shortestTelling
        /// How long a reserve waits before a stop ends it with its connection.
        ///
        /// What is handed out in that moment is lost with that, so a younger one is waited for. Where none came for so
        /// long, hardly one comes just then.
        var quiet = Duration.seconds(1)

        public init(socket: String, queues: [String]) {
            (self.socket, self.queues) = (socket, queues)
        }
    }

    struct Stopping {
        var isAsked = false
        /// The connection that what is in progress is tied to; nil where that was refused for now.
        var tied: ControlClient?
        /// What ties it to a connection that was made anew to reserve on.
        var tying: Task<Void, any Error>?
        /// From when on a stop may end the reserve that is in progress; nil where none is to come.
        var quietAt: ContinuousClock.Instant?
        /// Waits for that.
        var quiet: Task<Void, Never>?
        /// What ties to the other connection what is in progress.
        var keeping: Task<Void, Never>?
    }

    public typealias Handler = @Sendable (QueuedTask) async throws -> TaskResult

    /// The leases that are accepted.
    public static var leases: ClosedRange<TimeSpan> { ReserveTasks.leases }

    let settings: Settings
    let handler: Handler
    let report: @Sendable (String) -> Void
    /// Its replies wait for tasks, so that nothing else can be asked on it; what is in progress is tied to its connection.
    let reserving: WorkerLink
    /// For what is said of tasks.
    let telling: WorkerLink
    let running = RunningTasks()
    private let wakes: AsyncStream<Void>
    let waker: AsyncStream<Void>.Continuation
    let stopping = Locked(Stopping())

    /// `report` is called with a sentence for each failure, lost task and lost connection.
    ///
    /// What `handler` throws is a failure with that reason; `CancellationError` gives the task back.
    public init(
        _ settings: Settings,
        report: @escaping @Sendable (String) -> Void = { _ in },
        handler: @escaping Handler
    ) {
        (self.settings, self.report, self.handler) = (settings, report, handler)
        // What became of a task is told while its lease holds, also to a daemon that comes back during the longest pause.
        let longestPause = min(.seconds(10), Self.lease(of: settings) / 4)
        reserving = WorkerLink(settings.socket, longestPause: longestPause)
        telling = WorkerLink(settings.socket, longestPause: longestPause)
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Takes no more tasks; `run` returns once those in progress are over and the daemon was told.
    ///
    /// Where it cannot be told of one, that is tried for as long as the task's lease holds, and for 30 s at most.
    public func stop() {
        stopping.withLock { state in
            guard !state.isAsked else { return }
            state.isAsked = true
            // try?: cancelled, it is over.
            let quiet = Task { [quietAt = state.quietAt] in
                if let quietAt { try? await Task.sleep(until: quietAt) }
            }
            state.quiet = quiet
            Task { [tying = state.tying] in await leave(behind: tying, quiet) }
        }
        running.endTellings()
        waker.yield()
    }

    /// The same, and cancels the handlers; the daemon has a second to answer what it is told then.
    public func stopNow() {
        stop()
        running.cancelAll()
    }

    /// Works until `stop` was called, to be called once.
    ///
    /// When its task is cancelled, it is stopped at once.
    ///
    /// - Throws: the daemon's `ControlError` where it refuses what is asked, such as a lease that is too long.
    public func run() async throws {
        try await withTaskCancellationHandler {
            let beats = Task { await beat() }
            // Not a child: its tasks are to be told of although this one is cancelled.
            let work = Task { try await takeTasks() }
            let result = await work.result
            beats.cancel()
            stopping.withLock { $0.keeping }?.cancel()
            await reserving.close()
            await telling.close()
            try result.get()
        } onCancel: {
            stopNow()
        }
    }

    var isStopped: Bool { stopping.withLock { $0.isAsked } }

    private var isTied: Bool { stopping.withLock { $0.tied != nil } }

    /// The length of a lease.
    var lease: Duration { Self.lease(of: settings) }

    private static func lease(of settings: Settings) -> Duration {
        // try?: the daemon refuses one that cannot be read, and `run` throws that.
        .microseconds((try? TimeSpan(parsing: settings.lease))?.microseconds ?? 60_000_000)
    }

    private func takeTasks() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            defer { reserveNoMore() }
            var wake = wakes.makeAsyncIterator()
            while !isStopped {
                let free = settings.concurrency - running.count
                // Also with no place free it has a connection that what is in progress is tied to.
                if free <= 0, isTied, await reserving.stands() {
                    _ = await wake.next()
                    continue
                }
                guard let tasks = try await reserve(free) else { continue }
                if tasks.isEmpty, settings.endsWhenIdle {
                    if running.count == 0 { break }
                    _ = await wake.next()
                    continue
                }
                for task in tasks {
                    guard let reference = task.reference else { continue }
                    let work = begin(task, reference)
                    group.addTask { await self.finish(task, reference, work) }
                }
            }
        }
    }

    /// What was handed out is in progress, or goes back: a stop waits for nothing more.
    private func reserveNoMore() {
        stopping.withLock { state in
            state.quietAt = nil
            state.quiet?.cancel()
        }
    }

    /// What came as the worker was stopped goes back; else it is in progress before `leave` can miss it.
    private func begin(_ task: QueuedTask, _ reference: TaskReference) -> Task<TaskResult, Never> {
        stopping.withLock { state in
            let work = Task { [isAsked = state.isAsked] in
                isAsked ? .released(delay: nil, "the worker stops") : await result(of: task)
            }
            running.add(reference, work, until: .now + lease)
            return work
        }
    }

    /// Tasks, perhaps none; nil where the daemon could not be asked, or was not, as for a `count` of 0.
    private func reserve(_ count: Int) async throws -> [QueuedTask]? {
        var request = ReserveTasks(queues: settings.queues)
        request.count = count
        request.lease = settings.lease
        request.whileConnected = true
        if !settings.endsWhenIdle { request.wait = "1h" }
        var client: ControlClient?
        do {
            let connected = try await reserving.client()
            client = connected
            try await tie(to: connected)
            // Nothing may have been answered: the pause stays, for a daemon that admits the worker and hangs up.
            guard count > 0, begins() else { return nil }
            let tasks = try await connected.reserveTasks(request)
            reserving.hasWorked()
            return tasks
        } catch {
            if isStopped { return nil }
            if let error = error as? ControlError, !error.isPassing { throw error }
            report("\(error); trying again")
            if await reserving.keeps(client, after: error) { await reserving.restLonger() }
            return nil
        }
    }

    /// Whether a reserve may begin, which a stop knows of from then on.
    private func begins() -> Bool {
        stopping.withLock { state in
            state.quietAt = .now + settings.quiet
            return !state.isAsked
        }
    }

    private func result(of task: QueuedTask) async -> TaskResult {
        do {
            return try await handler(task)
        } catch is CancellationError {
            return .released(delay: nil, "cancelled")
        } catch {
            return .failed("\(error)")
        }
    }

    private func finish(
        _ task: QueuedTask,
        _ reference: TaskReference,
        _ work: Task<TaskResult, Never>
    ) async {
        let result = await work.value
        // From here on its lease is not extended any more; a lost one is told to nobody.
        if running.isLost(reference) {
            report("task \(task.fire): lost, and given up")
        } else {
            let telling = Task { await tell(result, reference) }
            running.tells(reference, telling)
            await telling.value
        }
        running.remove(reference)
        if running.count == 0 { stopping.withLock { $0.keeping }?.cancel() }
        waker.yield()
    }
}
