// SPDX-License-Identifier: Apache-2.0

public import Schedules

extension JobDefinition {
    /// What a definition states: a member for each option, nil where nothing is stated.
    public struct Words: Hashable, Sendable {
        public var schedule: ScheduleWords
        /// Unique among the owner's live jobs; nil for a job known by its id alone.
        public var name: String?
        /// The program and its arguments, run as given; nil for a job that is an event alone.
        public var command: [String]?
        /// Handed to the command on stdin and to watchers in events, byte for byte; at most 64 KiB and 32 levels.
        public var userInfo: JSONText?
        public var tags: [String]?
        /// The working directory of a run; nil for the owner's home.
        public var cwd: String?
        /// Variables that are added to the default environment of a run.
        public var env: [String: String]?
        /// Files of variables for a run, which its own process reads, as its owner; `-PATH` may lack.
        public var envFile: [String]?
        /// What is secret and a run finds as files in `$CREDENTIALS_DIRECTORY`: `NAME` or `NAME:FILE`.
        public var credentials: [String]?
        /// How long a run may take before it is ended; nil for no limit.
        public var timeout: String?
        /// How long after SIGTERM a run that does not end gets SIGKILL; default 5 s.
        public var killAfter: String?
        /// What a fire does while a run of the job is in progress; default `skip`.
        public var overlap: Overlap?
        /// How often a run that failed is tried again; default 0.
        public var retries: Int?
        /// `D` or `D..MAX`: the longest wait before the first retry; each further retry doubles it, up to MAX.
        public var backoff: String?
        /// The exit statuses that are no failure; default 0.
        public var successCodes: [Int32]?
        /// The command that is run once when a fire has failed for good, with the failed run as JSON on stdin.
        public var onFailure: [String]?
        /// The command that is run once when a fire has succeeded, with its run as JSON on stdin.
        public var onSuccess: [String]?
        /// Where notices of the job go: `mail:ADDRESS`, a URL, `command:LINE`, `desktop`; `none` for nowhere.
        public var notify: [String]?
        /// For what reasons: `failed`, `missed`, `skipped`, `late`, `recovered`, `succeeded`.
        public var notifyOn: [String]?
        /// How late a fire may begin before that is told.
        public var notifyLate: String?
        /// In this span after a notice further ones of the same reason are summed up; default 1 h.
        public var notifyEvery: String?
        /// A URL that is asked for whenever a run has succeeded.
        public var ping: String?
        /// Whether a run that was interrupted counts as failed, and is tried again.
        public var rerunInterrupted: Bool?
        /// Where what a run writes goes; default `keep`.
        public var output: Output?
        /// How much is kept of each stream of a run: bytes, or with K or M.
        public var outputKept: String?
        /// How many rows of the job's history are kept, the newest; nil for the daemon's number.
        public var keepRuns: Int?
        /// The host that its commands run on, by the name of a node or a label of it; nil for any.
        public var on: String?
        /// The queue that its fires become tasks of, in place of a command.
        public var queue: String?
        /// Of the tasks that are ready the higher one goes first; default 0.
        public var priority: Int?
        /// Adding a job with the key of one that is kept answers that one.
        public var key: String?
        /// How long after its end a job still has its key; default one day.
        public var keyKept: String?
        /// The niceness of a run, -20 to 19.
        public var nice: Int?
        /// The limit of a run's memory: bytes, or with K, M, G or T.
        public var memoryMax: String?
        /// From how much memory on a run is slowed down.
        public var memoryHigh: String?
        /// A run's share of processor time, 1 to 10000; the kernel's default is 100.
        public var cpuWeight: Int?
        /// The limit of a run's processor time, in percent of one processor: `50%`.
        public var cpuQuota: String?
        /// How many processes and threads a run may have.
        public var tasksMax: Int?
        /// A run's share of reading and writing, 1 to 10000; the kernel's default is 100.
        public var ioWeight: Int?
        /// The limit of the processor time of each process of a run.
        public var cpuTime: String?
        /// The file mode creation mask of a run, in octal; default 022.
        public var umask: String?
        /// The job ends after this many fires; nil for no limit.
        public var count: Int?
        /// The date after which it no longer fires.
        public var until: String?
        /// How late a fire may be on purpose, to share a wake-up; never more than half the interval.
        public var tolerance: String?
        /// Each fire is put off by less than this; for the same date always by the same time.
        public var jitter: String?
        /// What becomes of dates that passed without a fire: `once` (default), `skip` or `all`.
        public var misfire: Misfire?
        /// How many missed dates `all` makes up for, the newest ones; default 100.
        public var misfireLimit: Int?
        /// How old the latest date may be to fire as late instead of being missed; default 1 min.
        public var misfireAfter: String?
        /// A date that was due longer ago than this is never made up for; nil for no bound.
        public var misfireWindow: String?
        /// The job ends itself when this process has gone.
        public var whilePid: Int32?
        /// The job ends itself when the connection that added it is over.
        public var whileConnected: Bool?
        /// Added without being armed; `job.resume` arms it.
        public var paused: Bool?

        public init(schedule: ScheduleWords) { self.schedule = schedule }
    }

    public enum Misfire: String, Codable, Hashable, Sendable, CaseIterable {
        case once, skip, all

        static let words = allCases.map(\.rawValue)
    }

    public enum Output: String, Codable, Hashable, Sendable, CaseIterable {
        /// The database keeps its head and its tail.
        case keep
        /// The database keeps its head and its tail, and each line goes to the journal of systemd.
        case journal
        /// It is read and dropped.
        case drop = "none"

        static let words = allCases.map(\.rawValue)
    }

    public enum Overlap: String, Codable, Hashable, Sendable, CaseIterable {
        /// The date is skipped, with the reason.
        case skip
        /// One fire waits for the run's end; further dates are skipped.
        case queue
        /// Runs of the job may overlap.
        case allow
        /// The run in progress is ended, and the new one begins then.
        case replace

        static let words = allCases.map(\.rawValue)
    }
}
