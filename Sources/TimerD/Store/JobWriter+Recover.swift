// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What the daemon before this one left half done, settled.
struct Recovered: Sendable {
    /// Events whose row was claimed and whose date has passed: perhaps told, told again.
    var redelivered: Int = 0
    /// Events by hand that were stored and told by nobody, for all we know.
    var untoldByHand: [FireByHand] = []
    /// Fires whose command is to run, or to run again, with what it waits for; oldest first.
    var waiting: [(fire: CommandFire, wait: CommandFire.Wait)] = []
    /// Runs that were in progress, or about to be: their processes may live on.
    var running: [LeftRun] = []
    /// Jobs that cannot be read, and whose open fires are left as they are until they can be.
    var leftOpen: Set<JobID> = []

    var interrupted: Int { running.count }
}

extension JobWriter {
    /// Settles each fire that is claimed or running, by what it was: see `LeftFire.verdict`.
    ///
    /// Bounded by the window and the number of runs at a time, whatever the number of jobs.
    mutating func recover() throws -> Recovered {
        var recovered = Recovered()
        try recover(of: nil, into: &recovered)
        return recovered
    }

    /// The same of one job's fires, or of all.
    mutating func recover(of only: JobID?, into recovered: inout Recovered) throws {
        var settled: Set<FireID> = []
        for (id, owner) in try openFires() where only.map({ $0 == owner }) ?? true {
            guard !settled.contains(id) else { continue }
            guard var job = try job(owner) else { continue }
            if let unread = job.unread {
                if recovered.leftOpen.insert(job.id).inserted { try hold(job, unread.reason) }
                continue
            }
            guard let fire = try leftFire(id) else {
                recovered.leftOpen.insert(job.id)
                try hold(job, unreadRow: try unreadRow(of: id) ?? "its fire \(id) cannot be read")
                continue
            }
            let isClaim = job.claim?.fire == fire.id
            let verdict = fire.verdict(of: job, isClaim: isClaim, at: moment)
            switch verdict {
            case .keep, .redeliver:
                let isRedelivery = verdict == .redeliver
                recovered.redelivered += isRedelivery ? 1 : 0
                if isRedelivery { try doubt(fire.id) }
                job.claim = StoredJob.Claim(
                    fire: fire.id,
                    missed: fire.missed,
                    isSettled: fire.hasCome(of: job, at: moment),
                    isRedelivery: isRedelivery
                )
                // Their rows come after that of the claim.
                let ahead = try recoverAhead(of: &job)
                settled.formUnion(ahead)
                recovered.redelivered += job.ahead?.count ?? 0
                outcome.jobs.append(job)
            case .carryOut:
                recovered.untoldByHand.append(
                    FireByHand(job: job, fire: fire.id, date: fire.wallDate)
                )
            case .resettle:
                try resettle(job)
            case .wait: recovered.waiting.append(try waiting(fire, of: job))
            case .interrupt:
                if fire.firedAt == nil { try tellAgain(fire, of: job) }
                recovered.running += try runs(of: fire, job)
                if isClaim, let date = job.fireDate {
                    job.claim = nil
                    job.fires += 1
                    try orHold(job) { writer, job in
                        try writer.advance(&job, past: date)
                        try writer.settleAndPut(job)
                    }
                }
            }
        }
    }

    /// The open fires, with whose they are.
    private func openFires() throws -> [(FireID, JobID)] {
        try database.prepare(SQL.openFires).all { row in
            guard let job: JobID = row.ifReadable(1) else { return nil }
            return (try row.get(0), job)
        }.compactMap(\.self)
    }

    /// A fire that was left open; nil if it, or a run of it, cannot be read.
    private func leftFire(_ id: FireID) throws -> LeftFire? {
        guard try unreadRow(of: id) == nil else { return nil }
        do {
            return try database.prepare(SQL.leftFire).first(id) { row in
                LeftFire(
                    id: id,
                    job: try row.get(0),
                    wallDate: try row.get(1),
                    state: try row.get(2),
                    missed: try row.get(3),
                    firedAt: try row.get(4),
                    waitsFor: try row.get(5),
                    waitsUntil: try row.get(6),
                    isByHand: try row.get(7, as: FireReason?.self) == .manual
                )
            }
        } catch let error as DatabaseError where error.isUnreadableValue {
            return nil
        }
    }

    private func waiting(_ left: LeftFire, of job: StoredJob) throws
        -> (fire: CommandFire, wait: CommandFire.Wait)
    {
        let attempts = try database.prepare(SQL.attempts).first(left.id) {
            try $0.get(0, as: Int.self)
        }
        var fire = left.commandFire(of: job)
        fire.attempt = (attempts ?? 0) + 1
        fire.isLate = fire.missed > 0 || moment.wall - fire.fireDate > CommandFire.lateness
        switch left.waitsFor ?? .place {
        case .place: return (fire, .place)
        case .run: return (fire, .run)
        case .onFailure:
            (fire.attempt, fire.isOnFailure) = (max(attempts ?? 1, 1), true)
            return (fire, .place)
        case .retry:
            // By a clock that was set back since, it would wait for years; none was to wait for longer.
            let longest = RetryDecision.delay(before: fire.attempt, of: fire.id, job.policy.run)
            let until = moment.elapsedDate(left.waitsUntil ?? moment.wall, on: .wall)
            return (fire, .time(min(until, moment.elapsed + longest)))
        }
    }

    /// Tells of a fire that is counted, and whose event was not stored: its command may have begun.
    private mutating func tellAgain(_ left: LeftFire, of job: StoredJob) throws {
        try database.prepare(SQL.markFiredBefore).run(left.id, max(moment.wall, left.wallDate))
        try noteFired(
            left.id,
            of: job,
            fireDate: left.wallDate,
            missed: left.missed,
            isByHand: left.isByHand,
            isRedelivery: true
        )
    }

    /// Notes of the claims of events that they may have been told: the clock, which has come back
    /// to before the last date that is known, says of none that it is still to come.
    func doubtClaims() throws {
        for (fire, owner) in try openFires() {
            guard let job = try job(owner), job.unread == nil, job.definition.command == nil,
                job.claim?.fire == fire
            else { continue }
            try doubt(fire)
            for next in try claimsAhead(of: job) { try doubt(next.claim.fire) }
        }
    }

    /// Stores that an event may have been told, so that its fire keeps its row whatever follows.
    func doubt(_ fire: FireID) throws {
        try database.prepare(SQL.doubt).run(fire, moment.wall)
    }

    /// The runs of a fire that have no end yet: they stay open until their processes have surely ended,
    /// or the daemon after this one would know nothing of those.
    private func runs(of fire: LeftFire, _ job: StoredJob) throws -> [LeftRun] {
        try database.prepare(SQL.runsInProgress).all(fire.id) { row in
            LeftRun(
                run: try row.get(0),
                job: job,
                fire: fire,
                attempt: try row.get(1),
                isOnFailure: try row.get(2, as: Int.self) == 1,
                process: row.process(3)
            )
        }
    }

    /// Takes back every claim that was surely not carried out, as the last write of a daemon that stops.
    ///
    /// Not those by hand: who fired a job was answered with that fire, and the next daemon begins it.
    mutating func releaseClaims() throws {
        try database.prepare(SQL.releaseJobs).run()
        try database.prepare(SQL.deleteClaims).run()
    }
}

extension Row {
    /// A run's process, from its two columns; nil where none was recorded, or what was cannot be read:
    /// then it is looked for.
    fileprivate borrowing func process(_ column: Int) -> Orphan? {
        guard let pid: Int32 = ifReadable(column), let ticks: Int64 = ifReadable(column + 1) else {
            return nil
        }
        return Orphan(pid: pid, ticks: ticks)
    }
}

/// A run that was in progress when a daemon ended.
struct LeftRun: Sendable {
    var run: RunID
    var job: StoredJob
    var fire: LeftFire
    var attempt: Int
    var isOnFailure: Bool
    /// Nil where the crash came before that was recorded.
    var process: Orphan?

    /// Its fire, as it goes on in this daemon.
    var commandFire: CommandFire {
        var command = fire.commandFire(of: job)
        (command.attempt, command.isOnFailure) = (attempt, isOnFailure)
        // It was told, by the daemon before or by this one.
        command.firedAt = command.firedAt ?? fire.wallDate
        return command
    }

    /// What follows once its process has ended.
    var next: RetryDecision {
        isOnFailure ? .done : RetryDecision(.interrupted, attempt: attempt, of: fire.id, job: job)
    }
}

/// A fire that was open when a daemon ended.
struct LeftFire: Hashable, Sendable {
    var id: FireID
    var job: JobID
    var wallDate: Timestamp
    /// Claimed, waiting or running.
    var state: Run.State
    var missed: Int
    var firedAt: Timestamp?
    var waitsFor: Run.Wait?
    /// By the wall clock.
    var waitsUntil: Timestamp?
    /// Whether a user asked for it, out of turn.
    var isByHand = false

    /// Whether its event may have been told, whatever the clock says.
    var isInDoubt: Bool { state == .claimed && firedAt != nil }

    enum Verdict: Hashable, Sendable {
        /// Its date is still to come.
        case keep
        /// An event that may have been told: it is told again, under the same id.
        case redeliver
        /// A fire by hand, which no later date makes up for.
        case carryOut
        /// A command that was not started: it follows the misfire rule like any date.
        case resettle
        /// A command that was not started, of a fire that has begun; or its next attempt.
        case wait
        /// A command that may have been started: at most once.
        case interrupt
    }

    /// The fire, as it goes on in this daemon.
    func commandFire(of job: StoredJob) -> CommandFire {
        CommandFire(
            id: id,
            job: job,
            fireDate: wallDate,
            firedAt: firedAt,
            missed: missed,
            isByHand: isByHand
        )
    }

    /// What design.md section 6 says of it; pure.
    func verdict(of job: StoredJob, isClaim: Bool, at moment: Moment) -> Verdict {
        if state == .running { return .interrupt }
        if state == .waiting { return .wait }
        guard isClaim else { return .carryOut }
        guard hasCome(of: job, at: moment) || isInDoubt else { return .keep }
        return job.definition.command == nil ? .redeliver : .resettle
    }

    /// Whether the date of the job's claim has come, by the job's clock: the wall clock may have been set
    /// back since it was claimed.
    func hasCome(of job: StoredJob, at moment: Moment) -> Bool {
        job.fireDate.map { $0 <= moment.reading(of: job.clock) } ?? (wallDate <= moment.wall)
    }
}

extension JobWriter.SQL {
    /// By fires_open, and sorted: SQLite would rather read all fires in this order.
    static let openFires = """
        SELECT id, job_id FROM fires INDEXED BY fires_open WHERE \(RunRow.isOpen) ORDER BY id
        """
    static let leftFire = """
        SELECT job_id, wall_date_us, state, missed, fired_at_us, waits_for, waits_until_us, reason
        FROM fires WHERE id = ?1
        """
    static let runsInProgress = """
        SELECT id, attempt, is_on_failure,
            CASE WHEN boot_id = (SELECT boot_id FROM daemon_state) THEN pid END, pid_ticks
        FROM runs WHERE fire_id = ?1 AND outcome IS NULL
        """
    static let attempts = """
        SELECT coalesce(max(attempt), 0) FROM runs WHERE fire_id = ?1 AND is_on_failure = 0
        """
    static let markFiredBefore = "UPDATE fires SET fired_at_us = ?2 WHERE id = ?1"
    static let unprepare = "UPDATE fires SET state = 'claimed' WHERE id = ?1"
    static let deleteRunOfFire = "DELETE FROM runs WHERE fire_id = ?1"
    /// Finds the claims by fires_open, not by a look at all jobs.
    static let releaseJobs = """
        UPDATE jobs SET claim_id = NULL WHERE id IN (
            SELECT job_id FROM fires
            WHERE \(RunRow.isOpen) AND state = 'claimed'
                AND fired_at_us IS NULL AND reason IS NOT 'manual')
            AND (SELECT fired_at_us FROM fires WHERE id = claim_id) IS NULL
        """
    static let deleteClaims = """
        DELETE FROM fires
        WHERE \(RunRow.isOpen) AND state = 'claimed'
            AND fired_at_us IS NULL AND reason IS NOT 'manual'
        """
    static let doubt = "UPDATE fires SET fired_at_us = ?2 WHERE id = ?1 AND state = 'claimed'"
}
