// SPDX-License-Identifier: Apache-2.0

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
    /// Runs that were in progress or about to begin: their processes may still live.
    var running: [LeftRun] = []
    /// Jobs that cannot be read: their open fires stay as they are until then.
    var leftOpen: Set<JobID> = []

    var interrupted: Int { running.count }
}

extension JobTransaction {
    /// Decides how each open fire goes on: see `LeftFire.verdict`.
    ///
    /// The work grows with the window and the number of runs at a time, not with the number of jobs.
    mutating func recover() throws -> Recovered {
        var recovered = Recovered()
        try recover(of: nil, into: &recovered)
        return recovered
    }

    /// The same for the fires of one job, or of all.
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
                    isPast: fire.hasCome(of: job, at: moment),
                    isRedelivery: isRedelivery
                )
                // Rows of claims ahead follow that of the job's own claim.
                let ahead = try recoverAhead(of: &job)
                settled.formUnion(ahead)
                recovered.redelivered += job.ahead?.count ?? 0
                outcome.jobs.append(job)
            case .carryOut:
                recovered.untoldByHand.append(
                    FireByHand(job: job, fire: fire.id, date: fire.wallDate)
                )
            case .resolveAgain:
                try resolveAgain(job)
            case .wait: recovered.waiting.append(try waiting(fire, of: job))
            case .interrupt:
                if fire.firedAt == nil { try redeliver(fire, of: job) }
                recovered.running += try runs(of: fire, job)
                if isClaim, let date = job.fireDate {
                    job.claim = nil
                    job.fires += 1
                    try orHold(job) { transaction, job in
                        try transaction.advance(&job, past: date)
                        try transaction.resolveAndPut(job)
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
            // If the clock was set back since, `until` may lie years ahead: no attempt waits longer than its delay.
            let longest = RetryDecision.delay(before: fire.attempt, of: fire.id, job.policy.run)
            let until = moment.elapsedDate(left.waitsUntil ?? moment.wall, on: .wall)
            return (fire, .time(min(until, moment.elapsed + longest)))
        }
    }

    /// Tells a fire again that is counted and whose event was not stored: its command may have begun.
    private mutating func redeliver(_ left: LeftFire, of job: StoredJob) throws {
        try fires.setFiredAt(left.id, max(moment.wall, left.wallDate))
        try enqueueFired(
            left.id,
            of: job,
            fireDate: left.wallDate,
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
            guard let job = try job(owner), job.unread == nil, job.definition.command == nil,
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
    /// Their rows stay open until their processes have surely ended: else the next daemon would not
    /// know of them.
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

    /// Releases every claim that was surely not carried out: the last write of a daemon that stops.
    ///
    /// Fires by hand stay: their users have been answered, and the next daemon begins them.
    mutating func releaseClaims() throws {
        try jobs.releaseClaims()
        try fires.deleteClaims()
    }
}
