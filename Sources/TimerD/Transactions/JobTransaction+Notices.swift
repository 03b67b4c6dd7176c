// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What somebody is to be told: stored in the transaction of the fact itself, so that a crash loses both or neither.
extension JobTransaction {
    var notices: NoticeStore { NoticeStore(database) }

    /// Stores who is to be told of the end of a fire's last attempt.
    mutating func noteEnd(_ run: RunID, of job: StoredJob, _ ended: EndedRun) throws {
        let rules = NoticeRules(job.policy.notices, noticeDefaults)
        guard rules.concernsRuns, ended.handler == nil, !ended.isStopped, job.unread == nil,
            ended.outcome != .withdrawn
        else { return }
        let isSuccess = job.policy.run.isSuccess(ended.outcome)
        let isFailing = try notices.isFailing(job.id)
        if isFailing == isSuccess { try notices.setFailing(!isSuccess, job.id) }
        for reason in rules.reasons(ofEnd: isSuccess, isFailing: isFailing) {
            try tell(reason, rules, of: job) { $0.take(run, ended) }
        }
        guard isSuccess, let ping = rules.ping else { return }
        try notices.deletePing(of: job.id)
        // Only its URL is asked for: what is stored says for which run.
        let document = document(.ping, of: job) { ($0.fire, $0.run) = (ended.fire, run) }
        try store(document, .ping, to: ping, of: job)
    }

    /// Stores who is to be told of dates that did not become fires.
    mutating func noteSkipped(_ event: Event, of job: StoredJob) throws {
        let rules = NoticeRules(job.policy.notices, noticeDefaults)
        guard !rules.places.isEmpty, job.unread == nil,
            let why = event.reason.flatMap(FireReason.init(rawValue:)),
            let reason = rules.reason(ofSkipped: why)
        else { return }
        try tell(reason, rules, of: job) {
            $0.fire = event.fire
            ($0.fireDate, $0.through, $0.dates) = (event.fireDate, event.through, event.dates)
            $0.skipped = why
        }
    }

    /// Stores who is to be told that a fire began late, if it did.
    mutating func noteBegin(
        _ fire: FireID,
        of job: StoredJob,
        fireDate: Timestamp,
        at begun: Timestamp,
        run: RunID? = nil
    ) throws {
        let rules = NoticeRules(job.policy.notices, noticeDefaults)
        guard rules.isLate(begun - fireDate), job.unread == nil else { return }
        try tell(.late, rules, of: job) {
            ($0.fire, $0.run, $0.fireDate, $0.startedAt) = (fire, run, fireDate, begun)
            $0.lateBy = "\(begun - fireDate)"
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
        switch NoticeLimit.decide(after: last, every: rules.every, at: moment.elapsed) {
        case .tell:
            for place in rules.places { try store(document, reason, to: place, of: job) }
            try notices.set(NoticeLimit(toldAt: moment.elapsed), of: job.id, reason)
        case .hold(let date):
            if last?.toldAt == date,
                try notices.hold(document, reason, at: moment.wall, due: date)
            {
                return
            }
            for place in rules.places {
                try store(document, reason, to: place, of: job, notBefore: date, held: 1)
            }
            try notices.set(NoticeLimit(toldAt: date), of: job.id, reason)
        }
    }

    private mutating func store(
        _ document: NoticeDocument,
        _ reason: NoticeReason,
        to place: NoticePlace,
        of job: StoredJob,
        notBefore: Timestamp? = nil,
        held: Int = 0
    ) throws {
        // A ping takes the place of the one before: a job has one at most.
        if reason != .ping,
            try notices.count(of: job.ownerID, limit: Limits.notices) >= Limits.notices
        {
            return try notices.drop(of: job.ownerID)
        }
        let date = notBefore ?? moment.elapsed
        try notices.insert(
            document,
            reason,
            to: place,
            of: job.ownerID,
            at: moment.wall,
            notBefore: date,
            held: held
        )
        outcome.noticeDate = min(date, outcome.noticeDate ?? date)
    }
}

extension NoticeDocument {
    fileprivate mutating func take(_ run: RunID, _ ended: EndedRun) {
        (fire, self.run, attempt) = (ended.fire, run, ended.attempt)
        (fireDate, startedAt, endedAt) = (ended.fireDate, ended.startedAt, ended.endedAt)
        let (word, code, text) = ended.outcome.columns
        outcome = word
        status = word == .exited ? code : nil
        signal = word == .signalled ? code : nil
        error = text
        take(ended.output)
    }
}
