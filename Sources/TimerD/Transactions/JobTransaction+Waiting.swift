// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A run that is stored as running: its command is to be started.
struct BegunCommand: Sendable {
    var run: RunID
    /// As it is now: it may have been changed since its fire began.
    var job: StoredJob
    var command: [String]
    /// What the command finds on its standard input; nil for the job's userInfo.
    var input: [UInt8]?
    /// When the fire's command began first, by the wall clock.
    var firedAt: Timestamp
}

/// Fires whose command is still to begin, or to begin again.
extension JobTransaction {
    /// Stores that the command of a fire that has its place is about to be started; nil where it is not to
    /// be any more.
    ///
    /// The first time it is told as a fire.
    mutating func beginCommand(_ fire: CommandFire) throws -> BegunCommand? {
        // Dropped since, by what has ended the job or replaced the fire.
        guard try isWaiting(fire.id) else { return nil }
        // Who ends a job wants no further run of it, whatever its fires came to.
        guard var job = try job(fire.job.id), job.state != .invalidated else {
            try giveUp(fire.id)
            return nil
        }
        // What was known of it when its fire began, where it cannot be read any more.
        if job.unread != nil { job = fire.job }
        let command = fire.isOnFailure ? job.definition.onFailure : job.definition.command
        guard let command else {
            // What was to be done on a failure is not wanted any more.
            try giveUp(fire.id)
            return nil
        }
        let input = fire.isOnFailure ? try failure(of: fire.id, job) : nil
        // Its date had come, though the clock may have been set back since.
        let firedAt = fire.firedAt ?? max(moment.wall, fire.fireDate)
        try fires.markBegun(fire.id, at: firedAt)
        let run = try runs.insert(
            of: job.id,
            fire.id,
            attempt: fire.attempt,
            isOnFailure: fire.isOnFailure
        )
        if fire.firedAt == nil {
            try noteFired(
                fire.id,
                of: job,
                fireDate: fire.fireDate,
                missed: fire.missed,
                isByHand: fire.isByHand
            )
        }
        return BegunCommand(
            run: run,
            job: job,
            command: command,
            input: input,
            firedAt: firedAt
        )
    }

    /// Has the event of a fire told that has begun at this moment.
    mutating func noteFired(
        _ fire: FireID,
        of job: StoredJob,
        fireDate: Timestamp,
        missed: Int,
        isByHand: Bool,
        isRedelivery: Bool = false
    ) throws {
        let (firedAt, userInfo) = (max(moment.wall, fireDate), job.definition.userInfo)
        let reason = isByHand ? FireReason.manual.rawValue : nil
        try note(.fireFired, job, reason, fire: fire) {
            $0.fireDate = fireDate
            $0.firedAt = firedAt
            $0.userInfo = userInfo
            $0.missed = missed > 0 ? missed : nil
            $0.redelivered = isRedelivery ? true : nil
        }
    }

    private func isWaiting(_ fire: FireID) throws -> Bool {
        try fires.state(of: fire) == .waiting
    }

    /// Stores that a fire that waits has come to wait for a place; nothing where it was dropped since.
    func waitForPlace(_ fire: FireID) throws {
        if try isWaiting(fire) { try fires.markWaiting(fire, for: .place, until: nil) }
    }

    /// Takes back a run that was not started after all: the next daemon starts it; nothing where what has
    /// ended the job has closed it since.
    func waitAgain(_ command: RunningCommand) throws {
        guard try runs.deleteOpen(command.run) else { return }
        let fire = command.fire
        try fires.markWaiting(
            fire.id,
            for: fire.isOnFailure ? .onFailure : fire.attempt > 1 ? .retry : .place,
            until: nil
        )
    }

    /// Drops a fire that waits and is not wanted any more.
    private mutating func giveUp(_ fire: FireID) throws {
        guard let id = try fires.job(of: fire), var job = try job(id) else { return }
        let count = job.fires
        try giveUp(fire, of: &job)
        if job.fires != count { try put(job) }
    }

    /// Drops a job's fires that wait, or were not started: nothing of a job that was ended begins; `put`
    /// writes the job.
    ///
    /// `areReplaced`: a newer fire is to come in their place, and what is done because one failed stays.
    mutating func dropFires(of job: inout StoredJob, areReplaced: Bool = false) throws {
        let open = try fires.begun(of: job.id, sparingOnFailure: areReplaced)
        for (fire, state) in open where fire != job.claim?.fire {
            if state == .waiting {
                try giveUp(fire, of: &job)
            } else if unstarted.contains(fire) {
                try withdrawRun(of: fire, job)
            }
        }
    }

    /// Closes the run of a fire that was told, and whose command was not started after all.
    private mutating func withdrawRun(of fire: FireID, _ job: StoredJob) throws {
        guard let left = try runs.open(of: fire) else { return }
        let ended = EndedRun(
            fire: fire,
            fireDate: left.date,
            attempt: left.attempt,
            isOnFailure: left.isOnFailure,
            outcome: .notStarted(StartRefusal.withdrawn.message),
            startedAt: nil,
            endedAt: moment.wall,
            output: CapturedOutput()
        )
        try recordFinished(left.run, of: job, ended)
    }

    /// Skipped where its command never began, else done.
    private mutating func giveUp(_ fire: FireID, of job: inout StoredJob) throws {
        guard let row = try fires.waiting(fire) else { return }
        guard !row.hasBegun else {
            try fires.markDone(fire)
            return
        }
        let reason: FireReason =
            row.isByHand ? .withdrawn : job.state == .invalidated ? .invalidated : .overlap
        try fires.markSkipped(fire, reason)
        job.fires -= 1
        try note(.fireSkipped, job, reason.rawValue, fire: fire) { $0.fireDate = row.date }
    }

    /// The failed run as `onFailure` is told of it: as on the wire, with the job's name.
    private func failure(of fire: FireID, _ job: StoredJob) throws -> [UInt8] {
        guard let run = try runs.last(of: fire),
            case .object(var members) = try JSONValue(encoding: run)
        else {
            return []
        }
        if let name = job.definition.name { members["name"] = .string(name) }
        return JSONValue.object(members).jsonBytes
    }
}
