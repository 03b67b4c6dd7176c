// SPDX-License-Identifier: Apache-2.0

import Cluster
import Foundation
import Locks
import Logging
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// A scheduler on a real database, in time that a test moves: everything but clock, timers and
/// processes is what the daemon runs.
final class TestScheduler: Sendable {
    let folder: String
    let clock: VirtualClock
    let loop: VirtualTimerLoop
    let store: Store
    let runner: RecordingRunner
    let sink = RecordingSink()
    let scheduler: Scheduler
    /// What it is called among others; nil for a daemon alone.
    private let node: String?
    private let keeping: Keeping
    private let accounts: Accounts
    private let zones: TestZones
    private let loadDate = LoadDate()
    private let isClosed = Locked(false)
    let recovered: Recovered

    static let start = Timestamp(rfc3339: "2026-12-01T08:00:00Z") ?? .distantPast
    /// How much of what has happened is kept.
    struct Keeping: Sendable {
        var runs = 100
        var limits = RetentionLimits()
        /// How many commands run at once.
        var maxRuns = 64
        /// How many fires of a user may wait, beside one of each job.
        var maxWaiting = 10_000

        /// All of it, for whoever counts it.
        static let all = Keeping(
            runs: 1_000_000,
            limits: RetentionLimits(
                historyMaxAge: .longestInterval,
                endedJobsMaxAge: .longestInterval,
                eventsKept: 1_000_000,
                eventsMaxAge: .longestInterval
            )
        )
    }

    static let root = Caller(uid: 0, isAdministrator: true)

    /// Starts on the database in `folder`, as the daemon does.
    ///
    /// `publisher` gets the events instead of `sink`, where there is one.
    init(
        folder: String,
        machine: VirtualClock.Machine = VirtualClock.Machine(wall: start),
        log: Logger = Logger(label: "test"),
        keeping: Keeping = Keeping(),
        accounts: Accounts = .nobody,
        zones: TestZones = TestZones(),
        known: KnownRuns? = nil,
        node: String? = nil,
        refusesSignals: Bool = false,
        isShared: Bool = SharedTestStore.isWanted,
        publisher: (@Sendable (DaemonState) -> any EventPublisher)? = nil
    ) async throws {
        self.folder = folder
        self.keeping = keeping
        self.node = node
        self.accounts = accounts
        self.zones = zones
        loop = VirtualTimerLoop()
        store = try Store.test(folder, isShared: isShared, now: machine.wall)
        clock = try await VirtualClock(machine, store, log: log)
        runner = RecordingRunner(clock: clock, known: known, refusesSignals: refusesSignals)
        var settings = SchedulerSettings(
            socket: "/test.sock",
            account: Account(
                uid: 0,
                gid: 0,
                groups: [0],
                name: "me",
                home: "/",
                shell: "/bin/sh"
            ),
            maxRuns: keeping.maxRuns,
            runsKept: keeping.runs,
            retention: keeping.limits
        )
        settings.maxWaitingPerUser = keeping.maxWaiting
        settings.node = node
        // A node leads for as long as the test goes on.
        let fence = node.map { _ in Fence() }
        fence?.extend(to: .max)
        scheduler = Scheduler(
            loop: loop,
            clock: clock,
            store: store.writer,
            runner: runner,
            accounts: accounts,
            targets: TargetWatch(on: .test),
            events: publisher?(store.state) ?? sink,
            eventSequenceEnd: store.state.eventSequenceEnd,
            node: node,
            fence: fence,
            settings: settings,
            log: log,
            findZone: { (name) throws(ScheduleError) in try zones.find(name) }
        )
        let loadDate = loadDate
        await scheduler.onLoadDateChange { loadDate.set($0) }
        recovered = try await scheduler.recover()
        try await settle()
    }

    /// When the scheduler wants to be woken to load the next window.
    private final class LoadDate: Sendable {
        private let date = Locked<Timestamp?>(nil)
        var value: Timestamp? { date.withLock { $0 } }
        func set(_ new: Timestamp?) { date.withLock { $0 = new } }
    }

    /// Runs `body` with a scheduler on a new database, and removes both.
    static func with(
        keeping: Keeping = Keeping(),
        accounts: Accounts = .nobody,
        zones: TestZones = TestZones(),
        _ body: (TestScheduler) async throws -> Void
    ) async throws {
        let folder = "/tmp/timerd-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        defer { removeFolder(folder) }
        let test = try await TestScheduler(
            folder: folder,
            keeping: keeping,
            accounts: accounts,
            zones: zones
        )
        try await body(test)
        try await test.close()
    }

    /// Stops what is not stopped yet.
    func close() async throws {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        await scheduler.stop(.end(after: .zero))
        try await store.close()
        loop.stop()
    }

    /// What a daemon finds that starts `time` after this one was killed now: a copy of its files.
    ///
    /// `change`: what happens to the machine besides, such as a reboot.
    ///
    /// `known`: what the runner knows then; without it, it is another one.
    func crashedAndDown(
        for time: TimeSpan,
        known: KnownRuns? = nil,
        log: Logger = Logger(label: "test"),
        _ change: (inout VirtualClock.Machine) -> Void = { _ in }
    ) async throws -> TestScheduler {
        try await settle()
        return try await killedAndDown(for: time, known: known, log: log, change)
    }

    /// The same without waiting for what is on its way to the store.
    func killedAndDown(
        for time: TimeSpan,
        known: KnownRuns? = nil,
        refusesSignals: Bool = false,
        log: Logger = Logger(label: "test"),
        _ change: (inout VirtualClock.Machine) -> Void = { _ in }
    ) async throws -> TestScheduler {
        let files = try CrashCopy.make(of: folder)
        var machine = clock.machine
        machine.pass(time)
        change(&machine)
        return try await TestScheduler(
            folder: files,
            machine: machine,
            log: log,
            keeping: keeping,
            accounts: accounts,
            zones: zones,
            known: known,
            node: node,
            refusesSignals: refusesSignals
        )
    }

    func crashed() async throws -> TestScheduler { try await crashedAndDown(for: .zero) }

    // MARK: - Time

    /// Returns when everything that was begun has ended.
    func settle() async throws {
        var before: Int
        repeat {
            before = loop.performed
            await loop.flush()
            try await store.writer.barrier()
            await loop.flush()
            // A run that has begun is on its way through the pool of threads.
            while await loop.ask({ [scheduler] in
                scheduler.assumeIsolated { $0.fires.running + $0.noticeTurns.count }
            }) != runner.heldCount {
                await Task.yield()
            }
            // So is a look at held jobs.
            while await loop.ask({ [scheduler] in scheduler.assumeIsolated { $0.held.isLooking } })
            {
                await Task.yield()
            }
        } while before != loop.performed
    }

    /// Lets time pass until `date` of the wall clock, with every timer and window on its way.
    func advance(to date: Timestamp) async throws {
        try await settle()
        while true {
            let window = loadDate.value
            let next = [window, loop.firstDate].compactMap { $0 }.min()
            guard let next, next <= date else { break }
            clock.advance(to: next - clock.now().wallOffset)
            if !loop.fireTimers(of: next) { await scheduler.windowDue() }
            try await settle()
        }
        clock.advance(to: date - clock.now().wallOffset)
    }

    func advance(by span: TimeSpan) async throws {
        try await advance(to: clock.now().wall + span)
    }

    /// Lets time pass with every timer on its way, while the store does not answer.
    func advanceWithoutStore(by span: TimeSpan) async {
        let date = clock.now().wall + span
        while let next = loop.firstDate, next <= date {
            clock.advance(to: next - clock.now().wallOffset)
            _ = loop.fireTimers(of: next)
            await loop.flush()
            await loop.flush()
        }
        clock.advance(to: date - clock.now().wallOffset)
    }

    /// Lets time pass in which nothing happens: a busy host, or sleep.
    func stall(_ span: TimeSpan) { clock.advance(to: clock.now().elapsed + span) }

    // MARK: - Jobs

    @discardableResult
    func add(
        _ words: ScheduleWords,
        command: [String]? = nil,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> StoredJob {
        var definition = JobDefinition(schedule: words)
        definition.command = command
        change(&definition)
        let job = try NewJob(definition, owner: 0, at: clock.now(), zone: .utc)
        return try await scheduler.add([job], replace: false, caller: Self.root)[0]
    }

    /// Adds jobs of another user than root, in one request.
    @discardableResult
    func add(_ words: [ScheduleWords], of uid: UInt32) async throws -> [StoredJob] {
        let jobs = try words.map {
            try NewJob(JobDefinition(schedule: $0), owner: uid, at: clock.now(), zone: .utc)
        }
        let caller = Caller(uid: uid, isAdministrator: false)
        return try await scheduler.add(jobs, replace: false, caller: caller)
    }

    /// What answers requests on a daemon that runs as `uid`.
    func handler(uid: UInt32 = 0) -> CommandHandler {
        CommandHandler(
            scheduler: scheduler,
            reader: store.reader,
            care: store.care,
            clock: clock,
            status: { _ in fatalError("no test asks for a status here") },
            metrics: { fatalError("no test asks for metrics here") },
            log: Logger(label: "test"),
            own: Owner(uid: uid)
        )
    }

    func change(_ job: JobID, _ change: JobChange) async throws {
        _ = try await scheduler.change(.ids([job]), change, caller: Self.root)
    }

    func job(_ id: JobID) async throws -> StoredJob {
        try await settle()
        return try #require(try await store.reader.read { try Queries($0).job(id) })
    }

    /// What became of the dates of a job, oldest first.
    func history(_ id: JobID) async throws -> [Run] {
        try await settle()
        return try await store.reader.read {
            try Queries($0).runs(RunFilter(job: id), after: nil, limit: 1000, in: PageRoom(.max))
                .runs
        }.reversed()
    }

    /// The fire dates that were told of, in seconds after the start.
    func fired(_ id: JobID) -> [Int64] {
        sink.all(.fireFired).filter { $0.job == id }.map {
            (($0.fireDate ?? .distantPast) - Self.start).microseconds / 1_000_000
        }
    }
}

extension Accounts {
    /// Those of a machine without users, whatever users this one has.
    static var nobody: Accounts {
        Accounts(find: { uid throws(StartRefusal) in throw .noUser(uid) })
    }
}
