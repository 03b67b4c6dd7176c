// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// What the workers of a simulation know: the attempts that they were given, and what they have said of them.
struct CrashWorkers {
    static let queues = ["quick", "slow"]

    /// An attempt that a worker was told of.
    struct Attempt {
        let reference: TaskReference
        let job: JobID
        let number: Int
        /// What it asked for last, or the shorter of the two where it is not known which holds.
        var lease: TimeSpan
        /// Before this its lease cannot end, by the simulation's time.
        var safeUntil: Timestamp
        /// The connection that it is tied to; nil for none.
        var life: ConnectionLife?
        /// Whether its worker may have lost it: it has said that it is over, or its connection has ended.
        var mayBeGone = false
        var isBusy = false
        var saysFinish = false
    }

    /// In the order in which they were told.
    var attempts: [Attempt] = []
    var finished: [FireID: RunID] = [:]
    /// How often a task was answered to have failed, and was asked to.
    var failures: [FireID: (answered: Int, asked: Int)] = [:]
    /// Whether dead tasks were asked to be tried again, with all their retries.
    var hasRetried = false
    /// Connections of workers, the newest last.
    var lives: [ConnectionLife] = []
    /// Requests on their way.
    var requests: [Task<Void, Never>] = []
    var workLeft: Int
    var nextWork: Timestamp

    func index(of reference: TaskReference) -> Int? {
        attempts.firstIndex { $0.reference == reference }
    }

    /// A daemon has begun: whoever had a lease has the whole of it again, and is tied to nothing.
    mutating func daemonStarts(at now: Timestamp) {
        for index in attempts.indices {
            attempts[index].isBusy = false
            attempts[index].life = nil
            let end = now + attempts[index].lease
            attempts[index].safeUntil = max(attempts[index].safeUntil, end)
        }
        lives = []
    }

    /// Nobody hears of what is on its way; a lease that may have ended by now is not begun anew.
    mutating func daemonEnds(at now: Timestamp) {
        for index in attempts.indices where attempts[index].safeUntil <= now {
            attempts[index].mayBeGone = true
        }
        for request in requests { request.cancel() }
        requests = []
    }
}

/// Workers that reserve, say what became of their tasks, say it too late, and vanish.
extension CrashSimulation {
    private enum Work { case reserve, tell, tellLate, vanish, retry, kick }

    /// A worker does something, where there is work.
    func work() {
        guard jobs.values.contains(where: { $0.definition.queue != nil }) else { return }
        let work = conductor.dice.pick([
            (8, Work.reserve), (10, .tell), (3, .tellLate), (2, .vanish), (1, .retry), (1, .kick),
        ])
        let queue = CrashWorkers.queues.randomElement(using: &conductor.dice) ?? ""
        switch work {
        case .reserve: reserveByChance()
        case .tell: tell(workers.attempts.indices.filter { !workers.attempts[$0].mayBeGone })
        case .tellLate: tell(Array(workers.attempts.indices))
        case .vanish: vanish()
        case .retry:
            workers.hasRetried = true
            ask(.retryTasks(.queue(queue, count: nil))) { _, _ in }
        case .kick: ask(.kickTasks(KickTasks(queue: queue))) { _, _ in }
        }
    }

    private func reserveByChance() {
        var request = ReserveTasks(queues: CrashWorkers.queues)
        if conductor.dice.isTrue(0.3) { request.queues.removeFirst() }
        request.count = Int.random(in: 1...3, using: &conductor.dice)
        if conductor.dice.isTrue(0.5) {
            request.wait = "\(conductor.dice.span(.milliseconds(1), .seconds(20)).microseconds)us"
        }
        let lease = conductor.dice.span(.milliseconds(100), .seconds(30))
        var life: ConnectionLife?
        if conductor.dice.isTrue(0.4) {
            request.whileConnected = true
            life = workers.lives.randomElement(using: &conductor.dice)
            if life == nil || conductor.dice.isTrue(0.3) {
                let new = ConnectionLife()
                workers.lives.append(new)
                life = new
            }
        }
        reserve(request, lease: lease, over: life)
    }

    /// `answered` gets the numbers of the tasks.
    func reserve(
        _ request: ReserveTasks,
        lease: TimeSpan,
        over life: ConnectionLife? = nil,
        _ answered: @escaping ([FireID]) -> Void = { _ in }
    ) {
        var request = request
        request.lease = "\(lease.microseconds)us"
        let (asked, wall) = (conductor.now, wall)
        tell("reserve \(request.count ?? 1) for \(lease)\(life == nil ? "" : ", tied")")
        ask(.reserveTasks(request), over: life) { [self] answer, _ in
            guard let tasks = (answer as? TasksReply)?.tasks else { return }
            // An answer whose connection is over is not read.
            if let life, life.isSilent { return }
            let priorities = tasks.map(\.priority)
            check(.taskOrder, priorities == priorities.sorted(by: >), "priorities \(priorities)")
            for task in tasks {
                checkUntil(of: task, askedAt: wall)
                take(task, lease: lease, askedAt: asked, life)
            }
            answered(tasks.map(\.fire))
        }
    }

    /// A worker was given a task.
    private func take(
        _ task: QueuedTask,
        lease: TimeSpan,
        askedAt: Timestamp,
        _ life: ConnectionLife?
    ) {
        guard let reference = task.reference else {
            return check(.oneWorker, false, "task \(task.fire) has no token")
        }
        tally.tasks += 1
        tell("task \(task.fire) of job \(task.job), attempt \(task.attempt) as \(reference.token)")
        let finished = workers.finished[task.fire]
        check(.finishedOnce, finished == nil, "task \(task.fire) is handed out once more")
        let new = CrashWorkers.Attempt(
            reference: reference,
            job: task.job,
            number: task.attempt,
            lease: lease,
            safeUntil: askedAt + lease,
            life: life
        )
        for other in workers.attempts where other.reference.fire == task.fire {
            // Answers may overtake each other.
            let (first, second) =
                other.reference.token < reference.token ? (other, new) : (new, other)
            check(
                .attemptsGrow,
                first.reference.token < second.reference.token && first.number < second.number,
                "task \(task.fire): attempt \(first.number) as \(first.reference.token), then \(second.number) as "
                    + "\(second.reference.token)"
            )
            check(
                .oneWorker,
                !isSafe(first),
                "task \(task.fire) went to \(second.reference.token) while \(first.reference.token) had it"
            )
        }
        workers.attempts.append(new)
    }

    /// Whether nobody but its worker may have the attempt's task.
    func isSafe(_ attempt: CrashWorkers.Attempt) -> Bool {
        !attempt.mayBeGone && conductor.now < attempt.safeUntil && !mayBeTakenAway(attempt.job)
    }

    /// Whether a user, or another of its tasks, may take a job's task away from whoever has it.
    func mayBeTakenAway(_ id: JobID) -> Bool {
        guard let job = jobs[id] else { return true }
        return job.mayHaveEnded || job.isRedated || job.definition.overlap == .replace
            || job.definition.name.map { replacedNames.contains($0) } ?? false
    }

    private func checkUntil(of task: QueuedTask, askedAt: Timestamp) {
        guard !stepsClock, let job = jobs[task.job], !job.isRedated,
            let until = job.definition.until.flatMap({ Timestamp(rfc3339: $0) })
        else { return }
        check(.untilHolds, askedAt < until, "task \(task.fire) of job \(task.job)")
    }
}
