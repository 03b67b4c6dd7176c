// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import SQLite
@testable import TimerD

/// `GrowthLoad` without a scheduler: the writes that it would have made, second by second, those of
/// a minute in one transaction.
///
/// So that a month takes an hour: a scheduler, with its timers, threads and commits, would take a day.
struct StoredLoad {
    let database: Database
    private let load: GrowthLoad
    private var armed: [JobID: StoredJob] = [:]
    private var retention: Retention
    private var nextEvent: Int64 = 1
    private let start: Timestamp
    private var seconds: Int64 = 0
    private(set) var fires = 0
    /// How long each piece of pruning took.
    private(set) var pieces: [Duration: Int] = [:]

    /// Begins on a new database.
    init(_ database: Database, _ load: GrowthLoad, start: Timestamp) throws {
        self.database = database
        self.load = load
        self.start = start
        retention = Retention(load.keeping.limits, now: start, nextEvent: nextEvent)
        retention.startedWithNothing(now: start)
        try Migrator(.released).migrate(database)
        try transaction { load in
            var writer = load.makeWriter()
            try load.add(GrowthLoad.repeating, &writer)
            try load.take(writer.finish())
        }
    }

    /// Lets so many seconds pass.
    mutating func pass(_ seconds: Int) throws {
        try transaction { load in
            for _ in 0..<seconds {
                load.seconds += 1
                try load.passSecond()
            }
        }
        database.checkpointIfDue()
    }

    private var moment: ClockReading {
        ClockReading(elapsed: start + .seconds(seconds), wallOffset: .zero)
    }

    private mutating func transaction(_ body: (inout StoredLoad) throws -> Void) throws {
        try database.begin()
        try body(&self)
        try DaemonState.write(eventSequenceEnd: nextEvent, to: database)
        try database.commit()
    }

    private func makeWriter() -> JobTransaction {
        var writer = JobTransaction(database, at: moment, horizon: moment.elapsed + Window.span)
        writer.terms.runsKept = HistoryBound(standard: load.keeping.runs)
        return writer
    }

    private mutating func passSecond() throws {
        var writer = makeWriter()
        try DaemonState.write(moment, to: database)
        let now = moment
        for job in armed.values where job.dueDate.map({ $0 <= now.elapsed }) ?? false {
            try fire(job, &writer)
        }
        let oneShots = Array(repeating: GrowthLoad.oneShot, count: GrowthLoad.oneShotsPerSecond)
        try add(oneShots, &writer)
        try take(writer.finish())
        try pruneIfDue()
    }

    private func add(_ definitions: [JobDefinition], _ writer: inout JobTransaction) throws {
        let jobs = try definitions.map { try NewJob($0, owner: 0, at: moment, zone: .utc) }
        _ = try writer.add(jobs, replace: false, limit: nil)
    }

    private mutating func fire(_ job: StoredJob, _ writer: inout JobTransaction) throws {
        guard let claim = job.claim else { return }
        let run =
            try job.definition.command == nil
            ? nil : writer.prepareRun(of: job.id, fire: claim.fire, attempt: 1, at: RunPlace())
        let fired = event(.fireFired, job, claim.fire)
        var told = FireEvents(fired: fired)
        if job.endWithItsFire(at: moment) != nil {
            told.end = event(.jobFinished, job, nil)
            told.end?.reason = StoredJob.EndReason.once.rawValue
        }
        var begun = BegunFire(job: job, fire: claim.fire, firedAt: moment.wall, told: told)
        begun.going.depth = ClaimDepth.depth(of: job, armed: armed.count)
        try writer.record(begun)
        // An end that was told is in no outcome.
        if begun.told.end != nil { armed[job.id] = nil }
        fires += 1
        guard let run else { return }
        let fire = CommandFire(id: claim.fire, job: job, fireDate: moment.wall)
        let command = RunningCommand(run: run, place: RunPlace(), fire: fire, command: ["x"])
        try writer.recordStarted(command.run, of: command.fire, 4_194_303, at: moment.wall)
        let ended = EndedRun(
            fire: claim.fire,
            fireDate: moment.wall,
            attempt: 1,
            outcome: .exited(0),
            startedAt: moment.wall,
            endedAt: moment.wall,
            output: GrowthLoad.output,
            usage: RecordingRunner.usage
        )
        try writer.recordFinished(run, of: job, ended)
    }

    private mutating func event(_ type: Event.Kind, _ job: StoredJob, _ fire: FireID?) -> Event {
        var event = Event(seq: nextEvent, type: type, at: moment.wall, job: job.id)
        nextEvent += 1
        event.owner = job.owner
        event.ownerID = job.ownerID
        event.fire = fire
        event.fireDate = job.wallFireDate(at: moment)
        event.firedAt = moment.wall
        return event
    }

    /// What a scheduler would do with what a write did.
    private mutating func take(_ outcome: StoreOutcome) throws {
        for job in outcome.jobs { armed[job.id] = job.claim == nil ? nil : job }
        for notice in outcome.outboxEvents {
            var notice = notice
            notice.event.seq = nextEvent
            nextEvent += 1
            try EventLog(database).move([notice])
        }
    }

    private mutating func pruneIfDue() throws {
        guard retention.isDue(now: moment.elapsed) || retention.isDue(nextEvent: nextEvent) else {
            return
        }
        retention.begin(now: moment.elapsed)
        var step = Pruner.Step.more
        while step == .more {
            var pruner = Pruner(
                database,
                at: moment,
                retention.limits,
                from: retention.progress,
                removesAged: retention.removesAged(now: moment.elapsed)
            )
            let time = try ContinuousClock().measure { step = try pruner.prune() }
            // In steps of 50 µs, as the many are not to be kept.
            pieces[.microseconds(50) * (time / .microseconds(50)).rounded(.up), default: 0] += 1
            retention.progress = pruner.progress
        }
        if case .done(let next) = step { retention.ended(next: next, now: moment.elapsed) }
    }

    /// The time within which so many of a thousand pieces of pruning were over.
    func pieceTime(perMille: Int) -> Duration {
        let all = pieces.values.reduce(0, +)
        var count = 0
        for (time, number) in pieces.sorted(by: { $0.key < $1.key }) {
            count += number
            if count * 1000 >= all * perMille { return time }
        }
        return .zero
    }
}
