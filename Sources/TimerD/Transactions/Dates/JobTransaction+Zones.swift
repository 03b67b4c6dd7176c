// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Jobs whose zone gets other rules: their next dates are computed anew.
extension JobTransaction {
    /// How many jobs one write computes anew: it takes a few milliseconds.
    static let zonePiece = 32

    /// Looks whether the files of the zones in use are what dates were computed by.
    ///
    /// Bounded by the number of zones in use: a stat each, and a read of what has changed.
    mutating func lookAtZones() throws {
        var changes = ZoneChanges()
        for (id, name) in try zoneRules.names() {
            do throws(ScheduleError) {
                let rules = ZoneRules(name: name, zone: try terms.findZone(name))
                if rules.id != id { changes.stale[id] = rules }
            } catch {
                if error.code == .unreadZone {
                    // That the file could not be read says nothing of the rules: they are taken to be as the look before has
                    // found them.
                    changes.stale[id] = terms.zones.stale[id]
                    changes.gone[id] = terms.zones.gone[id]
                } else {
                    changes.gone[id] = error.message
                }
            }
        }
        terms.zones = changes
        outcome.zones = changes
    }

    /// Stores the rules that a job's dates are computed by.
    func remember(_ rules: ZoneRules) throws {
        KnownZoneRules.add(rules)
        try zoneRules.insert(rules)
    }

    /// Goes over to what the zones' files say, for a piece of the jobs by rules that are over: those after
    /// `cursor`.
    ///
    /// - Returns: where the next piece begins; nil after the last.
    mutating func followZone(of rules: ZoneRulesID, after cursor: JobID) throws -> JobID? {
        let ids = try zoneRules.jobs(by: rules, after: cursor, limit: Self.zonePiece)
        try followZones(ids)
        return ids.count == Self.zonePiece ? ids.last : nil
    }

    /// Goes over to what the zones' files say, for these jobs.
    ///
    /// A job whose fire has begun is left to the write that records the fire.
    mutating func followZones(_ ids: [JobID]) throws {
        for id in ids {
            guard let job = try jobs.job(id), let rules = job.rules else { continue }
            guard job.state.isLive else {
                // An ended job that may be restored keeps its rules: its restore takes its dates over from them to the new
                // ones.
                if let new = terms.zones.stale[rules], try !mayBeRestored(job) {
                    try setRules(new, of: id)
                }
                continue
            }
            // What cannot be read stays as it is until it can be.
            guard job.unread == nil, terms.zones.over.contains(rules) else { continue }
            try orHold(job) { try $0.followZone($1) }
        }
    }

    private mutating func followZone(_ job: StoredJob) throws {
        var job = job
        let date = job.fireDate
        let isRedelivered = try releaseClaim(of: &job)
        guard job.claim == nil else { return }
        if isRedelivered, let date {
            try advance(&job, past: date)
            try passTaken(&job)
        }
        if job.state == .paused { try followRules(&job) }
        try resolveAndPut(job)
    }

    /// Why the job's zone is gone; nil where it is there.
    func goneZone(of job: StoredJob) -> String? { job.rules.flatMap { terms.zones.gone[$0] } }

    /// Computes the next date of a job without a claim anew, if the rules that the job goes by are over.
    ///
    /// Where the new rules bring a local time once more that has fired or was dropped, a row keeps it from firing again; a
    /// local time that has not fired gets no row. `put` writes the job.
    /// - Returns: whether the change has made the next date one that has passed.
    @discardableResult
    mutating func followRules(_ job: inout StoredJob) throws -> Bool {
        guard let rules = job.rules.flatMap({ terms.zones.stale[$0] }), job.claim == nil else {
            return false
        }
        let old = job
        job.schedule = old.schedule.inZone(rules.zone)
        job.rules = rules.id
        try setRules(rules, of: job.id)
        guard let next = job.movedFrom ?? job.fireDate else { return false }
        let (now, wasAhead) = (moment.wall, next > moment.wall)
        let date = job.schedule.date(inPlaceOf: next, of: old.schedule, at: now)
        // These rows drop local times of the old rules; by the new rules the same instants are other local times.
        let begin = date ?? next
        for row in try fires.droppedAhead(of: job.id, before: next, reaching: begin) {
            try cut(row.id, from: row.first, through: begin - TimeSpan(microseconds: 1), of: old)
        }
        // A date that its user has moved stays where it was put, in place of the schedule's.
        if job.movedFrom != nil {
            job.movedFrom = date == job.fireDate ? nil : date ?? next
        } else {
            guard let date else {
                try end(&job, .finished, .exhausted)
                return false
            }
            job.fireDate = date
        }
        let end = begin - TimeSpan(microseconds: 1)
        if let again = job.schedule.nextFireDate(after: now), again <= end {
            let over = job.schedule.passedDates(from: again, through: end, newest: 1)
            let dates = MisfirePolicy.SkippedDates(
                first: again,
                last: over.last,
                count: over.count,
                reason: .zoneChanged
            )
            try skip(dates, of: &job)
        }
        if job.movedFrom == nil, let date, date != next {
            if let until = job.policy.until, date > until {
                try self.end(&job, .finished, .until)
                return false
            }
            try enqueue(.jobRescheduled, job, FireReason.zoneChanged.rawValue) {
                $0.fireDate = date
            }
        }
        return wasAhead && job.fireDate.map { $0 <= now } ?? false
    }

    private func setRules(_ rules: ZoneRules, of job: JobID) throws {
        try remember(rules)
        try zoneRules.set(rules.id, of: job)
    }
}
