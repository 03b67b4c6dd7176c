// SPDX-License-Identifier: Apache-2.0

import Platform
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
    /// How long nothing is removed for its age after a start, and after a step of the wall clock ahead: a wrong clock is set
    /// right again, but removed rows do not come back.
    var doubt = TimeSpan.seconds(3600)

    /// Nothing that happens from now on is too old before that time has passed.
    var shortestAge: TimeSpan { min(historyMaxAge, eventsMaxAge) }
}

/// How far a daemon has come with removing old rows.
struct PruneProgress: Hashable, Sendable {
    /// How many events of each owner are stored, of those up to `eventsCountedThrough`.
    var events: [OwnerID: Int] = [:]
    var eventsCountedThrough: Int64 = 0
    /// The events between the oldest and this one have dates after now, of a clock that was ahead.
    var eventsAhead: Int64 = 0
    /// Whose turn it was last, of the users of whom too much is stored.
    var owner = OwnerID.nobody
    /// The rows of fires up to this one have been looked at, and are not too old.
    var fires = FireID(rawValue: 0)
    /// Up to where this look has come with the ended jobs, for their age.
    var ended = EndedCursor.first
    /// Up to where the ended jobs of each user were looked at of whom too much is stored, over several looks.
    ///
    /// See `Retention.isOverfull`.
    var endedOfFull: [OwnerID: EndedCursor] = [:]
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
        /// Nothing gets too old before that date of the wall clock, which is now where ages were not looked at.
        case done(next: Timestamp)
    }

    private let transaction: JobTransaction
    let limits: RetentionLimits
    private(set) var progress: PruneProgress
    private let removesAged: Bool
    private var budget = WorkBudget()

    /// How many events are counted in one write.
    private static let countLimit = 5000

    /// `removesAged`: whether it removes what is too old, beside what is too much.
    init(
        _ database: Database,
        at moment: ClockReading,
        _ limits: RetentionLimits,
        from progress: PruneProgress,
        removesAged: Bool = true
    ) {
        transaction = JobTransaction(database, at: moment, horizon: .distantPast)
        self.limits = limits
        self.progress = progress
        self.removesAged = removesAged
    }

    /// Whether the database holds nothing that gets too old; what is in the outbox is not looked at.
    static func keepsNothing(_ database: Database) -> Bool {
        // try?: what cannot be read is kept as well.
        let isEmpty =
            try? EventLog(database).oldest(limit: 1).isEmpty
            && FireStore(database).oldest(after: FireID(rawValue: 0), limit: 1).isEmpty
            && JobStore(database).firstEnd(from: .distantPast) == nil
            && UploadStore(database).oldest() == nil
            && !EventWords(database).isAnyKept()
        return isEmpty ?? false
    }

    private var moment: ClockReading { transaction.moment }
    private var events: EventLog { transaction.events }
    private var words: EventWords { EventWords(transaction.database) }

    /// Removes one piece.
    mutating func prune() throws -> Step {
        guard try countEvents(), try pruneUsers(), try pruneSurplusEvents(),
            let next = try pruneAged(), try pruneWords()
        else { return .more }
        // By the next look more of them may be over.
        progress.ended = .first
        return .done(next: next)
    }

    /// - Returns: when the next row is too old, or now where ages are not looked at; nil where there is more to do now.
    private mutating func pruneAged() throws -> Timestamp? {
        guard removesAged else { return moment.wall }
        guard let event = try pruneAgedEvents(), let fire = try pruneFires(),
            let job = try pruneJobs(), let part = try pruneUploads()
        else { return nil }
        return min(event, fire, job, part)
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
    /// output, then what the oldest events alone need, then the oldest reasons; the users take turns.
    ///
    /// - Returns: whether nothing more can be removed.
    private mutating func pruneUsers() throws -> Bool {
        guard let most = limits.maxBytesPerUser else { return true }
        let full = try transaction.owners.full(beyond: most)
        let last = progress.owner.rawValue
        for owner in full.filter({ $0.rawValue > last }) + full.filter({ $0.rawValue <= last }) {
            progress.owner = owner
            guard try makeRoom(of: owner, upTo: most) else { return false }
        }
        return true
    }

    /// Makes room where more of this user is stored than may be; returns whether nothing more can be removed.
    private mutating func makeRoom(of owner: OwnerID, upTo most: Int64) throws -> Bool {
        let owners = transaction.owners
        func isFull() throws -> Bool { try owners.bytes(of: owner) > most }
        var cursor = progress.endedOfFull[owner] ?? .first
        defer { progress.endedOfFull[owner] = cursor }
        guard
            try transaction.removeEnded(of: owner, from: &cursor, &budget, while: isFull),
            !budget.isSpent
        else { return false }
        while try isFull() {
            // One at a time, so that no more is removed than necessary.
            if try transaction.runs.deleteOldestOutput(of: owner) > 0 {
                budget.spend(parts: 1)
            } else if try words.removeOldest(of: owner) {
                budget.spend(parts: 1)
            } else if try transaction.forgetOldestReasons(of: owner) {
                budget.spend(rows: 2)
            } else {
                break
            }
            if budget.isSpent { return false }
        }
        return true
    }

    /// Removes the oldest events of users who have more than are kept; returns whether that was all.
    private mutating func pruneSurplusEvents() throws -> Bool {
        for owner in progress.events.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if budget.isSpent { return false }
            let surplus = (progress.events[owner] ?? 0) - limits.eventsKept
            guard surplus > 0 else { continue }
            let numbers = try events.oldest(of: owner, limit: min(surplus, budget.rows))
            guard let last = numbers.last else { continue }
            try events.delete(of: owner, through: last)
            try noteEventsPruned(numbers.count, of: owner, through: last)
        }
        return !budget.isSpent
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneAgedEvents() throws -> Timestamp? {
        let oldest = try events.oldest(limit: budget.rows)
        let keptSince = moment.wall - limits.eventsMaxAge
        let (going, next) = try agedEvents(of: oldest, keptSince)
        if let last = going.last {
            try events.delete(through: last.number)
            for (owner, events) in Dictionary(grouping: going, by: \.owner) {
                try noteEventsPruned(events.count, of: owner, through: events.last?.number ?? 0)
            }
        }
        if budget.isSpent { return nil }
        return (next ?? moment.wall) + limits.eventsMaxAge
    }

    /// Which of the oldest events are too old, and the date of the first one that is not.
    ///
    /// A date after now is that of a clock that was ahead. As numbers grow with time, such an event is older than those
    /// behind it, and goes with them.
    private mutating func agedEvents(
        of oldest: [EventLog.OldEvent],
        _ keptSince: Timestamp
    ) throws -> (going: ArraySlice<EventLog.OldEvent>, next: Timestamp?) {
        let now = moment.wall
        let aged = oldest.prefix { $0.at < keptSince || $0.at > now }
        var next = oldest.dropFirst(aged.count).first?.at
        if next == nil, let last = oldest.last {
            let through = max(last.number, progress.eventsAhead)
            let rows = try events.dates(after: through, limit: budget.rows)
            let ahead = rows.prefix { $0.at > now }
            budget.spend(rows: Int64(ahead.count))
            progress.eventsAhead = ahead.last?.number ?? through
            next = rows.dropFirst(ahead.count).first?.at
        }
        if let next, next < keptSince { return (aged, nil) }
        let end = aged.lastIndex { $0.at < keptSince }
        return (end.map { aged.prefix(through: $0) } ?? [], next)
    }

    private mutating func noteEventsPruned(_ count: Int, of owner: OwnerID, through last: Int64)
        throws
    {
        try events.notePruned(of: owner, through: last)
        progress.events.count(-count, of: owner)
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
        guard
            try transaction.removeEnded(before: keptSince, from: &progress.ended, &budget),
            !budget.isSpent
        else { return nil }
        let next = try transaction.jobs.firstEnd(from: keptSince)
        return (next ?? moment.wall) + age
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneUploads() throws -> Timestamp? {
        let store = UploadStore(transaction.database)
        while let oldest = try store.oldest() {
            let end = oldest.keptAt + JobTransaction.uploadAge
            guard end <= moment.wall else { return end }
            // With all its parts: what is left of one would be done as if it were the whole.
            try store.delete(oldest.upload, of: oldest.owner)
            // An upload may be 32 MiB, which is 512 parts.
            budget.spend(parts: 512)
            if budget.isSpent { return nil }
        }
        // No upload is kept. Whoever puts one has its end noted, so this date may be late.
        return moment.wall + limits.historyMaxAge
    }

    /// - Returns: whether nothing more can be removed.
    private mutating func pruneWords() throws -> Bool {
        // A text counts as a part, for userInfo may be 64 KiB. Where as many went as were asked for there may be more, also
        // if the budget had less left than one part.
        let limit = budget.parts
        let removed = try words.removeUntold(limit: limit)
        budget.spend(parts: removed)
        return removed < limit
    }
}
