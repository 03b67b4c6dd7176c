// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import SQLite
@testable import TimerD

/// The quiet end of the queues: a worker that fails at nothing takes all that is ready, and then it is looked at
/// what has become of each task.
extension CrashSimulation {
    /// Takes and finishes whatever is ready, which takes no time.
    func drainQueues() {
        while problems.isEmpty, life?.isReady == true, !disk.hasCrashed {
            let count = Int.random(in: 1...4, using: &conductor.dice)
            let next = nextTasks(count)
            var request = ReserveTasks(queues: CrashWorkers.queues)
            request.count = count
            var given: [FireID]?
            reserve(request, lease: .seconds(30)) { given = $0 }
            settle()
            check(
                .taskOrder,
                given == next,
                "handed out \(given.map { "\($0)" } ?? "none"), ready were \(next)"
            )
            guard let given, !given.isEmpty else { return }
            let fires = Set(given)
            finish(
                workers.attempts.suffix(given.count).map(\.reference)
                    .filter { fires.contains($0.fire) }
            )
            settle()
        }
    }

    /// What is to be handed out next, by the rows.
    private func nextTasks(_ count: Int) -> [FireID] {
        guard let now = moment?.elapsed else { return [] }
        let sql = """
            SELECT fire_id FROM tasks WHERE state = 'ready' AND (due_us IS NULL OR due_us > ?1)
            ORDER BY priority DESC, ready_us, fire_id LIMIT ?2
            """
        return inspect { try $0.prepare(sql).all(now, count) { try $0.get(0) } } ?? []
    }

    /// Each fire that became a task is over by a worker's word, dead, or has its reason.
    ///
    /// No worker has any, also of those who vanished: by then such a lease has ended, even one that was given once more.
    func checkTasks() {
        let left = inspect { try $0.number("SELECT count(*) FROM tasks WHERE state <> 'dead'") }
        check(.nothingOpen, left == 0, "\(left ?? -1) tasks are ready, delayed or reserved")
        for (fire, token) in workers.finished.sorted(by: { $0.key < $1.key }) {
            let state = inspect { try $0.fireState(fire) } ?? nil
            let isDone = state == .done || state == nil && prunes
            check(
                .answered,
                isDone,
                "task \(fire) is \(state?.rawValue ?? "gone"), \(token) finished it"
            )
        }
        let asked = Set(workers.attempts.filter(\.saysFinish).map(\.reference.fire))
        for fire in told.keys.sorted() {
            guard let row = inspect({ try $0.taskFire(fire) }) ?? nil, let job = jobs[row.job],
                job.definition.queue != nil, !job.isRedated, !job.mayHaveEnded
            else { continue }
            let mayBeReplaced = job.definition.overlap == .replace
            let isKept =
                switch (row.state, row.reason) {
                case (.done, _): asked.contains(fire) || mayBeReplaced
                case (.dead, _): true
                case (.skipped, .replaced?): mayBeReplaced
                case (.skipped, .expired?): job.definition.until != nil
                // Dead ones are not kept for longer than ended jobs.
                case (.skipped, .dropped?): prunes
                // One by hand says so, whatever it was dropped for.
                case (.skipped, .withdrawn?):
                    mayBeReplaced || job.definition.until != nil || prunes
                default: false
                }
            check(
                .taskKept,
                isKept,
                "task \(fire) of job \(row.job) is \(row.state.rawValue) \(row.reason?.rawValue ?? "")"
            )
        }
    }

    /// The counts that queues keep, for `checkCounters`.
    static let taskCounters: [(String, String, String)] = ["ready", "delayed", "reserved", "dead"]
        .map {
            (
                "\($0) tasks", "SELECT coalesce(sum(\($0)), 0) FROM queues",
                "SELECT count(*) FROM tasks WHERE state = '\($0)'"
            )
        }
}

extension Database {
    /// Where a fire stands, and why; nil where it is not kept.
    fileprivate func taskFire(_ fire: FireID) throws -> (
        job: JobID, state: Run.State, reason: FireReason?
    )? {
        try prepare(
            "SELECT job_id, state, reason FROM fires WHERE id = ?1 AND state <> 'forgotten'"
        ).first(fire) {
            (try $0.get(0), try $0.get(1), try $0.get(2))
        }
    }
}
