// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// A run that is stored as running, and whose command is to be started now.
struct BegunCommand: Sendable {
    var run: RunID
    /// The job as it is now; it may have been changed since its fire came due.
    var job: StoredJob
    var command: [String]
    /// What the command finds on its standard input; nil for the job's userInfo.
    var input: [UInt8]?
    /// When the fire's command began first, by the wall clock.
    var firedAt: Timestamp
}

/// Fires whose command is still to begin, or to begin again.
extension JobTransaction {
    /// Stores that the command of a fire with a place is about to be started; nil if it must not be started any
    /// more.
    ///
    /// The first time it also stores the fire's event.
    mutating func beginCommand(_ fire: CommandFire, at place: RunPlace) throws -> BegunCommand? {
        // It was dropped meanwhile: the job was ended, another fire replaced it, or it has failed for good.
        guard try fires.isWaiting(fire.id, for: fire.handler) else { return nil }
        // An invalidated job starts no more runs.
        guard var job = try job(fire.job.id), job.state != .invalidated else {
            try closeWaiting(fire.id)
            return nil
        }
        // A job that cannot be read any more runs as it was when its fire came due.
        if job.unread != nil { job = fire.job }
        let (definition, defaults) = (job.definition, terms.runDefaults)
        let command =
            fire.handler.map { defaults.command(of: $0, for: definition) } ?? definition.command
        guard let command, !job.isCommandless else {
            // The job has no such handler any more, or no command.
            try closeWaiting(fire.id)
            return nil
        }
        let input = fire.handler == nil ? nil : try lastRun(of: fire.id)
        // The clock may have been set back since the date came.
        let firedAt = fire.firedAt ?? max(moment.wall, fire.fireDate)
        try fires.markBegun(fire.id, at: firedAt)
        let run = try runs.insert(
            of: job.id,
            fire.id,
            attempt: fire.attempt,
            handler: fire.handler,
            at: place
        )
        if fire.firedAt == nil {
            try enqueueFired(
                fire.id,
                of: job,
                fireDate: fire.fireDate,
                dueBy: fire.dueBy,
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

    /// Stores the event of a fire that begins at this moment, or has fired at `firedAt`; it is told once this write is durable.
    mutating func enqueueFired(
        _ fire: FireID,
        of job: StoredJob,
        fireDate: Timestamp,
        dueBy: Timestamp?,
        firedAt: Timestamp? = nil,
        missed: Int,
        isByHand: Bool,
        isRedelivery: Bool = false
    ) throws {
        let firedAt = firedAt ?? max(moment.wall, fireDate)
        let userInfo = job.definition.userInfo
        let reason = isByHand ? FireReason.manual.rawValue : nil
        try enqueue(.fireFired, job, reason, fire: fire) {
            $0.fireDate = fireDate
            $0.dueBy = dueBy
            $0.firedAt = firedAt
            $0.userInfo = userInfo
            $0.missed = missed > 0 ? missed : nil
            $0.redelivered = isRedelivery ? true : nil
        }
    }

    /// Stores that a waiting fire now waits for a place; does nothing if it was dropped meanwhile.
    func waitForPlace(_ fire: FireID) throws {
        if try fires.isWaiting(fire) { try fires.markWaiting(fire, for: .place, until: nil) }
    }

    /// Makes a fire wait again whose run was stored and not started.
    ///
    /// - Returns: whether it waits. If its job was invalidated meanwhile, the run is closed, unless the invalidation has
    ///   closed it. If its job has no command any more, or another one than the fire has begun with, the fire is closed.
    @discardableResult
    mutating func waitAgain(_ fire: CommandFire, after run: RunID) throws -> Bool {
        if try jobs.isInvalidated(fire.job.id) {
            guard try runs.isOpen(run) else { return false }
            let (attempt, handler) = (fire.attempt, fire.handler)
            try withdraw(
                run,
                of: fire.job,
                fire.id,
                fire.fireDate,
                attempt: attempt,
                handler: handler
            )
            return false
        }
        guard try runs.deleteOpen(run) else { return false }
        if fire.attempt > 1, fire.handler == nil, try fires.isOvertaken(fire.id) {
            try fires.dropAttempt(of: fire.id)
            try closeWaiting(fire.id)
            return false
        }
        try fires.markWaiting(
            fire.id,
            for: fire.handler?.wait ?? (fire.attempt > 1 ? .retry : .place),
            until: nil
        )
        guard try beginsCommands(fire.job.id) else {
            try closeWaiting(fire.id)
            return false
        }
        return true
    }

    /// Drops a waiting fire that must not begin any more.
    mutating func closeWaiting(_ fire: FireID) throws {
        guard let id = try fires.job(of: fire), var job = try job(id) else { return }
        let count = job.fires
        try closeWaiting(fire, of: &job)
        if job.fires != count { try put(job) }
    }

    /// Has a fire end with `run`, which has ended, in place of the next attempt that it waits for; false if it waits for none.
    ///
    /// Somebody has asked for that: as after a run that was ended on purpose, nobody is told of a failure and no handler begins.
    mutating func endAttempts(of fire: FireID, with run: RunID) throws -> Bool {
        guard try fires.isWaiting(fire), try runs.last(of: fire)?.id == run,
            let id = try fires.job(of: fire), var job = try job(id)
        else { return false }
        try closeWaiting(fire, of: &job)
        outcome.closed.append(fire)
        // Whoever waits for the end of the fire looks at it again.
        let date = job.wallFireDate(at: moment)
        try enqueue(.jobChanged, job) { $0.fireDate = date }
        return true
    }

    /// Drops the job's fires that wait or were not started, for `reason`, so that none of them begins; `put` writes
    /// the job.
    ///
    /// With `replaced` a newer fire takes their place: fires that wait for a handler stay, and runs in progress are marked as
    /// stopped; the scheduler ends these once this is stored.
    mutating func dropFires(of job: inout StoredJob, for reason: FireReason) throws {
        let open = try fires.begun(of: job.id, sparingHandlers: reason == .replaced)
        var waiting: [FireID] = []
        for (fire, state) in open where fire != job.claim?.fire {
            if state == .waiting {
                waiting.append(fire)
            } else if terms.unstarted.contains(fire) {
                try withdrawRun(of: fire, job)
            } else if reason == .replaced, let run = try runs.open(of: fire)?.run {
                try runs.markStopped(run, .replace)
            }
        }
        try drop(waiting, of: &job, for: reason)
        // The scheduler may have one of them wait, by the answer to the record of its run, which came before this.
        if reason == .replaced { outcome.closed += waiting }
    }

    /// Drops `waiting`, which are the job's fires that wait, for `reason`; `put` writes the job.
    ///
    /// A piece of them is closed now. The rest is dropped by one statement, and closed behind this write.
    mutating func drop(_ waiting: [FireID], of job: inout StoredJob, for reason: FireReason) throws
    {
        for fire in waiting.prefix(Self.droppedAtOnce) { try closeWaiting(fire, of: &job) }
        let left = waiting.dropFirst(Self.droppedAtOnce)
        guard !left.isEmpty else { return }
        job.fires -= try fires.drop(of: job.id, reason)
        leave(left, of: job)
    }

    /// How many of what is dropped of a job are closed and told in one write; more would hold up others.
    static let droppedAtOnce = 64

    /// Has the scheduler see to what was dropped of the job and is not closed yet: nothing of it begins.
    mutating func leave(_ left: ArraySlice<FireID>, of job: StoredJob) {
        guard !left.isEmpty else { return }
        outcome.left.append(StoreOutcome.Left(job: job.id, user: job.owner.uid, fires: left))
    }

    /// Closes some of what was dropped of a job, whatever has become of that meanwhile.
    mutating func closeDropped(_ dropped: ArraySlice<FireID>, of id: JobID) throws {
        guard var job = try jobToChange(id, of: nil) else { return }
        for fire in dropped {
            do {
                try closeWaiting(fire, of: &job)
            } catch let error as DatabaseError where error.isUnreadableValue {
                // A fire that cannot be read stays as it is; the others are closed.
                continue
            }
        }
    }

    /// Goes on with what the daemon before this one had dropped and not closed.
    mutating func leaveDropped() throws {
        let dropped = Dictionary(grouping: try fires.dropped(), by: \.job)
        for (id, ofJob) in dropped.sorted(by: { $0.key < $1.key }) {
            guard let job = try jobToChange(id, of: nil) else { continue }
            leave(ofJob.map(\.fire)[...], of: job)
        }
    }

    /// Closes the run of a fire that was told and whose command was not started.
    private mutating func withdrawRun(of fire: FireID, _ job: StoredJob) throws {
        guard let left = try runs.open(of: fire) else { return }
        let (attempt, handler) = (left.attempt, left.handler)
        try withdraw(left.run, of: job, fire, left.date, attempt: attempt, handler: handler)
    }

    /// Stores that a run was ended before its command began.
    private mutating func withdraw(
        _ run: RunID,
        of job: StoredJob,
        _ fire: FireID,
        _ date: Timestamp,
        attempt: Int = 1,
        handler: RunHandler? = nil
    ) throws {
        let ended = EndedRun(
            fire: fire,
            fireDate: date,
            attempt: attempt,
            handler: handler,
            outcome: .withdrawn,
            startedAt: nil,
            endedAt: moment.wall,
            output: CapturedOutput()
        )
        try recordFinished(run, of: job, ended)
        outcome.ended.append(.init(job: job, handler: handler, outcome: .withdrawn))
    }

    /// Closes a waiting fire: as skipped if its command never began, else as done.
    ///
    /// A fire that was dropped before keeps the reason of its drop.
    ///
    /// If it was to be tried again and its job has no command any more, it has failed for good: nobody has ended it.
    mutating func closeWaiting(_ fire: FireID, of job: inout StoredJob) throws {
        guard let row = try fires.waiting(fire) else { return }
        let isLeft = job.isCommandless && job.state != .invalidated
        if let reason = row.skipped {
            // Its drop has taken it out of the job's count already.
            return try skip(fire, row.date, of: job, reason, isNoted: row.isNoted)
        }
        if row.isDropped, try closeRevoked(fire, of: job, isReplaced: row.isNoted) { return }
        guard !row.hasBegun else {
            if let last = try runs.last(of: fire) {
                // The failure of a fire whose handler was to come was told already.
                let isForGood = row.isDropped ? row.isNoted : isLeft && !row.isOfHandler
                return try close(
                    fire,
                    after: last,
                    of: job,
                    isForGood: isForGood,
                    isHandled: row.isDropped && row.isHandled
                )
            }
            // Its event was told, and after a crash the runner did not know its run: a run that was withdrawn says what
            // became of it.
            let run = try runs.insert(of: job.id, fire, attempt: 1, at: RunPlace())
            return try withdraw(run, of: job, fire, row.date)
        }
        let reason: FireReason =
            // The reason `manual` or `withdrawn` shows that a row stands for no date of the schedule.
            row.reason == .manual
            ? .withdrawn : job.state == .invalidated ? .invalidated : isLeft ? .changed : .replaced
        if row.isCounted { job.fires -= 1 }
        try skip(fire, row.date, of: job, reason)
    }

    /// `isNoted`: a fire by hand was replaced; whoever is told of overlaps is told of it too.
    private mutating func skip(
        _ fire: FireID,
        _ date: Timestamp,
        of job: StoredJob,
        _ reason: FireReason,
        isNoted: Bool = false
    ) throws {
        try fires.markSkipped(fire, reason)
        try enqueue(.fireSkipped, job, reason.rawValue, fire: fire) { $0.fireDate = date }
        if isNoted { try noteWithdrawn(fire, date, of: job, .replaced) }
    }

    /// Stores who is to be told why a task by hand was dropped, whose own reason is `withdrawn`.
    mutating func noteWithdrawn(
        _ fire: FireID,
        _ date: Timestamp?,
        of job: StoredJob,
        _ reason: FireReason
    ) throws {
        var event = Event(of: job, .fireSkipped, at: moment.wall)
        (event.fire, event.fireDate, event.reason) = (fire, date, reason.rawValue)
        try noteSkipped(event, of: job)
    }

    /// The fire's last run as its handler reads it: as on the wire.
    private func lastRun(of fire: FireID) throws -> [UInt8] {
        guard let run = try runs.last(of: fire) else { return [] }
        return try JSONValue(encoding: run).jsonBytes
    }
}
