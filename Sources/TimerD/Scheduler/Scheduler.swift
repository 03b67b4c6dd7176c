// SPDX-License-Identifier: Apache-2.0

import Cluster
import DequeModule
import LinuxSystem
import Locks
import Logging
import Runner
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
    /// Jobs that are tied to clients' connections.
    var tiedJobs = TiedJobs()
    /// Jobs whose process is not watched, for want of a descriptor.
    var untied: [JobID: TiedJob] = [:]

    /// What the window covers, by job.
    var armed = ArmedJobs()
    var window: Window { didSet { terms.set(window) } }
    var turns: FireTurns
    /// The store's answers of one batch, until this thread takes them.
    nonisolated let handovers = Handovers()
    /// The jobs that have fired further than the store has answered.
    var goneAhead = GoneAhead()
    /// Outcomes of the store that are not taken over yet, in its order.
    var said: Deque<SaidByStore> = []
    /// When turns are taken next; nil if that is not scheduled.
    var plannedTurn: PlannedTurn?
    var retention: Retention
    var counters = SchedulerCounters()
    var unnumbered: Deque<UnnumberedEvents> = []
    /// Due jobs that wait for event numbers.
    var unnumberedJobs: Set<JobID> = []
    var fireLocks = FireLocks()
    /// Fires with a place whose command waits for the change of its job that is under way, by job.
    var lockedFires: [JobID: Set<FireID>] = [:]
    /// The limits of runs that the log has said to have no effect.
    var limitsWithoutEffect: Set<JobOption> = []
    var zones = ZonesInUse()
    /// How often the wall clock was set back: what follows one of these steps in pieces gives way to a later one.
    var clocksBack = 0
    var held = HeldJobs()
    /// The fires whose command is in progress or still to come; they decide the overlap of a new fire.
    var fires = CommandFires()
    /// Which of them have a place among the runs, and whose is next.
    var places: RunQueue
    /// What the runs in progress have written, until the store has it.
    nonisolated let outputs: LiveOutputs
    var served = ServedFires()
    /// The hosts on which commands begin, and which fire has which.
    var hosts: RunHosts
    /// Why no command begins now: the runner does not answer, or it or this process has no room; else nil.
    var runnerTrouble: String? { hosts.trouble }
    /// Until when this node may begin anything; nil for a daemon alone, which always may.
    nonisolated let fence: Fence?
    /// What this node is called; nil for a daemon alone.
    nonisolated let node: String?
    /// Whether what the daemon before left has been recovered: before that, nothing is claimed.
    var isRecovered = false { didSet { terms.setOpen(isOpen) } }
    var isStopping = false { didSet { terms.setOpen(isOpen) } }
    /// Whether fires may be claimed and commands may begin, as far as this daemon's own life goes.
    private var isOpen: Bool { isRecovered && !isStopping }
    var loadDate = AnnouncedDate()
    /// Resumed when the last run on this host has ended, as it stops or is drained.
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
    /// The strays that a stop ends, and those that it could not end.
    var endingStrays: [RunID: Task<Void, Never>] = [:]
    var leftStrays: [RunID] = []
    /// Whether no more of much output is to be stored, as a stop is at its end.
    var hasLeftRuns = false
    /// The notices that are being handed over, and when to look for more.
    var noticeTurns = NoticeTurns()
    /// How many tries of each are on the way: a daemon before may have begun one, too.
    var noticesTried: [NoticeID: Int] = [:]
    var noticeLook = PlannedLook()
    /// When to look whether this process has again what it lacked.
    var shortageLook = PlannedLook()
    nonisolated let taskStanding: TaskStanding
    var taskWaits: TaskWaits
    var readings = WaitingReads()

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
        isClockKept: Bool = false,
        log: Logger,
        findZone: @escaping ZoneRules.Finder = ZoneRules.inDatabase
    ) {
        self.loop = loop
        self.clock = clock
        self.store = store
        dryRuns = DryRuns(path: store.path)
        self.runner = runner
        self.fence = fence
        self.node = node
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
        let now = clock.now().elapsed
        window = Window(now: now)
        terms = WriteTerms(window, settings, clock: clock, findZone: findZone)
        turns = FireTurns(settings.turns)
        sequencer = EventSequencer(
            from: eventSequenceEnd,
            publisher: events,
            store: store,
            pending: pending
        )
        retention = Retention(
            settings.retention,
            now: now,
            nextEvent: sequencer.next,
            isClockKept: isClockKept
        )
        store.onCompletions { [weak self] in self?.handOver() }
    }

    /// Does `work` on the scheduler's thread, soon; never once that has ended.
    nonisolated func perform(_ work: @escaping @Sendable (isolated Scheduler) -> Void) {
        loop.perform { self.assumeIsolated { work($0) } }
    }

    /// Has the scheduler's thread take over what the store has said in a batch; on the store's thread.
    private nonisolated func handOver() {
        guard let batch = handovers.take() else { return }
        perform { $0.receive(batch) }
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
    nonisolated var mayBegin: Bool { fence?.isOpen ?? true }

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
            .job(job.id),
            at: clock.now().wallDate(date, on: job.clock),
            tolerance: job.tolerance,
            for: self
        )
        armed.setTimer(timer, of: job.id)
    }
}
