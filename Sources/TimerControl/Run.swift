// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// What became of one fire of a job: a run of its command, an event, or the reason for neither.
///
/// `run.list` answers with one of these for each fire of a job, newest first.
public struct Run: Codable, Hashable, Sendable {
    /// The run's number; nil where the fire ran no command.
    public var id: RunID?
    public var job: JobID
    public var fire: FireID
    /// From 1; counts the retries of one fire.
    ///
    /// Nil where the fire ran no command, and for the command of `onFailure`.
    public var attempt: Int?
    public var state: State
    /// What its command waits for, where `state` is `waiting`.
    public var waitsFor: Wait?
    /// The scheduled date; for a range of skipped dates, the first.
    public var fireDate: Timestamp
    /// The last date of a range of skipped dates; nil for a single one.
    public var through: Timestamp?
    /// How many dates a range of skipped dates holds; nil for a single one.
    public var dates: Int?
    /// How many missed dates this fire stands for; nil for none.
    public var missed: Int?
    /// Why a fire was skipped, or why it came out of turn (`manual`).
    public var reason: FireReason?
    public var firedAt: Timestamp?
    public var outcome: Outcome?
    /// The exit status, where `outcome` is `exited`.
    public var status: Int32?
    /// The signal's number, where `outcome` is `signalled`.
    public var signal: Int32?
    /// Why the command could not be started, where `outcome` is `notStarted`.
    public var error: String?
    public var startedAt: Timestamp?
    public var endedAt: Timestamp?
    /// True for the command of `onFailure`, which is no attempt of the job's own.
    public var onFailure: Bool?
    /// When the fire's next attempt comes, where this one failed and it has retries left.
    public var nextAttemptAt: Timestamp?
    /// The processor time of the run's processes, in seconds.
    public var userTime: Double?
    public var systemTime: Double?
    /// The largest resident set of one of the run's processes, in bytes.
    public var peakMemory: Int64?
    /// How many processes of its group could not be ended with it: they had become another user's, or
    /// sleep where no signal reaches them; nil for none.
    public var survivors: Int?
    /// Why the daemon cannot read all that is stored of it: it is of a newer version, or damaged; nil
    /// where it can.
    ///
    /// Then the other fields say what can be read.
    public var unread: String?

    public init(job: JobID, fire: FireID, state: State, fireDate: Timestamp) {
        self.job = job
        self.fire = fire
        self.state = state
        self.fireDate = fireDate
    }

    public enum State: String, Codable, Hashable, Sendable, CaseIterable {
        /// The fire is committed ahead of its date.
        case claimed
        /// The event went out; there is no command.
        case fired
        /// Its command waits, for what `waitsFor` says.
        case waiting
        case running
        case done
        case skipped
        /// Its state is what cannot be read; `unread` says why.
        case unreadable
    }

    public enum Wait: String, Codable, Hashable, Sendable, CaseIterable {
        /// A place among the runs that the daemon's limits allow at once; those that wait for one
        /// get it in order, the users in turn.
        case place
        /// The end of the job's run in progress.
        case run
        /// The time of its next attempt.
        case retry
        /// The start of the command that the job wants run when a fire has failed.
        case onFailure
    }

    public enum Outcome: String, Codable, Hashable, Sendable, CaseIterable {
        case exited, signalled, notStarted
        /// It took longer than its timeout, and was ended.
        case timedOut
        /// The daemon ended while it ran; how far it came is unknown.
        case interrupted
    }

    /// Whether the run ended as a failure; nil while that is not known, or for an event.
    public var hasFailed: Bool? {
        outcome.map { $0 != .exited || status != 0 }
    }
}

/// Why a date did not become a fire, or became one out of turn.
public enum FireReason: String, Codable, Hashable, Sendable, CaseIterable {
    /// The date passed while nobody could fire it; `misfire` decided against making up for it.
    case misfire
    /// The date was missed, and another fire stands for it.
    case coalesced
    /// More dates were missed than `misfireLimit` makes up for.
    case misfireLimit
    /// The date was missed longer ago than `misfireWindow`.
    case misfireWindow
    /// The date passed while the job's fire waited for its turn: its user's fires were more than a
    /// user's share.
    case overload
    /// A run of the job was still in progress.
    case overlap
    /// Fired by `job.fire`, not by the schedule.
    case manual
    /// Dropped by `job.skip`.
    case skip
    /// The next fire was moved, by `job.setFireDate`, and stands for this date.
    case moved
    /// The job was paused.
    case paused
    /// The wall clock was set forward over it.
    case clockStepped
    /// The rules of the job's zone have changed: its local time passed with that, or had been before.
    case zoneChanged
    /// The job was ended before the date, which had come, could fire, or its command run.
    case invalidated
    /// The job was held: it could not be read, or its owner was gone.
    case held
    /// Fired by hand, and dropped before its command began: the job was ended, or a newer fire replaced it.
    case withdrawn

    /// The reason in words, to follow "skipped: ".
    public var sentence: String {
        switch self {
        case .misfire: "missed, and not made up for (misfire policy)"
        case .coalesced: "missed; one later fire stands for it"
        case .misfireLimit: "missed, and beyond the number that is made up for (misfire limit)"
        case .misfireWindow: "missed too long ago to be made up for (misfire window)"
        case .overload: "missed; its user's fires were more than maxFiresPerSecondPerUser"
        case .held: "the job was held"
        case .withdrawn: "fired by hand, and ended or replaced before its command began"
        case .overlap: "the run before was still in progress"
        case .manual: "fired by hand"
        case .skip: "dropped on request (skip)"
        case .moved: "the fire was moved to another date (set-fire-date)"
        case .paused: "the job was paused"
        case .clockStepped: "the clock was set forward over it"
        case .zoneChanged: "the rules of its time zone have changed"
        case .invalidated: "the job was ended before it could fire"
        }
    }
}
