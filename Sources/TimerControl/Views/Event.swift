// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// Something that happened to a job, numbered and kept.
///
/// `seq` grows with each event and is never used again, not even after a crash; numbers may be skipped. A
/// client that has seen all up to `seq` asks for the events after it with `since`.
public struct Event: Codable, Hashable, Sendable {
    public var seq: Int64
    public var type: Kind
    /// When it happened.
    public var at: Timestamp
    public var job: JobID
    public var name: String?
    public var fire: FireID?
    public var fireDate: Timestamp?
    /// Of a fire: by when it was to begin, where jitter or tolerance puts off its date.
    public var dueBy: Timestamp?
    /// The last date and the number of dates, if a range was skipped.
    public var through: Timestamp?
    public var dates: Int?
    public var firedAt: Timestamp?
    public var userInfo: JSONText?
    /// How many missed dates this fire stands for; nil for none.
    public var missed: Int?
    /// True if watchers may have seen this event before a crash; the fire's id is the same then.
    public var redelivered: Bool?
    /// Why a fire was skipped, that it was manual, why a job ended or is held, or why a command did not
    /// start.
    public var reason: String?
    /// Of a fire that was skipped: the run in progress that kept it from beginning; nil where that is not why.
    public var run: RunID?
    /// Nil for the commands of `onFailure` and `onSuccess`, which are no attempts of the job's own.
    public var attempt: Int?
    /// True for the command of `onFailure`.
    public var onFailure: Bool?
    /// True for the command of `onSuccess`.
    public var onSuccess: Bool?
    /// `administrator`: one who is not the job's owner has asked for it; nil where its owner has, or nobody.
    public var by: String?
    public var outcome: Run.Outcome?
    /// Of a run's end: whether it was a failure, by the rules that its job had then; nil of an event that was stored before
    /// this was.
    public var failed: Bool?
    public var status: Int32?
    public var signal: Int32?
    /// Whose job it is: it decides who is sent the event, and is not sent with it.
    package var owner: Owner?
    /// The number of the owner's row.
    package var ownerID: OwnerID?
    /// Which of the job's names and userInfo it tells, known inside the daemon alone.
    package var revision: Int64 = 1

    public init(seq: Int64, type: Kind, at: Timestamp, job: JobID) {
        self.seq = seq
        self.type = type
        self.at = at
        self.job = job
    }

    /// All but what is known inside the daemon alone.
    enum CodingKeys: String, CodingKey {
        case seq, type, at, job, name, fire, fireDate, dueBy, through, dates, firedAt, userInfo
        case missed, redelivered, reason, run, attempt, onFailure, onSuccess, outcome, status
        case signal, by, failed
    }

    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        case jobAdded = "job.added"
        case jobChanged = "job.changed"
        case jobRescheduled = "job.rescheduled"
        case jobPaused = "job.paused"
        case jobResumed = "job.resumed"
        case jobInvalidated = "job.invalidated"
        case jobRestored = "job.restored"
        case jobFinished = "job.finished"
        case jobHeld = "job.held"
        case jobReleased = "job.released"
        case fireFired = "fire.fired"
        case fireSkipped = "fire.skipped"
        case runStarted = "run.started"
        case runFinished = "run.finished"
        case noticeFailed = "notice.failed"
    }
}
