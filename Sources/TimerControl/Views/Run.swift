// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// What became of one fire of a job: a run of its command, an event, or the reason for neither.
///
/// `run.list` answers with one of these for each fire of a job, newest first.
public struct Run: Codable, Hashable, Sendable {
    /// The run's number; nil if the fire ran no command.
    public var id: RunID?
    public var job: JobID
    /// What the job is, or was, called; nil for a job without a name.
    public var name: String?
    /// Whose it is, in a list of all users' runs; nil elsewhere.
    public var owner: String?
    public var fire: FireID
    /// From 1; counts the retries of one fire.
    ///
    /// Nil if the fire ran no command, and for the commands of `onFailure` and `onSuccess`.
    public var attempt: Int?
    public var state: State
    /// What its command waits for, if `state` is `waiting`; of the last run of a fire that is not over, what the
    /// next one waits for.
    public var waitsFor: Wait?
    /// Of one that waits for a place: which limit keeps it from one; nil where none does, as its host or its turn does.
    public var limit: PlaceLimit?
    /// The scheduled date; for a range of skipped dates, the first.
    public var fireDate: Timestamp
    /// By when it is to begin, where jitter or tolerance puts off its date; else nil.
    public var dueBy: Timestamp?
    /// The last date of a range of skipped dates; nil for a single one.
    public var through: Timestamp?
    /// How many dates a range of skipped dates holds; nil for a single one.
    public var dates: Int?
    /// How many missed dates this fire stands for; nil for none.
    public var missed: Int?
    /// Why a fire was skipped, or that it was fired by hand (`manual`).
    public var reason: FireReason?
    public var firedAt: Timestamp?
    public var outcome: Outcome?
    /// True if it ended as a failure, by the rules that its job had then; else nil.
    public var failed: Bool?
    /// True if it was told to end: by `run.kill`, by `kill` of `job.invalidate`, or for a newer fire (`overlap` `replace`);
    /// else nil.
    public var stopped: Bool?
    /// By whom; nil as well where that is not known any more.
    public var stoppedBy: RunStop?
    /// The exit status, if `outcome` is `exited`.
    public var status: Int32?
    /// The signal's number, if `outcome` is `signalled`.
    public var signal: Int32?
    /// Why, if `outcome` is `notStarted`, `failed` or `lost`, or `signalled` for lack of memory; nil where nobody gave a reason.
    public var error: String?
    public var startedAt: Timestamp?
    public var endedAt: Timestamp?
    /// The node that it was on; nil of a daemon that shares its jobs with no other.
    public var node: String?
    /// True for the command of `onFailure`, which is no attempt of the job's own.
    public var onFailure: Bool?
    /// True for the command of `onSuccess`, which is none either.
    public var onSuccess: Bool?
    /// When the fire's next attempt comes, if this one failed and it has retries left; of a task also where its worker
    /// gave it back for later.
    public var nextAttemptAt: Timestamp?
    /// The processor time of the run's processes, in seconds.
    public var userTime: Double?
    public var systemTime: Double?
    /// The largest resident set of one of the run's processes, in bytes; of a run with a control group of its own, all
    /// that it had at once.
    public var peakMemory: Int64?
    /// How many processes of its group could not be ended: they became another user's, or no signal reaches
    /// them; nil for none.
    public var survivors: Int?
    /// Why the daemon cannot read all that is stored of it: it is of a newer version, or damaged; nil if it
    /// can.
    ///
    /// If set, the other fields hold what can be read.
    public var unread: String?

    public init(job: JobID, fire: FireID, state: State, fireDate: Timestamp) {
        self.job = job
        self.fire = fire
        self.state = state
        self.fireDate = fireDate
    }

    public typealias State = FireState
    public typealias Wait = FireWait

    public enum Outcome: String, Codable, Hashable, Sendable, CaseIterable {
        case exited, signalled, notStarted
        /// It took longer than its timeout, and was ended.
        case timedOut
        /// The daemon ended while it ran; how far it came is unknown.
        case interrupted
        /// Of a task: its worker has done it.
        case finished
        /// Its worker says that it has failed.
        case failed
        /// Its worker has given it back.
        case released
        /// Its worker's lease has ended, or its connection.
        case lost
    }

    /// How many commands may run at once, where that keeps one more from beginning.
    public struct PlaceLimit: Codable, Hashable, Sendable {
        public enum Setting: String, Codable, Hashable, Sendable, CaseIterable {
            /// Of all users; what root has for itself is not among the others' places.
            case maxRuns
            /// Of the owner.
            case maxRunsPerUser
        }

        public var setting: Setting
        public var places: Int
        /// True where these are the places that fires which are late may have.
        public var late: Bool?
        /// How many more there are that are root's alone; nil where there is none.
        public var keptForRoot: Int?

        public init(
            _ setting: Setting,
            _ places: Int,
            late: Bool? = nil,
            keptForRoot: Int? = nil
        ) {
            (self.setting, self.places) = (setting, places)
            (self.late, self.keptForRoot) = (late, keptForRoot)
        }
    }
}
