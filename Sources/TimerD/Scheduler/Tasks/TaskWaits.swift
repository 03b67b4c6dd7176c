// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Platform
import Schedules
import TimerControl

/// Workers that wait for tasks, and what the tasks of connected workers are tied to.
struct TaskWaits {
    /// A `task.reserve` that is not answered yet.
    struct Waiter {
        var order: ReserveOrder
        /// What its wait ends with; nil for nothing.
        var life: ConnectionLife?
        /// Whether its tasks are tied to that as well.
        var isTied = false
        /// The place of its request, until it waits for a task.
        var place: WorkPlace?
        let answer = Promised<[QueuedTask]>()
        /// When it has waited long enough, in elapsed time; nil for one that does not wait.
        var end: Timestamp?
        var timer: (any ArmedTimer)?
        /// Whether the store is being asked for it.
        var isAsking = false
        /// How many reasons there had been to look at queues when the store was asked.
        var askedAfter = 0
        /// Whether its time is over, or it never waits: it is answered with whatever the store says.
        var isLast = false
        /// Whether its client is gone.
        var isGone = false
        /// The queues that it waits for; empty until the store has been asked once.
        var keys: [QueueKey] = []
    }

    /// What is known of this beside the scheduler.
    let standing: TaskStanding

    init(_ standing: TaskStanding = TaskStanding()) { self.standing = standing }

    private(set) var waiters: [Int: Waiter] = [:] {
        didSet { standing.set(waiters: waiters.count) }
    }
    private var queues: [QueueKey: WaitingLine] = [:]
    private var last = 0

    /// When to look at tasks whose time comes.
    var look = PlannedLook() { didSet { standing.set(planned: look.date) } }
    /// When workers could not extend their leases, as far as the looks so far have shown.
    var gaps = LeaseGaps()
    /// Whether a worker's word could not be stored since the last look began.
    var isWordRefused = false
    /// Queues whose rate is used up, with when the next task may be handed out, in elapsed time.
    var blocked: [QueueKey: Timestamp] = [:]
    /// How many reasons there were to look at queues, and for each queue the last one that came while the store was being
    /// asked for somebody, who may have been answered by what was before it.
    private var reasons = 0
    private var lastReasons: [QueueKey: Int] = [:]
    private var askers = 0
    /// How many of those who wait for a queue the store is being asked for.
    private var asked: [QueueKey: Int] = [:]
    /// Queues for whose waiters the store is being asked.
    var asking: [QueueKey: Asking] = [:]
    /// Queues that may have something, but for whose first waiter the store is being asked, perhaps for another queue's sake.
    ///
    /// He may be put off, or get nothing: who came after him has to wait for that.
    private var held: Set<QueueKey> = []

    /// `again`: there is a reason to ask once more behind that.
    enum Asking { case once, again }

    /// What goes back with a connection, and who waits on it.
    private struct Tied {
        var tasks: [RunID: FireID] = [:]
        var waiters: Set<Int> = []
    }

    private var tied: [ConnectionLife: Tied] = [:]
    private var lives: [RunID: ConnectionLife] = [:] {
        didSet { standing.set(tied: lives.count) }
    }

    // MARK: - Waiting

    mutating func newNumber() -> Int {
        last += 1
        return last
    }

    subscript(_ number: Int) -> Waiter? {
        get { waiters[number] }
        set { waiters[number] = newValue }
    }

    /// Has a waiter wait for these queues from now on, behind those who do.
    mutating func wait(_ number: Int, for keys: [QueueKey]) {
        guard waiters[number]?.keys.isEmpty == true else { return }
        waiters[number]?.keys = keys
        for key in keys { queues[key, default: WaitingLine()].append(number) }
    }

    /// Notes that a queue may have something now.
    mutating func noteReason(_ key: QueueKey) {
        guard askers > 0 else { return }
        reasons += 1
        lastReasons[key] = reasons
    }

    /// Notes that the store is being asked for a waiter.
    mutating func beginAsking(_ number: Int) {
        guard waiters[number]?.isAsking == false else { return }
        countAsked(number, by: 1)
        let reasons = reasons
        waiters[number]?.isAsking = true
        waiters[number]?.askedAfter = reasons
    }

    /// Notes that the store has answered for a waiter; returns whether one of the queues may have something since.
    mutating func endAsking(_ number: Int, of keys: [QueueKey]) -> Bool {
        guard let waiter = waiters[number], waiter.isAsking else { return false }
        waiters[number]?.isAsking = false
        defer { countAsked(number, by: -1) }
        return keys.contains { lastReasons[$0].map { $0 > waiter.askedAfter } ?? false }
    }

    @discardableResult
    mutating func remove(_ number: Int) -> Waiter? {
        if waiters[number]?.isAsking == true { countAsked(number, by: -1) }
        guard let waiter = waiters.removeValue(forKey: number) else { return nil }
        for key in waiter.keys {
            queues[key]?.remove(number)
            if queues[key]?.count == 0 { queues[key] = nil }
        }
        waiter.timer?.invalidate()
        if let life = waiter.life { tied[life]?.waiters.remove(number) }
        return waiter
    }

    private mutating func countAsked(_ number: Int, by change: Int) {
        askers += change
        if askers == 0 { lastReasons = [:] }
        for key in waiters[number]?.keys ?? [] { asked.count(change, of: key) }
    }

    /// How many wait for a queue.
    func count(_ key: QueueKey) -> Int { queues[key]?.count ?? 0 }

    /// For the queues of these waiters, how many wait for each for whom the store is not being asked.
    func idleCounts(inQueuesOf numbers: [Int]) -> [QueueKey: Int] {
        var counts: [QueueKey: Int] = [:]
        for key in numbers.flatMap({ waiters[$0]?.keys ?? [] }) where counts[key] == nil {
            counts[key] = count(key) - asked[key, default: 0]
        }
        return counts
    }

    /// Queues in the order in which those came who wait for them longest.
    func inOrder(_ keys: Set<QueueKey>) -> [QueueKey] {
        let first = keys.map { ($0, idle($0, limit: 1).first ?? .max) }
        return first.sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// Some who wait for a queue, those first who came first; nobody behind one for whom the store is being asked.
    func idle(_ key: QueueKey, limit: Int) -> [Int] {
        guard let queue = queues[key] else { return [] }
        return queue.prefix(limit) { waiters[$0]?.isAsking == false }
    }

    /// Notes that a queue is to be served once the store has answered for who is in front.
    mutating func hold(_ key: QueueKey) { if count(key) > 0 { held.insert(key) } }

    /// Notes that the store had nothing in these queues for one who waits: it has nothing for those behind him either.
    mutating func release(_ keys: [QueueKey]) { if !held.isEmpty { held.subtract(keys) } }

    /// The queues that were held, which are not any more, in the order in which they are to be served.
    mutating func takeHeld() -> [QueueKey] {
        guard !held.isEmpty else { return [] }
        defer { held = [] }
        return inOrder(held)
    }

    // MARK: - Connections

    /// Notes who waits on a connection; true where nothing was known of it before.
    mutating func tie(waiter number: Int, to life: ConnectionLife) -> Bool {
        let isFirst = tied[life] == nil
        tied[life, default: Tied()].waiters.insert(number)
        return isFirst
    }

    /// Ties tasks to a connection; true where nothing was known of it before.
    mutating func tie(_ given: [TaskReference], to life: ConnectionLife) -> Bool {
        let isFirst = tied[life] == nil
        for reference in given {
            untie(reference.token)
            tied[life, default: Tied()].tasks[reference.token] = reference.fire
            lives[reference.token] = life
        }
        return isFirst && !given.isEmpty
    }

    /// The entry of a connection stays until it is over, for that is registered once.
    mutating func untie(_ run: RunID) {
        guard let life = lives.removeValue(forKey: run) else { return }
        tied[life]?.tasks[run] = nil
    }

    /// Forgets who waits on a connection that is over; returns them, and the attempts that are tied to it, in order.
    ///
    /// These stay tied to it until they are taken: until then a worker that goes on ties its task to another. The entry
    /// of a connection without any is gone.
    mutating func end(_ life: ConnectionLife) -> (tasks: [RunID], waiters: [Int]) {
        guard let gone = tied[life] else { return ([], []) }
        if gone.tasks.isEmpty { tied[life] = nil } else { tied[life]?.waiters = [] }
        return (gone.tasks.keys.sorted(), gone.waiters.sorted())
    }

    /// Unties those of the attempts that are still tied to this connection, and returns their tasks.
    mutating func take(_ runs: ArraySlice<RunID>, of life: ConnectionLife) -> [TaskReference] {
        let tasks = runs.compactMap { run in
            tied[life]?.tasks[run].map { TaskReference(fire: $0, token: run) }
        }
        for task in tasks { untie(task.token) }
        return tasks
    }
}
