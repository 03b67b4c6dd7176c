// SPDX-License-Identifier: Apache-2.0

import Cluster
import Logging
import Schedules
import TimerControl

@testable import Runner
@testable import SQLite
@testable import TimerD

/// One life of a daemon: its parts as `DaemonParts` makes them, on lanes instead of threads.
///
/// Unchecked: the one thread of a simulation is the only one to touch it.
final class SimulatedLife: @unchecked Sendable {
    enum Phase {
        case starting
        case ready
        case failed(any Error)
        case stopping
        case stopped
    }

    let number: Int
    let pool: PoolLane
    let timers: TimerLane
    let storeLane: StoreLane
    let readerLane: StoreLane
    var phase = Phase.starting
    /// Whether a disk error has come up in it.
    var hasSeenFault = false
    /// Whether the runner died in it, could not be started or took its time.
    var hasSeenRunnerTrouble = false
    /// Until when it may begin anything.
    let fence = Fence()
    /// Why nothing can be stored any more.
    var loss: DatabaseError?
    var runnerLane: RunnerLane?
    var runner: ProgramRunner?
    /// Where the other host's agent comes, and that host's runner beside its own; nil where there is none.
    var nodeLane: RunnerLane?
    var nodes: NodeRunners?
    var store: Store?
    var clock: VirtualClock?
    var scheduler: Scheduler?
    var handler: CommandHandler?
    /// Who looks on: a connection that the daemon knows nothing of.
    var inspector: Database?
    var recovered: Recovered?
    /// When the scheduler wants to be woken for the next window, by the wall clock.
    var loadDate: Timestamp?
    private var isWatchingClock = true

    init(_ number: Int, _ conductor: Conductor) {
        self.number = number
        pool = PoolLane(conductor)
        timers = TimerLane(conductor)
        storeLane = StoreLane(conductor)
        readerLane = StoreLane(conductor)
        fence.extend(to: .max)
    }

    var isReady: Bool { if case .ready = phase { true } else { false } }

    /// As the daemon starts, up to the point where it takes requests.
    func begin(
        on disk: CrashDisk,
        lead: SimulatedLead?,
        machine: VirtualClock.Machine,
        runner: any CommandRunner,
        node: String?,
        events: any EventPublisher,
        settings: SchedulerSettings,
        log: Logger,
        opened: (DaemonState) -> Void
    ) async {
        do {
            let store = try open(disk, lead, log, now: machine.wall)
            self.store = store
            opened(store.state)
            let clock = try await VirtualClock(
                machine,
                store,
                othersClock: lead?.clockDifference,
                log: log
            )
            self.clock = clock
            let scheduler = Scheduler(
                loop: timers,
                clock: clock,
                store: store.writer,
                runner: runner,
                accounts: Self.accounts,
                targets: TargetWatch(on: .test),
                pool: pool,
                events: events,
                eventSequenceEnd: store.state.eventSequenceEnd,
                node: node,
                fence: fence,
                settings: settings,
                log: log
            )
            self.scheduler = scheduler
            await scheduler.onLoadDateChange { [weak self] date in
                if self?.isWatchingClock == true { self?.loadDate = date }
            }
            recovered = try await scheduler.recover()
            handler = CommandHandler(
                scheduler: scheduler,
                reader: store.reader,
                care: store.care,
                clock: clock,
                status: { _ in fatalError("no client of a simulation asks for a status") },
                metrics: { fatalError("no client of a simulation asks for metrics") },
                log: log,
                own: .root
            )
            inspector = try disk.withoutFault {
                try Database(path: CrashDisk.database, mode: .readOnly, on: disk)
            }
            phase = .ready
        } catch {
            phase = .failed(error)
        }
    }

    private func open(
        _ disk: CrashDisk,
        _ lead: SimulatedLead?,
        _ log: Logger,
        now: Timestamp
    ) throws -> Store {
        let makeThread: @Sendable (String) -> any StoreLoop = { [storeLane, readerLane] name in
            name == "timerd-store" ? storeLane : readerLane
        }
        guard let lead else {
            return try Store(
                CrashDisk.database,
                on: disk,
                workClock: Store.noWork,
                log: log,
                now: now,
                makeThread: makeThread
            )
        }
        // Unsafe: its home is of the simulation, which has one thread.
        nonisolated(unsafe) let copy = try lead.copy(on: disk)
        return try Store(
            copy,
            on: disk,
            workClock: Store.noWork,
            log: log,
            now: now,
            makeThread: makeThread
        ) { [weak self] error in self?.loss = error }
    }

    /// The clock watch ends before anything else does.
    func stop() {
        phase = .stopping
        loadDate = nil
        isWatchingClock = false
    }

    /// As a daemon stops that was told to.
    func end(_ runs: RunsAtStop = .end(after: .seconds(86_400))) async {
        guard let scheduler, let store else { return }
        await scheduler.stop(runs)
        // try?: what could not be stored is missed by the invariants, if it was promised.
        try? await store.close()
        phase = .stopped
    }

    /// Knows everybody once it was asked, for all time: else it would ask on threads of its own.
    static let accounts = Accounts(find: { _ in user }, now: { [now = ContinuousClock.now] in now })

    private static let user = Account(
        uid: 0,
        gid: 0,
        groups: [0],
        name: "me",
        home: "/",
        shell: "/bin/sh"
    )

    /// What a host's runner is asked for to run a command of root's.
    static func request(for command: RunningCommand) -> RunRequest {
        settings(keeping: .all).request(for: command, owner: user)
    }

    /// Few places, so that runs wait for them.
    static func settings(keeping: TestScheduler.Keeping) -> SchedulerSettings {
        SchedulerSettings(
            socket: "/disk/timerd.sock",
            account: user,
            maxRuns: 3,
            maxRunsPerUser: 3,
            runsKept: keeping.runs,
            retention: keeping.limits
        )
    }

    /// Little, and for less time than a simulation takes.
    static let keepingLittle = TestScheduler.Keeping(
        runs: 10,
        limits: RetentionLimits(
            historyMaxAge: .seconds(40),
            endedJobsMaxAge: .seconds(30),
            eventsKept: 100,
            eventsMaxAge: .seconds(40),
            doubt: .seconds(60)
        )
    )
}
