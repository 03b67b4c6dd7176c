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

extension JobTransaction {
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
        for (id, owner) in try fires.open() where only.map({ $0 == owner }) ?? true {
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
                if isRedelivery { try fires.markMaybeTold(fire.id, at: moment.wall) }
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
                    try orHold(job) { transaction, job in
                        try transaction.advance(&job, past: date)
                        try transaction.settleAndPut(job)
                    }
                }
            }
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
        fire.isLate = fire.missed > 0 || moment.wall - fire.fireDate > CommandFire.lateness
        switch left.waitsFor ?? .place {
        case .place: return (fire, .place)
        case .run: return (fire, .run)
        case .onFailure:
            (fire.attempt, fire.isOnFailure) = (max(attempts, 1), true)
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
        try fires.setFiredAt(left.id, max(moment.wall, left.wallDate))
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
        for (fire, owner) in try fires.open() {
            guard let job = try job(owner), job.unread == nil, job.definition.command == nil,
                job.claim?.fire == fire
            else { continue }
            try fires.markMaybeTold(fire, at: moment.wall)
            for next in try claimsAhead(of: job) {
                try fires.markMaybeTold(next.claim.fire, at: moment.wall)
            }
        }
    }

    /// The runs of a fire that have no end yet: they stay open until their processes have surely ended,
    /// or the daemon after this one would know nothing of those.
    private func runs(of fire: LeftFire, _ job: StoredJob) throws -> [LeftRun] {
        try runs.inProgress(of: fire.id).map {
            LeftRun(
                run: $0.run,
                job: job,
                fire: fire,
                attempt: $0.attempt,
                isOnFailure: $0.isOnFailure,
                process: $0.process
            )
        }
    }

    /// Takes back every claim that was surely not carried out, as the last write of a daemon that stops.
    ///
    /// Not those by hand: who fired a job was answered with that fire, and the next daemon begins it.
    mutating func releaseClaims() throws {
        try jobs.releaseClaims()
        try fires.deleteClaims()
    }
}
