// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Locks
import Logging
import NIOCore
import NIOPosix
import Platform
import RunLoopTimers
import Runner
import SQLite
import Schedules
import SystemPackage
import TimerControl

/// The loops that the parts work on.
struct Loops {
    let sockets: MultiThreadedEventLoopGroup
    let timers: RunLoopThread
    let epoll: EpollLoop

    /// So many descriptors they take, and more: a run loop of CoreFoundation and an event loop of SwiftNIO that get none end
    /// the process, also that of a node which was to lead and could stand by.
    private static let descriptors = 24
    /// The threads that they and the store always have; it is the same with these.
    private static let threads = 5

    init(_ started: inout StartedParts) async throws {
        try DescriptorLimit.require(Self.descriptors)
        if let reason = Configuration.wantOfRoom(in: DescriptorLimit.now) {
            throw DaemonError(reason, .unavailable)
        }
        try ThreadLimit.require(Self.threads)
        sockets = try await started.start {
            MultiThreadedEventLoopGroup(numberOfThreads: 1)
        } stop: {
            try await $0.shutdownGracefully()
        }
        timers = try await started.start {
            RunLoopThread(name: "timerd-timers", goesFirst: true)
        } stop: {
            $0.stop()
        }
        epoll = try await started.start {
            try EpollLoop()
        } stop: {
            await $0.stop()
        }
    }
}

/// A daemon without those whom it answers: the store, the clock, and the scheduler between them.
struct DaemonCore {
    let loops: Loops
    let store: Store
    let resumption: ClockResumption
    let bus: EventBus
    let accounts: Accounts
    let runner: any CommandRunner
    /// `runner` where it has the runners of other nodes, too; nil of a daemon alone.
    let nodeRunners: NodeRunners?
    let scheduler: Scheduler
    let watch: ClockWatch
    let log: Logger
    /// Whether other hosts share the jobs.
    let isShared: Bool
    /// Knows the other hosts' daemons; nil for a daemon alone.
    let nodes: (any NodeRegistry)?
    /// The user that the daemon runs as.
    let own: Owner

    var clock: SystemClock { resumption.clock }

    /// Makes every part, in order.
    ///
    /// `isOfUnits`: whether systemd has given the daemon its socket, and is to have the runner's too.
    init(
        _ configuration: Configuration,
        lead: Lead? = nil,
        isOfUnits: Bool = false,
        _ log: Logger,
        _ onLost: @escaping @Sendable (DatabaseError) -> Void,
        _ started: inout StartedParts
    ) async throws {
        self.log = log
        isShared = lead != nil
        nodes = lead?.nodes
        // While there are descriptors to look it up with: the loops take most of those that a start needs.
        let account = Account.own()
        // A node holds the lock of its copy for as long as it runs.
        let lock = lead == nil ? try await Self.lock(configuration, &started) : nil
        loops = try await Loops(&started)
        store = try await Self.openStore(configuration.database, lead, log, onLost, &started)
        // One that was not there before.
        try lock?.holdFile()
        resumption = try ClockResumption(
            store.state,
            bootID: SystemClock.bootID(),
            othersClock: lead.map { TimeSpan(microseconds: $0.clockDifference) }
        )
        let clock = resumption.clock
        bus = EventBus(newest: store.state.eventSequenceEnd - 1, loop: loops.sockets.any())
        accounts = Accounts(permission: AccountManagement.check)
        own = Owner(uid: account.uid, name: account.name)
        let epoll = loops.epoll
        let socket = configuration.runner
        let program =
            isOfUnits
            ? RunnerProgram(socket: socket, started: Self.warnOfOwnRunner(at: socket, log))
            : RunnerProgram(socket: socket)
        let ownRunner = Self.makeRunner(program, lead, on: epoll, clock)
        nodeRunners = lead.map { Self.makeNodeRunners($0, own: ownRunner, on: epoll, clock) }
        runner = nodeRunners ?? ownRunner
        let (echo, journal) = try await Self.startOutputs(of: runner, log, &started)
        scheduler = Scheduler(
            loop: loops.timers,
            clock: clock,
            store: store.writer,
            runner: runner,
            accounts: accounts,
            targets: TargetWatch(on: epoll),
            // Where the runner's reports come in.
            pool: epoll,
            events: bus,
            eventSequenceEnd: store.state.eventSequenceEnd,
            node: lead?.node,
            labels: Set(lead?.labels ?? []),
            fence: lead?.fence,
            settings: SchedulerSettings(configuration, account: account),
            echo: echo,
            journal: journal,
            isClockKept: ClockKeeping.isSynchronized ?? false,
            log: log
        )
        if lead?.drains == true { await scheduler.drainHere(true) }
        watch = try await Self.watchClock(for: scheduler, on: epoll, &started)
    }

    /// Opens the database of this host alone, or the copy of the jobs that `lead` is for.
    private static func openStore(
        _ path: String,
        _ lead: Lead?,
        _ log: Logger,
        _ onLost: @escaping @Sendable (DatabaseError) -> Void,
        _ started: inout StartedParts
    ) async throws -> Store {
        try await started.start {
            let now = SystemClock.read().wall
            guard let lead else {
                return try Store(path, log: log, now: now, onLost: onLost)
            }
            let copy = try lead.copy(at: path)
            return try Store(copy, log: log, now: now, onLost: onLost)
        } stop: {
            try await $0.close()
        }
    }

    /// Says once that a runner was started here which is in none of systemd's units for runs.
    ///
    /// Their socket may be deaf: systemd does not make its file anew where that was removed, and the daemon finds nobody there.
    private static func warnOfOwnRunner(
        at socket: String,
        _ log: Logger
    ) -> @Sendable (Int32) -> Void {
        let isSaid = Locked(false)
        return { pid in
            let wasSaid = isSaid.withLock { isSaid in
                defer { isSaid = true }
                return isSaid
            }
            guard !wasSaid else { return }
            let systemctl = geteuid() == 0 ? "systemctl" : "systemctl --user"
            log.warning(
                """
                systemd does not listen at the runner's socket, so timerd-runner was started within this service, which \
                '\(systemctl) stop timerd-runner' does not end; once no run is in progress: \
                \(systemctl) restart timerd-runner.socket
                """,
                metadata: ["runner": "\(pid)", "socket": "\(socket)"]
            )
        }
    }

    /// What runs commands on this host.
    private static func makeRunner(
        _ program: RunnerProgram,
        _ lead: Lead?,
        on epoll: EpollLoop,
        _ clock: SystemClock
    ) -> ProgramRunner {
        ProgramRunner(
            on: epoll,
            fence: lead?.fence,
            firstPatience: lead.map { Lead.patienceWithRunner(ofLease: $0.lease) }
        ) {
            clock.now().wall.microseconds
        } connect: { () throws(RunnerUnreachable) in
            try program.connect()
        } holder: {
            program.holder
        }
    }

    /// What runs commands on this host and on the other nodes.
    private static func makeNodeRunners(
        _ lead: Lead,
        own: ProgramRunner,
        on epoll: EpollLoop,
        _ clock: SystemClock
    ) -> NodeRunners {
        NodeRunners(
            own: own,
            of: lead.node,
            on: epoll,
            fence: lead.fence,
            absence: lead.lease + max(.seconds(2), lead.lease / 2),
            isThere: lead.isThere
        ) {
            clock.now().wall.microseconds
        }
    }

    /// Where the output of runs goes besides the database.
    private static func startOutputs(
        of runner: any CommandRunner,
        _ log: Logger,
        _ started: inout StartedParts
    ) async throws -> (OutputEcho, RunJournal) {
        let echo = try await started.start {
            OutputEcho(to: .standardOutput, log: log)
        } stop: {
            $0.stop()
        }
        let journal = try await started.start {
            RunJournal(log: log) { runner.passed($0) }
        } stop: {
            $0.stop()
        }
        return (echo, journal)
    }

    /// Has the scheduler told of the dates that it waits for, and of steps of the clock.
    private static func watchClock(
        for scheduler: Scheduler,
        on epoll: EpollLoop,
        _ started: inout StartedParts
    ) async throws -> ClockWatch {
        let watch = try await started.start {
            // Weak: the scheduler has it told the dates.
            try ClockWatch(on: epoll) { [weak scheduler] signal in
                Task { await scheduler?.clockSignalled(signal) }
            }
        } stop: {
            $0.stop()
        }
        await scheduler.onLoadDateChange { watch.set($0) }
        return watch
    }

    /// Lets the agent of another node run commands; takes `descriptor` over, at whose other end it is.
    func admitAgent(_ descriptor: Int32, of name: String) async {
        guard let nodeRunners, await nodes?.join(name, scheduler) == true else {
            close(descriptor)
            return
        }
        nodeRunners.take(descriptor, of: name)
    }

    private static func lock(
        _ configuration: Configuration,
        _ started: inout StartedParts
    ) async throws -> DatabaseLock {
        try configuration.checkPlaces()
        return try await started.start {
            try DatabaseLock(database: configuration.database)
        } stop: {
            $0.release()
        }
    }

    /// Goes on where the daemon before this one stopped; `beginsNothing`: as of a daemon that stops at once.
    ///
    /// - Throws: why what the daemon before left could not be recovered; then nothing has been run.
    func recover(beginsNothing: Bool = false) async throws -> Recovered {
        try await store.mendRows(log: log)
        try await store.nameOwners(own, isShared: isShared)
        let notices = await scheduler.settings.notices.defaults
        try await resumption.write(to: store.writer, notices: notices, log: log)
        return try await scheduler.recover(beginsNothing: beginsNothing)
    }
}
