// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// What the daemon before this one left half done, and how it goes on.
struct Recovered: Sendable {
    /// How many claimed events may have been told, and are told again.
    var redelivered: Int = 0
    /// Events by hand that were stored and perhaps never told.
    var untoldByHand: [FireByHand] = []
    /// Fires whose command is to run, or to run again, each with what it waits for; oldest first.
    var waiting: [(fire: CommandFire, wait: CommandFire.Wait)] = []
    /// Runs that were in progress: they go on, or were interrupted.
    var running: [LeftRun] = []
    /// Runs that the runner still knows though none of them is open here: their end is stored, or they are of another database.
    var strays: [RunID] = []
    /// The strays of which the database has no row; tries of notices, whose numbers are below 0, are not among them.
    var unknown: Set<RunID> = []
    /// The strays that try to hand over a notice which still waits.
    var tries: [(run: RunID, notice: StoredNotice)] = []
    /// Whether a notice waits to be handed over.
    var hasNotices = false
    /// Jobs that cannot be read: their open fires stay as they are until then.
    var leftOpen: Set<JobID> = []

    /// How many runs were interrupted.
    var interrupted: Int { running.count { !$0.isKnown } }
    /// How many runs go on, or have ended meanwhile.
    var takenUp: Int { running.count { $0.isKnown } }
}

extension JobTransaction {
    /// Decides how each open fire goes on: see `LeftFire.verdict`.
    ///
    /// The work grows with the window and the number of runs at a time, not with the number of jobs.
    ///
    /// `runner`: what the runner of this node knows. Runs of other nodes go on until these have been heard.
    mutating func recover(_ runner: KnownRuns) throws -> Recovered {
        var recovered = Recovered()
        try recover(of: nil, runner, into: &recovered)
        recovered.hasNotices = try notices.owner(after: .nobody) != nil
        let known = runner.runs.keys.sorted().map(RunID.init(rawValue:))
        try findStrays(among: known, into: &recovered)
        // A database of another origin may not have come as far as the runs that are known.
        if let last = known.max() { try DaemonState.skip(runsThrough: last, in: database) }
        return recovered
    }

    /// Finds the runs that the runner knows and the database does not have as open.
    private func findStrays(among known: [RunID], into recovered: inout Recovered) throws {
        let others = Set(recovered.running.lazy.filter { !$0.isKnown }.map(\.run))
        recovered.strays = try known.filter { try others.contains($0) || !runs.isOpen($0) }
        recovered.unknown = try Set(
            recovered.strays.filter { try $0.rawValue > 0 && !runs.isKnown($0) }
        )
        recovered.tries = recovered.strays.compactMap { run in
            guard let id = StoredNotice.id(ofTry: run.rawValue) else { return nil }
            let before = NoticeID(rawValue: id.rawValue - 1)
            // try?: of a row that cannot be read no owner is known, and its next try is logged with the reason.
            let next = try? notices.list(of: nil, after: before, limit: 1).first
            guard let notice = next, notice.id == id else { return nil }
            return (run: run, notice: notice)
        }
    }

    /// Decides how the open fires of one job go on; those of all jobs where `only` is nil.
    mutating func recover(
        of only: JobID?,
        _ runner: KnownRuns,
        into recovered: inout Recovered
    ) throws {
        var claimedAhead: Set<FireID> = []
        // Many fires of one job may be open: all share one definition, which may be large.
        var definitions: [JobID: JobDefinition] = [:]
        var lookedAt: Set<JobID> = []
        for (id, owner) in try only.map({ try fires.open(of: $0) }) ?? fires.open() {
            guard !claimedAhead.contains(id) else { continue }
            guard var job = try job(owner) else { continue }
            job.definition = definitions[owner] ?? job.definition
            definitions[owner] = job.definition
            if let unread = job.unread {
                if recovered.leftOpen.insert(job.id).inserted {
                    try hold(job, unread.reason, isAsStored: true)
                }
                continue
            }
            guard var fire = try leftFire(id) else {
                recovered.leftOpen.insert(job.id)
                try hold(job, unreadRow: try unreadRow(of: id) ?? "its fire \(id) cannot be read")
                continue
            }
            if lookedAt.insert(job.id).inserted { try findLostClaim(of: &job) }
            let isClaim = job.claim?.fire == fire.id
            let left = fire.state == .running ? try runs(of: fire, job, runner) : []
            // A run that this runner does not know, it was never asked for; `wasAsked` is true if an earlier runner may have
            // been.
            let isUnasked = left.allSatisfy { !$0.wasAsked }
            if isUnasked, fire.state == .running, isClaim, !fire.isDue(of: job, at: moment) {
                // Its run was stored ahead of when it is due.
                try releaseRun(of: fire.id)
                fire.state = .claimed
            }
            let verdict = fire.verdict(of: job, isClaim: isClaim, at: moment)
            switch verdict {
            case .keep, .redeliver:
                let isRedelivery = verdict == .redeliver
                recovered.redelivered += isRedelivery ? 1 : 0
                if isRedelivery { try fires.markMaybeTold(fire.id, at: moment.wall) }
                job.claim = StoredJob.Claim(
                    fire: fire.id,
                    missed: fire.missed,
                    isPast: fire.isDue(of: job, at: moment),
                    isRedelivery: isRedelivery
                )
                // Rows of claims ahead follow that of the job's own claim.
                let ahead = try recoverAhead(of: &job)
                claimedAhead.formUnion(ahead)
                recovered.redelivered += job.ahead?.count ?? 0
                outcome.jobs.append(job)
            case .carryOut:
                recovered.untoldByHand.append(
                    FireByHand(job: job, fire: fire.id, date: fire.wallDate)
                )
            case .resolveAgain:
                try resolveAgain(job)
            case .wait where job.state == .invalidated || job.isCommandless:
                try closeWaiting(fire.id)
            case .wait: recovered.waiting.append(try waiting(fire, of: job))
            case .interrupt:
                try goOn(
                    with: fire,
                    of: job,
                    left,
                    isClaim: isClaim,
                    isUnasked: isUnasked,
                    runner,
                    into: &recovered
                )
            }
        }
    }

    /// Goes on with a fire whose command may have begun: its runs go on, or were interrupted; where there was none, it waits.
    ///
    /// `runs`: those of it that have no end. `isUnasked`: no runner was asked for any of them. `isClaim`: the job's next date is
    /// this fire's.
    private mutating func goOn(
        with left: LeftFire,
        of job: StoredJob,
        _ runs: [LeftRun],
        isClaim: Bool,
        isUnasked: Bool,
        _ runner: KnownRuns,
        into recovered: inout Recovered
    ) throws {
        var (fire, job) = (left, job)
        let hasNoRun = isUnasked && !runs.contains(where: \.isStopped)
        // No runner was asked for its run: the claim follows the misfire rule like any date, though its event may
        // have been told in the moment before the crash.
        if hasNoRun, isClaim, fire.firedAt == nil, let reason = refusal(ofClaimOf: job) {
            try recordSkipped(job, reason)
            return
        }
        // Its event may have been told, also where its command was not asked for.
        if fire.firedAt == nil {
            let date = dateOfFire(fire, runs, runner)
            try redeliver(fire, of: job, firedAt: date)
            fire.firedAt = date
        }
        if hasNoRun {
            if let next = try waiting(againAfter: runs, fire, of: job) {
                recovered.waiting.append(next)
            }
        } else {
            recovered.running += runs
        }
        if isClaim, let date = job.fireDate {
            job.claim = nil
            job.fires += 1
            try orHold(job) { transaction, job in
                try transaction.advance(&job, past: date)
                try transaction.resolveAndPut(job)
            }
        }
    }

    /// Finds the claim of a job whose row names none, or a fire that is not there, is over or is another job's.
    ///
    /// It is the claimed fire of the job's next date. Where there is none, the job waits for a window again, and a date that
    /// has a row does not fire again. Jobs of which no fire is open are not looked at: `daemon.check` tells of them.
    private func findLostClaim(of job: inout StoredJob) throws {
        guard job.state == .scheduled, let date = job.fireDate else { return }
        let before = job.claim
        if let fire = before?.fire, try fires.job(of: fire) == job.id {
            switch try fires.knownState(of: fire) {
            case .claimed, .waiting, .running, nil: return
            default: break
            }
        }
        let found = try fires.claim(of: job.id, at: date)
        guard before != nil || found != nil else { return }
        (job.claim, job.ahead) = (found, found == nil ? [] : nil)
        try jobs.update(job)
    }

    /// Why the next date of a job does not fire any more by its misfire rule; nil where it may.
    private func refusal(ofClaimOf job: StoredJob) -> FireReason? {
        job.dueDate.flatMap {
            job.policy.misfire.refusal(ofDue: $0, at: moment.reading(of: job.clock))
        }
    }

    /// A fire that was left open; nil if it, or a run of it, cannot be read.
    private func leftFire(_ id: FireID) throws -> LeftFire? {
        guard try unreadRow(of: id) == nil else { return nil }
        do {
            return try fires.left(id)
        } catch let error as DatabaseError where error.isUnreadableValue {
            return nil
        }
    }

    private func waiting(_ left: LeftFire, of job: StoredJob) throws
        -> (fire: CommandFire, wait: CommandFire.Wait)
    {
        let attempts = try runs.attempts(of: left.id)
        var fire = left.commandFire(of: job)
        fire.attempt = attempts + 1
        fire.isLate = fire.isLate(at: moment)
        switch left.waitsFor ?? .place {
        case .place: return (fire, .place)
        case .run: return (fire, .run)
        case .onFailure, .onSuccess:
            fire.attempt = max(attempts, 1)
            fire.handler = left.waitsFor == .onFailure ? .onFailure : .onSuccess
            return (fire, .place)
        case .retry:
            // If the clock was set back since, `waitsUntil` may lie years ahead: no attempt waits longer than its delay.
            let longest = RetryDecision.delay(
                before: try runs.failures(of: left.id) + 1,
                of: fire.id,
                terms.runDefaults.backoff(of: job)
            )
            let until = moment.elapsedDate(left.waitsUntil ?? moment.wall, on: .wall)
            return (fire, .time(min(until, moment.elapsed + longest)))
        }
    }

    /// A fire whose runs are stored and were never begun: it waits again; nil if its job was ended.
    private mutating func waiting(
        againAfter left: [LeftRun],
        _ fire: LeftFire,
        of job: StoredJob
    ) throws -> (fire: CommandFire, wait: CommandFire.Wait)? {
        var fire = fire
        fire.waitsFor = .place
        for run in left {
            guard try waitAgain(run.commandFire, after: run.run) else { return nil }
            fire.waitsFor = run.handler?.wait ?? (run.attempt > 1 ? .retry : .place)
        }
        fire.waitsUntil = nil
        return try waiting(fire, of: job)
    }

    /// The date at which a fire counts as fired whose event was not stored: no later than its run's begin.
    ///
    /// Such a run was mostly stored a few milliseconds ahead of the fire's date. If another node has it, or the runner does
    /// not answer, nobody knows yet when it began. Then it is the fire's own date, which surely comes before the begin; now
    /// may come after it.
    private func dateOfFire(_ fire: LeftFire, _ left: [LeftRun], _ runner: KnownRuns) -> Timestamp {
        let goingOn = left.filter(\.isKnown)
        guard !goingOn.isEmpty else { return max(moment.wall, fire.wallDate) }
        let starts = goingOn.compactMap { runner.runs[$0.run.rawValue]?.startedAtMicroseconds }
        guard let start = starts.min() else { return fire.wallDate }
        return max(min(moment.wall, Timestamp(microseconds: start)), fire.wallDate)
    }

    /// Tells a fire again that is counted and whose event was not stored.
    private mutating func redeliver(
        _ left: LeftFire,
        of job: StoredJob,
        firedAt: Timestamp
    ) throws {
        try fires.setFiredAt(left.id, firedAt)
        try enqueueFired(
            left.id,
            of: job,
            fireDate: left.wallDate,
            dueBy: left.dueBy,
            firedAt: firedAt,
            missed: left.missed,
            isByHand: left.isByHand,
            isRedelivery: true
        )
    }

    /// Marks all claimed events as perhaps told.
    ///
    /// The clock has been set back to before the last known date, so it cannot say which dates are
    /// still to come.
    func markClaimsMaybeTold() throws {
        for (fire, owner) in try fires.open() {
            guard let job = try job(owner), job.unread == nil, job.definition.isEvent,
                job.claim?.fire == fire
            else { continue }
            try fires.markMaybeTold(fire, at: moment.wall)
            for next in try claimsAhead(of: job) {
                try fires.markMaybeTold(next.claim.fire, at: moment.wall)
            }
        }
    }

    /// The runs of a fire that have no end yet.
    ///
    /// Their rows stay open until their ends are stored: else the next daemon would not know of them.
    private func runs(of fire: LeftFire, _ job: StoredJob, _ runner: KnownRuns) throws -> [LeftRun]
    {
        try runs.inProgress(of: fire.id).map {
            let isKnown =
                runner.has($0.run, $0.place, startedAt: $0.startedAt) || runner.isUnheard
                || runner.isElsewhere($0.place)
            return LeftRun(
                run: $0.run,
                job: job,
                fire: fire,
                attempt: $0.attempt,
                handler: $0.handler,
                isStarted: $0.isStarted,
                isKnown: isKnown,
                wasAsked: isKnown || $0.place.runner != runner.epoch,
                isStopped: $0.isStopped,
                stoppedBy: $0.stoppedBy,
                place: $0.place
            )
        }
    }

    /// Releases every claim that was surely not carried out: the last write of a daemon that stops.
    ///
    /// Fires by hand stay: their users have been answered, and the next daemon begins them.
    mutating func releaseClaims() throws {
        try jobs.releaseClaims()
        try fires.deleteClaims()
    }
}
