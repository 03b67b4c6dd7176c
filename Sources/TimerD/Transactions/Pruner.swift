// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// How long history is kept; `runsKept` bounds a job's history by number as well.
struct RetentionLimits: Hashable, Sendable {
    var historyMaxAge = TimeSpan.seconds(365 * 86_400)
    /// Ended jobs are kept at least as long as their events, which show their names.
    var endedJobsMaxAge = TimeSpan.seconds(30 * 86_400)
    /// How many events are kept of each user.
    var eventsKept = 100_000
    /// How much of one user is stored; nil for any amount.
    var maxBytesPerUser: Int64?
    var eventsMaxAge = TimeSpan.seconds(30 * 86_400)

    /// Nothing that happens from now on is too old before that time has passed.
    var shortestAge: TimeSpan { min(historyMaxAge, eventsMaxAge) }
}

/// How far a daemon has come with removing old rows.
struct PruneProgress: Hashable, Sendable {
    /// How many events of each owner are stored, of those up to `eventsCountedThrough`.
    var events: [OwnerID: Int] = [:]
    var eventsCountedThrough: Int64 = 0
    /// Whose turn it was last, of the users of whom too much is stored.
    var owner = OwnerID.nobody
    /// The rows of fires up to this one have been looked at, and are not too old.
    var fires = FireID(rawValue: 0)
}

/// Removes old rows, a small piece in each write.
///
/// Events and fires are looked at in the order of their numbers, which grow with time, from the
/// oldest one up to the first that is to stay. So nothing here grows with the number of jobs, and
/// fires pay for no index.
struct Pruner {
    enum Step: Hashable, Sendable {
        /// There is more to do now.
        case more
        /// Nothing gets too old before that date of the wall clock.
        case done(next: Timestamp)
    }

    private let transaction: JobTransaction
    let limits: RetentionLimits
    private(set) var progress: PruneProgress
    private var budget = WorkBudget()

    /// How many events are counted in one write.
    private static let countLimit = 5000

    init(
        _ database: Database,
        at moment: ClockReading,
        _ limits: RetentionLimits,
        from progress: PruneProgress
    ) {
        transaction = JobTransaction(database, at: moment, horizon: .distantPast)
        self.limits = limits
        self.progress = progress
    }

    /// Whether the database holds nothing that gets too old; what is in the outbox is not looked at.
    static func keepsNothing(_ database: Database) -> Bool {
        // try?: what cannot be read is kept as well.
        let isEmpty =
            try? EventLog(database).oldest(limit: 1).isEmpty
            && FireStore(database).oldest(after: FireID(rawValue: 0), limit: 1).isEmpty
            && JobStore(database).firstEnd(from: .distantPast) == nil
            && UploadStore(database).oldest() == nil
        return isEmpty ?? false
    }

    private var moment: ClockReading { transaction.moment }
    private var events: EventLog { transaction.events }
    private var words: EventWords { EventWords(transaction.database) }

    /// Removes one piece.
    mutating func prune() throws -> Step {
        guard try countEvents(), try pruneUsers(), let event = try pruneEvents(),
            let fire = try pruneFires(), let job = try pruneJobs(), let part = try pruneUploads(),
            try pruneWords()
        else { return .more }
        return .done(next: min(event, fire, job, part))
    }

    /// Counts on from where the last piece stopped; whether that was all.
    private mutating func countEvents() throws -> Bool {
        var counted = 0
        let counts = try events.counts(after: progress.eventsCountedThrough, Self.countLimit)
        for (owner, count, last) in counts {
            counted += count
            progress.events[owner, default: 0] += count
            progress.eventsCountedThrough = max(progress.eventsCountedThrough, last)
        }
        return counted < Self.countLimit
    }

    /// Makes room where more of a user is stored than may be: the oldest ended jobs go, then the oldest
    /// output, then what the oldest events alone need; the users take turns.
    ///
    /// - Returns: whether nothing more can be removed.
    private mutating func pruneUsers() throws -> Bool {
        guard let most = limits.maxBytesPerUser else { return true }
        let full = try transaction.owners.full(beyond: most)
        let last = progress.owner.rawValue
        for owner in full.filter({ $0.rawValue > last }) + full.filter({ $0.rawValue <= last }) {
            progress.owner = owner
            while try transaction.owners.bytes(of: owner) > most {
                if let job = try transaction.jobs.oldestEnded(of: owner) {
                    guard try transaction.remove(job, &budget), !budget.isSpent else {
                        return false
                    }
                } else {
                    // One at a time, so that no more is removed than necessary.
                    let outputs = try transaction.runs.deleteOldestOutput(of: owner)
                    guard try outputs > 0 || words.removeOldest(of: owner) else { break }
                    budget.spend(runs: max(outputs, 1))
                    if budget.isSpent { return false }
                }
            }
        }
        return true
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneEvents() throws -> Timestamp? {
        let oldest = try events.oldest(limit: budget.rows)
        let keptSince = moment.wall - limits.eventsMaxAge
        let going = oldest.prefix { $0.at < keptSince }
        if let last = going.last {
            try events.delete(through: last.number)
            for (owner, events) in Dictionary(grouping: going, by: \.owner) {
                try noteEventsPruned(events.count, of: owner, through: events.last?.number ?? 0)
            }
        }
        for owner in progress.events.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if budget.isSpent { return nil }
            let surplus = (progress.events[owner] ?? 0) - limits.eventsKept
            guard surplus > 0 else { continue }
            let numbers = try events.oldest(of: owner, limit: min(surplus, budget.rows))
            guard let last = numbers.last else { continue }
            try events.delete(of: owner, through: last)
            try noteEventsPruned(numbers.count, of: owner, through: last)
        }
        if budget.isSpent { return nil }
        let next = oldest.dropFirst(going.count).first
        return (next?.at ?? moment.wall) + limits.eventsMaxAge
    }

    private mutating func noteEventsPruned(_ count: Int, of owner: OwnerID, through last: Int64)
        throws
    {
        try events.notePruned(of: owner, through: last)
        let rest = (progress.events[owner] ?? 0) - count
        progress.events[owner] = rest > 0 ? rest : nil
        budget.spend(rows: Int64(count))
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneFires() throws -> Timestamp? {
        let rows = try transaction.fires.oldest(after: progress.fires, limit: budget.rows)
        let keptSince = moment.wall - limits.historyMaxAge
        for row in rows {
            budget.spend(rows: 1)
            // A row of a date after now, left by a clock that was ahead, must not stop the rows behind it.
            if row.isOver, row.last <= moment.wall {
                guard row.last < keptSince else { return row.last + limits.historyMaxAge }
                if let job = try transaction.job(row.job), job.unread == nil {
                    budget.spendJob()
                    let end = moment.date(ofWall: keptSince, on: job.clock)
                    guard try transaction.trim(job, before: end, &budget) else { return nil }
                }
            }
            progress.fires = row.id
            if budget.isSpent { return nil }
        }
        return moment.wall + limits.historyMaxAge
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneJobs() throws -> Timestamp? {
        let age = max(limits.endedJobsMaxAge, limits.eventsMaxAge)
        let keptSince = moment.wall - age
        while let job = try transaction.jobs.oldestEnded(before: keptSince) {
            guard try transaction.remove(job, &budget), !budget.isSpent else { return nil }
        }
        let next = try transaction.jobs.firstEnd(from: keptSince)
        return (next ?? moment.wall) + age
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneUploads() throws -> Timestamp? {
        let store = UploadStore(transaction.database)
        while let oldest = try store.oldest() {
            let end = oldest.keptAt + JobTransaction.uploadAge
            guard end <= moment.wall else { return end }
            try store.delete(oldest.id)
            // A part may be 1 MiB, as much as sixteen runs' output.
            budget.spend(runs: 16)
            if budget.isSpent { return nil }
        }
        // Whoever puts one has the date of its end noted.
        return moment.wall + limits.historyMaxAge
    }

    /// - Returns: whether nothing more can be removed.
    private mutating func pruneWords() throws -> Bool {
        let removed = try words.removeUntold(limit: budget.runs)
        // userInfo may be 64 KiB, as much as a run's output.
        budget.spend(runs: removed)
        return !budget.isSpent
    }
}
