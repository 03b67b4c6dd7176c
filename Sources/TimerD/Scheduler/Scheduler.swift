// SPDX-License-Identifier: Apache-2.0

import Cluster
import DequeModule
import Locks
import Logging
import Schedules
import TimerControl

/// Owns the jobs that are due soon: arms them as timers, fires them, and changes them.
///
/// An actor whose executor is the thread that installs the timers, so code that invalidates a timer elsewhere
/// does not compile. The store is asked in the order in which things happen here, and answers in that order;
/// what is due soon is in `armed`, all else in the store alone.
///
/// To change jobs, their timers are taken out first and put back as the store answers: so no fire
/// of a job begins between a change and its reply.
actor Scheduler {
    nonisolated let loop: any TimerLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let clock: any WallClock
    let store: WriteQueue
    let dryRuns: DryRuns
    nonisolated let pending = PendingWrites()
    let runner: any CommandRunner
    let accounts: Accounts
    /// The threads on which runs are prepared and waited for; nil for the global executor.
    let pool: (any TaskExecutor)?
    nonisolated let sequencer: EventSequencer
    nonisolated let terms: WriteTerms
    private(set) var settings: SchedulerSettings
    let log: Logger
    /// The processes that jobs' lives are tied to.
    nonisolated let targets: TargetWatch
    /// Jobs whose process is not watched, for want of a descriptor.
    var untied: [JobID: TiedJob] = [:]

    /// What the window covers, by job.
    var armed = ArmedJobs()
    var window: Window { didSet { terms.set(window) } }
    var turns: FireTurns
    /// What the store has said in the batch that it tells of.
    nonisolated let handovers = Handovers()
    /// The jobs that have fired further than the store has answered.
    var goneAhead = GoneAhead()
    /// Outcomes of the store that are not taken over yet, in its order.
    var said: Deque<SaidByStore> = []
    /// Set while turns are to be taken later.
    var turnTimer: (any ArmedTimer)?
    /// When turns are taken next, in elapsed time; nil if that is not scheduled.
    var turnDate: Timestamp?
    var retention: Retention
    var counters = SchedulerCounters()
    var unnumbered: Deque<UnnumberedEvents> = []
    /// Due jobs that wait for event numbers.
    var unnumberedJobs: Set<JobID> = []
    var fireLocks = FireLocks()
    /// The limits of runs that the log has said to have no effect.
    var limitsWithoutEffect: Set<JobOption> = []
    var zones = ZonesInUse()
    var held = HeldJobs()
    /// The fires whose command is in progress or still to come; they decide the overlap of a new fire.
    var fires = CommandFires()
    /// Which of them have a place among the runs, and whose is next.
    var places: RunQueue
    /// What the runs in progress have written, until the store has it.
    nonisolated let outputs: LiveOutputs
    /// Fires that have got what they waited for, and whether they are being begun.
    var served: Deque<FireID> = []
    var isServing = false
    /// The hosts on which commands begin, and which fire has which.
    var hosts: RunHosts
    /// Why no command begins now: whatever minds the runs does not answer, or has no room; else nil.
    var runnerTrouble: String? { hosts.trouble }
    /// Until when this node may begin anything; nil for a daemon alone, which always may.
    nonisolated let fence: Fence?
    /// Whether runs are being ended because the daemon stops.
    var isEndingRuns = false
    /// Whether what the daemon before left has been settled: before that, nothing is claimed.
    var isRecovered = false { didSet { terms.setOpen(isRecovered && !isStopping) } }
    var isStopping = false { didSet { terms.setOpen(isRecovered && !isStopping) } }
    var loadDateChanged: @Sendable (Timestamp?) -> Void = { _ in }
    var announcedLoadDate: Timestamp?
    /// Resumed when the last run on this host has ended, as it stops or is drained.
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
    /// The notices that are being handed over, and when to look for more.
    var noticeTurns = NoticeTurns()
    var noticeWait = NoticeWait()
    nonisolated let taskStanding: TaskStanding
    var taskWaits: TaskWaits
    /// Reads that wait for what has happened to be stored.
    var readings: [Int: Reading] = [:]
    var lastReading = 0

    init(
        loop: any TimerLoop,
        clock: any WallClock,
        store: WriteQueue,
        runner: any CommandRunner,
        accounts: Accounts = Accounts(),
        targets: TargetWatch,
        pool: (any TaskExecutor)? = nil,
        events: any EventPublisher,
        eventSequenceEnd: Int64,
        node: String? = nil,
        labels: Set<String> = [],
        fence: Fence? = nil,
        settings: SchedulerSettings,
        echo: OutputEcho? = nil,
        journal: RunJournal? = nil,
        log: Logger,
        findZone: @escaping ZoneRules.Finder = ZoneRules.inDatabase
    ) {
        self.loop = loop
        self.clock = clock
        self.store = store
        dryRuns = DryRuns(path: store.path)
        self.runner = runner
        self.fence = fence
        self.accounts = accounts
        outputs = LiveOutputs(echo: echo, journal: journal)
        self.targets = targets
        self.pool = pool
        self.settings = settings
        self.log = log
        places = RunQueue(settings.places)
        hosts = RunHosts(own: node, labels: labels, limit: settings.maxRuns)
        taskStanding = TaskStanding()
        taskWaits = TaskWaits(taskStanding)
        let (now, window) = (clock.now().elapsed, Window(now: clock.now().elapsed))
        self.window = window
        terms = WriteTerms(window, settings, clock: clock, findZone: findZone)
        turns = FireTurns(settings.turns)
        sequencer = EventSequencer(
            from: eventSequenceEnd,
            publisher: events,
            store: store,
            pending: pending
        )
        retention = Retention(settings.retention, now: now, nextEvent: sequencer.next)
        store.onTold { [weak self] in self?.handOver() }
    }

    /// Has the scheduler's thread take over what the store has said in a batch; on the store's thread.
    private nonisolated func handOver() {
        guard let batch = handovers.take() else { return }
        loop.perform { self.assumeIsolated { $0.takeOver(batch) } }
    }

    /// Goes by other settings from now on.
    func reload(_ settings: SchedulerSettings) {
        self.settings = settings
        terms.set(settings)
        retention.limits = settings.retention
        turns.limits = settings.turns
        hosts.limit = settings.maxRuns
        setPlaces()
        lookAtZones()
        lookAtHeld(all: true)
    }

    /// Has as many places for runs as the hosts have together.
    func setPlaces() {
        for next in places.setLimits(settings.places(hosts.room, on: hosts.count)) { goOn(next) }
        for next in hosts.takeWaiting() { goOn(next) }
    }

    /// Whether a fire may begin here and now: not once another node may have taken over.
    var mayBegin: Bool { fence?.isOpen ?? true }

    // MARK: - The store

    /// Writes `body` and returns once it is durable and its outcome has been armed.
    ///
    /// The write takes its place in the store's queue before this suspends. `durable` is called here in the
    /// order of the store, after the outcome has been armed; a caller that awaits this may resume after later
    /// answers of the store, as continuations go by way of the pool. `isLong`: earlier writes are committed
    /// before it. `user`: who asked for it; nil if reads of all users are to wait for it. `unstarted`: see
    /// `JobTransaction`.
    func write<T: Sendable>(
        isLong: Bool = false,
        of user: UInt32? = nil,
        unstarted: Set<FireID> = [],
        _ body: @escaping @Sendable (inout JobTransaction) throws -> T,
        durable: @escaping @Sendable (isolated Scheduler, T) -> Void = { _, _ in }
    ) async throws -> T {
        let beginWrite = beginsWrite(unstarted: unstarted)
        let (store, handovers, pending, terms) = (store, handovers, pending, terms)
        let write = user.map { PendingWrites.Write.command(of: $0) } ?? .common
        pending.begin(write)
        return try await withCheckedThrowingContinuation { continuation in
            store.submit(isLong: isLong) { database in
                var writer = try beginWrite(database)
                let value = try body(&writer)
                return (value, try writer.finish())
            } completion: { result in
                pending.end(write)
                if case .success = result { terms.beginHandover() }
                handovers.add { scheduler in
                    switch result {
                    case .success((let value, let outcome)):
                        let finish: @Sendable (isolated Scheduler) -> Void = { scheduler in
                            durable(scheduler, value)
                            continuation.resume(returning: value)
                        }
                        scheduler.take(outcome, finish: finish)
                    case .failure(let error): continuation.resume(throwing: error)
                    }
                }
            }
        }
    }

    /// Tells the store what has happened: it is written as soon as the store can, in order.
    ///
    /// `durable` is called here once it is stored, after its outcome has been armed. Without `durable` this thread
    /// does not hear of an outcome that leaves it nothing to do (`StoreOutcome.isNothing`). If it can never be
    /// stored, `job`, which it is about, is held, and `dropped` is called instead. `share`: the user in whose
    /// share of fires it counts. `delay`: how long it may wait for others to share a commit with.
    func record<T: Sendable>(
        of job: StoredJob? = nil,
        within delay: Duration = .zero,
        share: UInt32? = nil,
        unstarted: Set<FireID> = [],
        _ body: @escaping @Sendable (inout JobTransaction) throws -> T,
        durable: (@Sendable (isolated Scheduler, T) -> Void)? = nil,
        dropped: @escaping @Sendable (isolated Scheduler, any Error) -> Void = { _, _ in }
    ) {
        let beginWrite = beginsWrite(unstarted: unstarted)
        let share = share.flatMap { turns.isLimited($0) ? $0 : nil }
        let written = Locked<Result<(value: T, outcome: StoreOutcome), any Error>?>(nil)
        let (pending, handovers, terms) = (pending, handovers, terms)
        let write = job.map { PendingWrites.Write.record(about: $0.owner.uid) } ?? .common
        pending.begin(write)
        let isGivenUp: @Sendable (any Error) -> Bool = { error in
            if error.isStorageTrouble { return false }
            written.withLock { $0 = .failure(error) }
            return true
        }
        store.record(within: delay, isGivenUp: isGivenUp) { database in
            var writer = try beginWrite(database)
            let value = try body(&writer)
            let outcome = try writer.finish()
            written.withLock { $0 = .success((value, outcome)) }
        } durable: {
            pending.end(write)
            if let share { handovers.noteStored(share: share) }
            let result = written.withLock { $0 }
            if case .success(let (_, outcome)) = result {
                if durable == nil, outcome.isNothing { return }
                terms.beginHandover()
            }
            handovers.add { scheduler in
                switch result {
                case .success(let (value, outcome)):
                    scheduler.take(outcome, finish: { durable?($0, value) })
                case .failure(let error):
                    scheduler.recordDropped(of: job?.id, error)
                    dropped(scheduler, error)
                case nil: break
                }
            }
        }
    }

    /// Takes over what the store has said in one batch.
    private func takeOver(_ batch: Handovers.Batch) {
        for (owner, count) in batch.stored { firesStored(count, of: owner) }
        for answer in batch.answers { answer(self) }
    }

    /// How a write begins that is queued now; moves the horizon on where that needs no load.
    func beginsWrite(unstarted: Set<FireID> = []) -> @Sendable (Database) throws -> JobTransaction {
        window.extend(now: clock.now().elapsed)
        return terms.beginsWrite(unstarted: unstarted)
    }

    // MARK: - Timers

    /// Removes a job from `armed`, and gives back the place of its prepared run.
    @discardableResult
    func disarm(_ id: JobID) -> ArmedJob? {
        armed.stopTimer(of: id)
        let entry = armed.remove(id)
        if let fire = entry?.unstartedFire { leavePlace(fire) }
        return entry
    }

    /// Installs the timer of an armed job that has none.
    ///
    /// Not while a change of the job is under way: that arms the job at its end.
    func arm(_ id: JobID) {
        guard let entry = armed[id], entry.timer == nil, let date = entry.wakeDate,
            !fireLocks.covers(entry.job)
        else { return }
        if turns.isBehind(entry.job.owner.uid), date <= clock.now().reading(of: entry.job.clock) {
            return awaitTurn(entry)
        }
        arm(entry.job, at: date)
    }

    /// Installs the timer of an armed job, for a date on the job's clock.
    func arm(_ job: StoredJob, at date: Timestamp) {
        let timer = loop.arm(
            job.id,
            at: clock.now().wallDate(date, on: job.clock),
            tolerance: job.tolerance,
            for: self
        )
        armed.setTimer(timer, of: job.id)
    }
}

extension Error {
    /// Whether the database could not write for now: the disk is full, fails or is locked.
    ///
    /// Any other error is a fault of the write itself: it would fail again.
    fileprivate var isStorageTrouble: Bool {
        guard let error = self as? DatabaseError else { return false }
        return error.isFull || error.isIOError || error.isBusy || error.isReadOnly
            || error.isCorrupt || error.isOutOfMemory
    }
}
