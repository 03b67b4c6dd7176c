// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import TimerControl

extension Event {
    /// What each event of a job has; it gets its number as it is told.
    init(of job: StoredJob, _ type: Kind, at date: Timestamp) {
        self.init(seq: 0, type: type, at: date, job: job.id)
        owner = job.owner
        ownerID = job.ownerID
        revision = job.revision
        name = job.definition.name
    }

    /// Whether it tells what a request has asked for, where it is told in the write of one; a date that is dropped for
    /// another reason is not.
    var isAsked: Bool {
        switch type {
        case .jobAdded, .jobChanged, .jobRescheduled, .jobPaused, .jobResumed, .jobInvalidated,
            .jobRestored, .jobFinished:
            true
        case .fireSkipped: reason == FireReason.skip.rawValue
        case .jobHeld, .jobReleased, .fireFired, .runStarted, .runFinished, .noticeFailed: false
        }
    }
}
