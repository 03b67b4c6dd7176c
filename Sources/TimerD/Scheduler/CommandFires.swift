// SPDX-License-Identifier: Apache-2.0

import JobModel
import Runner
import Schedules
import TimerControl

extension CommandFire {
    /// Where a fire stands: exactly one of these is true of it.
    enum State: Sendable {
        /// Its command is not to begin yet.
        case waiting(Wait)
        /// It has a place among the runs, and the row that says `running` is on its way to disk.
        case beginning
        /// That row is on disk. If a change of its job is under way, the command begins after it, unless the
        /// change ends the job.
        ///
        /// Indirect, as the next: those that wait are many, and are not to take the room of a run.
        indirect case ready(RunningCommand)
        indirect case running(RunningCommand)
    }
}

/// A run whose row is stored, with all that its command needs.
struct RunningCommand: Sendable {
    var run: RunID
    /// Where it is.
    var place: RunPlace
    var fire: CommandFire
    var command: [String]
    /// What it finds on its standard input; nil for the job's userInfo.
    var input: [UInt8]?
    /// What it has written up to now.
    let output = RunOutput()
    /// Whether it has begun.
    let start = RunStart()
    /// Nil until it has begun.
    var task: Task<Void, Never>?
    /// Whether a daemon before this one has begun it.
    var isTakenUp = false
    /// Whether it was told to end: it is not tried again.
    var isStopped = false

    var job: StoredJob { fire.job }
}

/// The fires whose command is in progress or still to come, by job and by run; pure.
///
/// It alone says whether a job is busy, so a fire by the schedule and a fire by hand get the same answer.
struct CommandFires: Sendable {
    struct Entry: Sendable {
        var fire: CommandFire
        var state: CommandFire.State
        /// The timer of a fire that waits for a time.
        var timer: (any ArmedTimer)?
    }

    /// The fires of one job, counted so that no question about it looks at each.
    private struct OfJob {
        var ids: Set<FireID> = []
        /// Those that wait for a run's end.
        var queued: Set<FireID> = []
        var waiting = 0
        /// Those that keep the job busy, and of these the ones whose command runs or is on the way to.
        var inProgress = 0
        var begun = 0
        var running = 0

        mutating func count(_ entry: Entry, by change: Int) {
            waiting += entry.isWaiting ? change : 0
            inProgress += entry.isInProgress ? change : 0
            begun += entry.isBegunOwn ? change : 0
            running += entry.isRunning ? change : 0
            guard entry.waitsForRun else { return }
            if change > 0 {
                queued.insert(entry.fire.id)
            } else {
                queued.remove(entry.fire.id)
            }
        }
    }

    private var entries: [FireID: Entry] = [:]
    private var byJob: [JobID: OfJob] = [:]
    /// How many of each user wait.
    private var waitingOfUsers: [UInt32: Int] = [:]
    private var byRun: [RunID: FireID] = [:]
    private var words = BusyIndex()
    /// How many have a process, or are about to.
    private(set) var running = 0
    /// The runs that were asked for and of which no process is known yet.
    private var starting: Set<RunID> = []

    subscript(fire: FireID) -> Entry? { entries[fire] }

    /// The run in progress of that number.
    subscript(run: RunID) -> RunningCommand? {
        guard let entry = byRun[run].flatMap({ entries[$0] }),
            case .running(let command) = entry.state
        else { return nil }
        return command
    }

    var all: some Collection<Entry> { entries.values }
    /// How many have a process, as far as is known.
    var withProcess: Int { running - starting.count }
    /// How many have not begun to run.
    var waiting: Int { entries.count - running }

    /// The fires of a job, oldest first.
    func of(_ job: JobID) -> [Entry] {
        guard let ids = byJob[job]?.ids else { return [] }
        return ids.sorted().compactMap { entries[$0] }
    }

    /// The jobs that a name or a tag means, as they were named when their fires began.
    func jobs(_ word: OwnedWord) -> Set<JobID> { words[word] }

    /// The fires of the jobs that `selection` of `caller` names.
    ///
    /// - Complexity: that of the answer; for a whole user, that of all fires.
    func ids(of selection: JobSelection, caller: Caller) -> [FireID] {
        let jobs: any Collection<JobID>
        switch selection {
        case .ids(let ids): jobs = ids
        case .name, .tag: jobs = selection.word(of: caller).map { self.jobs($0) } ?? []
        case .owner(let words):
            return entries.values.filter {
                $0.fire.job.owner.isMeant(by: words) && caller.owns($0.fire.job)
            }.map(\.fire.id).sorted()
        }
        return jobs.flatMap(of).filter { caller.owns($0.fire.job) }.map(\.fire.id).sorted()
    }

    // MARK: - What it says of a job

    /// Whether a command of the job is in progress: running, about to, or between two attempts.
    func isBusy(_ job: JobID) -> Bool { byJob[job].map { $0.inProgress > 0 } ?? false }

    /// The fire that waits for a run's end, if one does.
    func queued(of job: JobID) -> FireID? { byJob[job]?.queued.min() }

    /// Whether a process of the job runs, or may.
    func isRunning(_ job: JobID) -> Bool { byJob[job].map { $0.running > 0 } ?? false }

    /// Whether one more fire of a job may wait: one of each job may, beyond that `most` of its user.
    func hasRoom(for job: StoredJob, most: Int) -> Bool {
        waitingOfUsers[job.owner.uid, default: 0] < most || (byJob[job.id]?.waiting ?? 0) == 0
    }

    /// Whether the fire's command may begin beside the other commands of its job.
    ///
    /// A crash may leave two fires of a job to be tried again: one that ran, and one that was prepared for a
    /// date which the running one would have skipped.
    func mayBegin(_ fire: CommandFire) -> Bool {
        if fire.handler != nil || fire.job.policy.run.overlap == .allow { return true }
        let isItself = entries[fire.id]?.isBegunOwn == true
        return (byJob[fire.job.id]?.begun ?? 0) == (isItself ? 1 : 0)
    }

    /// The users of whom `most` fires wait, or more.
    func users(withWaiting most: Int) -> Set<UInt32> {
        Set(waitingOfUsers.lazy.filter { $0.value >= most }.map(\.key))
    }

    // MARK: - Changes

    mutating func insert(_ fire: CommandFire, _ state: CommandFire.State) {
        remove(fire.id)
        var fire = fire
        // Many of one job may wait, each with a copy of its own from the database.
        if let other = byJob[fire.job.id]?.ids.first.flatMap({ entries[$0]?.fire.job }),
            other.definitionRevision == fire.job.definitionRevision
        {
            fire.job.definition = other.definition
        }
        let entry = Entry(fire: fire, state: state)
        entries[fire.id] = entry
        byJob[fire.job.id, default: OfJob()].ids.insert(fire.id)
        words.note(fire.job)
        count(entry, by: 1)
    }

    mutating func setState(_ state: CommandFire.State, of fire: FireID) {
        guard var entry = entries[fire] else { return }
        entry.timer?.invalidate()
        count(entry, by: -1)
        (entry.state, entry.timer) = (state, nil)
        entries[fire] = entry
        count(entry, by: 1)
    }

    /// Sets the timer of one that waits for a time.
    mutating func setTimer(_ timer: any ArmedTimer, of fire: FireID) {
        entries[fire]?.timer?.invalidate()
        entries[fire]?.timer = timer
    }

    /// Notes that a run has its process.
    mutating func noteStarted(_ run: RunID) { starting.remove(run) }

    /// Notes whether a run in progress was told to end.
    ///
    /// - Returns: whether that changed anything; nil if the run is not in progress.
    @discardableResult
    mutating func setStopped(_ isStopped: Bool, _ run: RunID) -> Bool? {
        guard let fire = byRun[run], case .running(var command) = entries[fire]?.state else {
            return nil
        }
        let isFirst = command.isStopped != isStopped
        command.isStopped = isStopped
        entries[fire]?.state = .running(command)
        return isFirst
    }

    @discardableResult
    mutating func remove(_ fire: FireID) -> Entry? {
        guard let entry = entries.removeValue(forKey: fire) else { return nil }
        entry.timer?.invalidate()
        count(entry, by: -1)
        let job = entry.fire.job.id
        byJob[job]?.ids.remove(fire)
        if byJob[job]?.ids.isEmpty == true {
            byJob[job] = nil
            words.forget(job)
        }
        return entry
    }

    private mutating func count(_ entry: Entry, by change: Int) {
        byJob[entry.fire.job.id]?.count(entry, by: change)
        if entry.isWaiting {
            let user = entry.fire.job.owner.uid
            let left = waitingOfUsers[user, default: 0] + change
            waitingOfUsers[user] = left > 0 ? left : nil
        }
        switch entry.state {
        case .waiting, .beginning, .ready: return
        case .running(let command):
            running += change
            byRun[command.run] = change > 0 ? command.fire.id : nil
            starting.remove(command.run)
            if change > 0, !command.isTakenUp { starting.insert(command.run) }
        }
    }
}

extension CommandFires.Entry {
    /// Whether it keeps its job busy.
    fileprivate var isInProgress: Bool { fire.handler == nil && !waitsForRun }

    fileprivate var isWaiting: Bool { if case .waiting = state { true } else { false } }

    /// Whether it is of the job's own command, and that runs or is on the way to.
    fileprivate var isBegunOwn: Bool { fire.handler == nil && isBegun }

    fileprivate var waitsForRun: Bool {
        if case .waiting(.run) = state { true } else { false }
    }

    var isRunning: Bool {
        switch state {
        case .running: true
        case .waiting, .beginning, .ready: false
        }
    }

    /// Whether its command runs, or is on the way to.
    fileprivate var isBegun: Bool {
        switch state {
        case .waiting: false
        case .beginning, .ready, .running: true
        }
    }

    /// Its run in progress.
    var command: RunningCommand? {
        if case .running(let command) = state { command } else { nil }
    }

    /// Whether its row says `running`, or soon will, and its command was not started.
    var isUnstarted: Bool {
        switch state {
        case .beginning, .ready: true
        case .waiting, .running: false
        }
    }
}
