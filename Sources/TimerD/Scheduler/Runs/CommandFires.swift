// SPDX-License-Identifier: Apache-2.0

import JobModel
import Platform
import Runner
import Schedules
import TimerControl

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

    /// The fires of one job, kept so that no question about it looks at each that waits.
    private struct OfJob {
        /// The job as its latest fire has it, or as it was changed since, for all that wait.
        private(set) var job: StoredJob
        /// How often its definition has been changed, as far as is known here.
        private(set) var revision: Int64
        var ids: Set<FireID> = []
        /// The fires that wait for a run's end.
        var queued: Set<FireID> = []
        /// The fires whose command runs or is on the way to: no more than there are places.
        var begun: Set<FireID> = []
        /// How many fires keep the job busy.
        var inProgress = 0

        var waiting: Int { ids.count - begun.count }

        init(job: StoredJob) { (self.job, revision) = (job, job.definitionRevision) }

        /// Takes over the job, unless a later change of it is known.
        mutating func take(_ job: StoredJob) {
            revision = max(revision, job.definitionRevision)
            let isRead = job.unread == nil || self.job.unread != nil
            if isRead, job.definitionRevision >= self.job.definitionRevision { self.job = job }
        }

        mutating func add(_ entry: Entry) {
            let id = entry.fire.id
            take(entry.fire.job)
            ids.insert(id)
            if entry.isBegun { begun.insert(id) }
            if entry.waitsForRun { queued.insert(id) }
            if entry.isInProgress { inProgress += 1 }
        }

        mutating func remove(_ entry: Entry) {
            let id = entry.fire.id
            ids.remove(id)
            begun.remove(id)
            queued.remove(id)
            if entry.isInProgress { inProgress -= 1 }
        }
    }

    /// All fires; those that wait without what their job's user stated, which may be large and is in `byJob` once.
    private var entries: [FireID: Entry] = [:]
    private var byJob: [JobID: OfJob] = [:]
    private var byOwner: [OwnerID: Set<JobID>] = [:]
    /// How many of each user wait.
    private var waitingOfUsers: [UInt32: Int] = [:]
    private(set) var byRun: [RunID: FireID] = [:]
    private var words = BusyIndex()
    /// How many have a process, or are about to.
    private(set) var running = 0
    /// The runs that were asked for and of which no process is known yet.
    private var starting: Set<RunID> = []
    /// What runs in progress have reserved for their output, of each user who has any and of all.
    private var reservedOfUsers: [UInt32: Int] = [:]
    private(set) var outputReserved = 0

    subscript(fire: FireID) -> Entry? { entries[fire].map(whole) }

    /// The run in progress of that number.
    subscript(run: RunID) -> RunningCommand? {
        guard let entry = byRun[run].flatMap({ entries[$0] }),
            case .running(let command) = entry.state
        else { return nil }
        return command
    }

    var all: some Collection<Entry> { entries.values.lazy.map(whole) }
    /// How many have a process, as far as is known.
    var withProcess: Int { running - starting.count }
    /// How many have not begun to run.
    var waiting: Int { entries.count - running }

    /// The fires of a job, oldest first.
    func of(_ job: JobID) -> [Entry] {
        guard let ids = byJob[job]?.ids else { return [] }
        return ids.sorted().compactMap { self[$0] }
    }

    /// The jobs that a name or a tag means, as they were named when their fires began, or since.
    func jobs(_ word: OwnedWord) -> Set<JobID> { words[word] }

    /// The jobs that `selection` of `caller` names, of those with a fire here.
    ///
    /// - Complexity: that of the answer; for a whole user also O(users with a fire here).
    func jobs(of selection: JobSelection, caller: Caller) -> Set<JobID> {
        let jobs: Set<JobID> =
            switch selection {
            case .ids(let ids): Set(ids).filter { byJob[$0] != nil }
            case .name, .tag: selection.word(of: caller).map { self.jobs($0) } ?? []
            case .owner(let words):
                byOwner.values.filter { own in
                    // All jobs of one set have the same owner, so the first answers for all.
                    own.first.flatMap { byJob[$0]?.job.owner.isMeant(by: words) } ?? false
                }.reduce(into: []) { $0.formUnion($1) }
            }
        return jobs.filter { byJob[$0].map { caller.owns($0.job) } ?? false }
    }

    /// The fires of a job whose command runs or is on the way to, oldest first; those that wait are not looked at.
    func begun(of job: JobID) -> [Entry] {
        (byJob[job]?.begun ?? []).sorted().compactMap { entries[$0] }
    }

    /// The fires of a job that wait, oldest first.
    func waitingFires(of job: JobID) -> [FireID] {
        byJob[job].map { $0.ids.subtracting($0.begun).sorted() } ?? []
    }

    // MARK: - What it says of a job

    /// Whether a command of the job is in progress: running, about to, or between two attempts.
    func isBusy(_ job: JobID) -> Bool { byJob[job].map { $0.inProgress > 0 } ?? false }

    /// Whether a job has been changed since it was as `job` says.
    func isChanged(_ job: StoredJob) -> Bool {
        byJob[job.id].map { $0.revision > job.definitionRevision } ?? false
    }

    /// The fire that waits for a run's end, if one does.
    func queued(of job: JobID) -> FireID? { byJob[job]?.queued.min() }

    /// Whether a process of the job runs, or may.
    func isRunning(_ job: JobID) -> Bool { begun(of: job).contains(where: \.isRunning) }

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
        return !begun(of: fire.job.id).contains { other in
            other.fire.id != fire.id && other.fire.handler == nil
        }
    }

    /// What the runs in progress of a user have reserved for their output.
    func outputReserved(of user: UInt32) -> Int { reservedOfUsers[user, default: 0] }

    /// The users of whom `most` fires wait, or more.
    func users(withWaiting most: Int) -> Set<UInt32> {
        Set(waitingOfUsers.lazy.filter { $0.value >= most }.map(\.key))
    }

    // MARK: - Changes

    /// Notes how a job was changed, if a fire of it is here: it is also found by the name and the tags that it was given, and
    /// what waits begins by what it is now.
    ///
    /// - Returns: whether what waits is to begin on another host.
    mutating func noteChange(of job: StoredJob) -> Bool {
        guard let known = byJob[job.id] else { return false }
        words.note(job)
        guard job.definitionRevision > known.revision else { return false }
        byJob[job.id]?.take(job)
        return byJob[job.id]?.job.policy.run.on != known.job.policy.run.on
    }

    mutating func insert(_ fire: CommandFire, _ state: CommandFire.State) {
        // Not removed: how its job was changed since is known by its last fire here.
        _ = take(fire.id)
        words.note(fire.job)
        put(Entry(fire: fire, state: state))
    }

    mutating func setState(_ state: CommandFire.State, of fire: FireID) {
        guard var entry = take(fire) else { return }
        (entry.state, entry.timer) = (state, nil)
        put(entry)
    }

    /// Sets the timer of one that waits for a time.
    mutating func setTimer(_ timer: any ArmedTimer, of fire: FireID) {
        entries[fire]?.timer?.invalidate()
        entries[fire]?.timer = timer
    }

    /// Notes that a run has its process.
    mutating func noteStarted(_ run: RunID) { starting.remove(run) }

    /// Notes that a run in progress has no process any more.
    mutating func noteEnded(_ run: RunID) { change(run) { $0.hasEnded = true } }

    /// Notes that a run in progress was told to end.
    mutating func noteStop(_ stop: RunStop, of run: RunID) {
        change(run) { command in
            if let index = command.stops.firstIndex(where: { $0.by == stop }) {
                command.stops[index].count += 1
            } else {
                command.stops.append((stop, 1))
            }
        }
    }

    /// Notes that one who has told a run to end was refused.
    mutating func noteRefused(_ stop: RunStop, of run: RunID) {
        change(run) { command in
            guard let index = command.stops.firstIndex(where: { $0.by == stop }) else { return }
            command.stops[index].count -= 1
            if command.stops[index].count == 0 { command.stops.remove(at: index) }
        }
    }

    /// Changes what is not counted of a run in progress.
    private mutating func change(_ run: RunID, _ change: (inout RunningCommand) -> Void) {
        guard let fire = byRun[run], case .running(var command) = entries[fire]?.state else {
            return
        }
        change(&command)
        entries[fire]?.state = .running(command)
    }

    @discardableResult
    mutating func remove(_ fire: FireID) -> Entry? {
        guard let entry = take(fire) else { return nil }
        let job = entry.fire.job.id
        if byJob[job]?.ids.isEmpty == true {
            byJob[job] = nil
            words.forget(job)
            let owner = entry.fire.job.ownerID
            byOwner[owner]?.remove(job)
            if byOwner[owner]?.isEmpty == true { byOwner[owner] = nil }
        }
        return entry
    }

    private mutating func put(_ entry: Entry) {
        let job = entry.fire.job
        byJob[job.id, default: OfJob(job: job)].add(entry)
        byOwner[job.ownerID, default: []].insert(job.id)
        var kept = entry
        if !entry.isBegun { kept.fire.job.leaveOutWhatIsStated() }
        entries[entry.fire.id] = kept
        count(entry, by: 1)
    }

    /// An entry as it is kept, with its job.
    private func whole(_ kept: Entry) -> Entry {
        guard !kept.isBegun, let job = byJob[kept.fire.job.id]?.job else { return kept }
        var entry = kept
        entry.fire.job = job
        return entry
    }

    /// Takes a fire out, and ends its timer.
    private mutating func take(_ fire: FireID) -> Entry? {
        guard let entry = entries.removeValue(forKey: fire).map(whole) else { return nil }
        entry.timer?.invalidate()
        byJob[entry.fire.job.id]?.remove(entry)
        count(entry, by: -1)
        return entry
    }

    private mutating func count(_ entry: Entry, by change: Int) {
        if !entry.isBegun {
            let user = entry.fire.job.owner.uid
            waitingOfUsers.count(change, of: user)
        }
        switch entry.state {
        case .waiting, .beginning, .ready: return
        case .running(let command):
            running += change
            let user = command.job.owner.uid
            outputReserved += change * command.outputReserved
            reservedOfUsers.count(change * command.outputReserved, of: user)
            byRun[command.run] = change > 0 ? command.fire.id : nil
            starting.remove(command.run)
            if change > 0, !command.isTakenUp { starting.insert(command.run) }
        }
    }
}

extension StoredJob {
    private static let nothingStated = JobDefinition(schedule: ScheduleWords())

    fileprivate mutating func leaveOutWhatIsStated() {
        (definition, policy, unread) = (Self.nothingStated, JobPolicy(), nil)
        // Its words and its dates may be many.
        schedule = .reboot
    }
}

extension CommandFires.Entry {
    /// Whether it keeps its job busy.
    fileprivate var isInProgress: Bool { fire.handler == nil && !waitsForRun }

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
