// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What somebody is to be told: stored in the transaction of the fact itself, so that a crash loses both or neither.
extension JobTransaction {
    var notices: NoticeStore { NoticeStore(database) }

    /// Stores who is to be told of the end of a fire's last attempt.
    ///
    /// `hasFailed`: it is known to have failed, whatever the job is by now.
    mutating func noteEnd(
        _ run: RunID,
        of job: StoredJob,
        _ ended: EndedRun,
        hasFailed: Bool = false
    ) throws {
        let rules = NoticeRules(job.policy.notices, terms.noticeDefaults)
        guard ended.handler == nil, !ended.isStopped, job.unread == nil,
            ended.outcome != .withdrawn
        else { return }
        let isSuccess = !hasFailed && job.policy.run.isSuccess(ended.outcome)
        guard rules.concernsRuns else {
            if isSuccess { try noteUntoldSuccess(of: job) }
            return
        }
        let isFailing = try notices.isFailing(job.id)
        if isFailing == isSuccess { try notices.setFailing(!isSuccess, job.id) }
        for reason in rules.reasons(ofEnd: isSuccess, isFailing: isFailing) {
            try tell(reason, rules, of: job) { $0.take(run, ended) }
        }
        guard let ping = rules.ping else { return }
        // What waits tells of a success that was before this end.
        try notices.deletePing(of: job.id)
        guard isSuccess else { return }
        // Only its URL is asked for: what is stored says for which run.
        let document = document(.ping, of: job) { ($0.fire, $0.run) = (ended.fire, run) }
        // The end of a run is stored late where no daemon was there, or the disk was full.
        let age = max(.zero, moment.wall - ended.endedAt)
        _ = try store(document, .ping, to: ping, of: job, age: age)
    }

    /// Ends the failure of a job whose ends nobody is told of now: whoever is told later is not to hear of a recovery
    /// that was long before.
    ///
    /// A job that is as it was added, and that no setting tells of, has no row to read.
    private func noteUntoldSuccess(of job: StoredJob) throws {
        let mayHaveRow =
            job.definitionRevision > 1 || job.policy.notices != nil
            || !terms.noticeDefaults.places.isEmpty
        if mayHaveRow, try notices.isFailing(job.id) { try notices.setFailing(false, job.id) }
    }

    /// Deletes the ping that waits of a job that is changed to have another, or none, and moves its summaries where they are to
    /// be held back for less, or for longer.
    ///
    /// So summaries are due `every` after the last notice, however often that is changed.
    mutating func noteChange(of job: StoredJob, to policy: NoticePolicy?) throws {
        if job.unread != nil || policy?.ping != job.policy.notices?.ping {
            try deletePing(of: job)
        }
        let longer =
            NoticeRules(policy, terms.noticeDefaults).every
            - NoticeRules(job.policy.notices, terms.noticeDefaults).every
        guard longer != .zero, job.unread == nil,
            try notices.moveSummaries(of: job.id, by: longer, at: moment.elapsed)
        else { return }
        outcome.noticeDate = moment.elapsed
    }

    /// Deletes the ping that waits of a job, which no longer says how the job is.
    func deletePing(of job: StoredJob) throws {
        // Whether one that cannot be read has a ping is not known.
        guard job.unread != nil || job.policy.notices?.ping != nil else { return }
        try notices.deletePing(of: job.id)
    }

    /// Stores who is to be told of dates that did not become fires.
    ///
    /// Not of those that a user let pass, beyond what is made up for of them either.
    mutating func noteSkipped(_ event: Event, of job: StoredJob) throws {
        guard missedFor != .paused, missedFor != .invalidated else { return }
        let rules = NoticeRules(job.policy.notices, terms.noticeDefaults)
        guard !rules.places.isEmpty, job.unread == nil,
            let why = event.reason.flatMap(FireReason.init(rawValue:)),
            let reason = rules.reason(ofSkipped: why)
        else { return }
        try tell(reason, rules, of: job) {
            ($0.fire, $0.run) = (event.fire, event.run)
            ($0.fireDate, $0.through, $0.dates) = (event.fireDate, event.through, event.dates)
            $0.skipped = why
        }
    }

    /// Stores who is to be told that a fire began late, if it did.
    mutating func noteBegin(
        _ fire: FireID,
        of job: StoredJob,
        fireDate: Timestamp,
        dueBy: Timestamp?,
        at begun: Timestamp,
        run: RunID? = nil
    ) throws {
        let rules = NoticeRules(job.policy.notices, terms.noticeDefaults)
        let lateness = begun - (dueBy ?? fireDate)
        guard rules.isLate(lateness), job.unread == nil else { return }
        try tell(.late, rules, of: job) {
            ($0.fire, $0.run, $0.fireDate, $0.startedAt) = (fire, run, fireDate, begun)
            $0.lateBy = "\(lateness)"
        }
    }

    private func document(
        _ reason: NoticeReason,
        of job: StoredJob,
        _ complete: (inout NoticeDocument) -> Void
    ) -> NoticeDocument {
        var document = NoticeDocument(
            reason: reason,
            job: job.id,
            name: job.definition.name,
            owner: job.owner.name
        )
        complete(&document)
        return document
    }

    private mutating func tell(
        _ reason: NoticeReason,
        _ rules: NoticeRules,
        of job: StoredJob,
        _ complete: (inout NoticeDocument) -> Void
    ) throws {
        let document = document(reason, of: job, complete)
        let last = try notices.limit(of: job.id, reason)
        // One that stands twice is told once.
        var seen: Set<NoticePlace> = []
        let places = rules.places.filter { seen.insert($0).inserted }
        // What there is no room for was not told: the next one is not to be held back for it.
        var (isStored, toldAt) = (false, moment.elapsed)
        switch NoticeLimit.decide(after: last, every: rules.every, at: moment.elapsed) {
        case .tell:
            for place in places {
                if try store(document, reason, to: place, of: job) { isStored = true }
            }
        case .hold(let date):
            toldAt = date
            // A place that is new since then gets a summary of its own.
            for place in places {
                if try notices.hold(document, reason, to: place, at: moment.wall, due: date) {
                    isStored = true
                } else if try store(
                    document,
                    reason,
                    to: place,
                    of: job,
                    notBefore: date,
                    held: 1
                ) {
                    isStored = true
                }
            }
        }
        if isStored { try notices.set(NoticeLimit(toldAt: toldAt), of: job.id, reason) }
    }

    /// Stores that a place is to be told; false if there is no room, so that it is counted in another notice.
    private mutating func store(
        _ document: NoticeDocument,
        _ reason: NoticeReason,
        to place: NoticePlace,
        of job: StoredJob,
        notBefore: Timestamp? = nil,
        held: Int = 0,
        age: TimeSpan = .zero
    ) throws -> Bool {
        // A ping takes the place of the one before: a job has one at most.
        if reason != .ping, try !makeRoom(for: place, of: job.ownerID, isSummary: held > 0) {
            try notices.drop(of: job.ownerID, at: place.text)
            return false
        }
        let date = notBefore ?? moment.elapsed
        try notices.insert(
            document,
            reason,
            to: place,
            of: job.ownerID,
            at: moment.wall,
            notBefore: date,
            held: held,
            age: age
        )
        outcome.noticeDate = min(date, outcome.noticeDate ?? date)
        return true
    }

    /// Makes room for one more notice, or summary, to a place; false if there is none.
    ///
    /// Where a user has as many as are kept, the place with most of them gives up its newest for a place with fewer. So a place
    /// that takes none keeps none from another.
    private func makeRoom(for place: NoticePlace, of owner: OwnerID, isSummary: Bool) throws -> Bool
    {
        let counts = try notices.counts(of: owner, areSummaries: isSummary)
        guard counts.reduce(0, { $0 + $1.count }) >= Limits.notices else { return true }
        let own = counts.first { $0.place == place.text }?.count ?? 0
        guard let fullest = counts.first, fullest.count > own + 1,
            let newest = try notices.newest(of: owner, at: fullest.place, isSummary: isSummary)
        else { return false }
        try notices.delete(newest.id)
        try notices.drop(of: owner, at: fullest.place, count: newest.count)
        return true
    }
}

extension NoticeDocument {
    fileprivate mutating func take(_ run: RunID, _ ended: EndedRun) {
        (fire, self.run, attempt) = (ended.fire, run, ended.attempt)
        (fireDate, startedAt, endedAt) = (ended.fireDate, ended.startedAt, ended.endedAt)
        let (word, code, _) = ended.outcome.columns
        outcome = word
        status = word == .exited ? code : nil
        signal = word == .signalled ? code : nil
        error = ended.error
        take(ended.output)
    }
}
