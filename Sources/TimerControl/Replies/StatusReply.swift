// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// `daemon.status`.
public struct StatusReply: Codable, Hashable, Sendable {
    public var version: String
    public var pid: Int32
    public var startedAt: Timestamp
    public var now: Timestamp
    public var database: String
    public var socket: String
    /// Jobs by state; live ones alone, so that the answer does not grow with history.
    ///
    /// Nil while the database cannot be read.
    public var scheduled: Int?
    public var paused: Int?
    /// How many of them are held; nil as above.
    public var held: Int?
    /// Jobs whose timers are in the loop.
    public var armed: Int
    /// Runs in progress.
    public var running: Int
    /// Fires whose command waits: for a place, another run's end, its next attempt or its failure's command.
    public var waiting: Int
    /// How many commands may run at once, on all hosts that take them; nil of a daemon before this was told.
    public var maxRuns: Int?
    /// How many of these places are root's alone; nil where none is.
    public var keptForRoot: Int?
    /// The same of each user; nil where that bounds nothing more.
    public var maxRunsPerUser: Int?
    /// How many runs a job may have kept; nil of a daemon before this was told.
    public var maxRunsKept: Int?
    public var connections: Int
    public var watchers: Int
    /// The newest event's number.
    public var seq: Int64
    /// The next fire date of all jobs; nil when nothing waits.
    public var nextFireDate: Timestamp?
    /// Why the database cannot be written or read; nil while it can.
    public var trouble: String?
    /// What can never be stored; nil where that is nothing.
    public var dropped: Dropped?

    /// Records that can never be stored, whatever room there is, of all users.
    public struct Dropped: Codable, Hashable, Sendable {
        /// How many there were since the daemon's start.
        public var records: Int
        /// How many jobs are held for one whose hold could not be stored either, which `held` does not count.
        public var unstoredHolds: Int

        public init(records: Int, unstoredHolds: Int = 0) {
            (self.records, self.unstoredHolds) = (records, unstoredHolds)
        }
    }

    /// Who is in maintenance, for all that the caller may know; nil while nobody is.
    public var maintenance: [Maintenance]?

    /// A user whose jobs are paused until the maintenance ends.
    public struct Maintenance: Codable, Hashable, Sendable {
        public var owner: String
        public var since: Timestamp

        public init(owner: String, since: Timestamp) { (self.owner, self.since) = (owner, since) }
    }

    /// What counts for runs of jobs that do not say it, by their options; nil for nothing.
    public var defaults: [String: JSONValue]?

    /// What somebody is to be told; nil while the database cannot be read.
    public var notices: Notices?

    /// An administrator's are those of all users, another user's are their own.
    public struct Notices: Codable, Hashable, Sendable {
        /// How many wait to be handed over.
        public var waiting: Int
        /// How many summaries are held back.
        public var held: Int
        /// When the oldest that waits was stored.
        public var oldest: Timestamp?
        /// How many were given up since the daemon's start; for administrators.
        public var givenUp: Int?

        public init(waiting: Int, held: Int = 0, oldest: Timestamp? = nil, givenUp: Int? = nil) {
            (self.waiting, self.held, self.oldest) = (waiting, held, oldest)
            self.givenUp = givenUp
        }
    }

    /// What limits runs here; nil until that is known.
    public var controlGroups: ControlGroups?

    /// The control groups of runs.
    public struct ControlGroups: Codable, Hashable, Sendable {
        /// Whether each run has one.
        public var perRun: Bool
        /// What they limit, by the kernel's names: `memory`, `cpu`, `pids`, `io`.
        public var controllers: [String]
        /// Why there are none, or what they lack; nil where nothing is missing.
        public var lack: String?

        public init(perRun: Bool, controllers: [String], lack: String?) {
            (self.perRun, self.controllers, self.lack) = (perRun, controllers, lack)
        }
    }

    /// What minds the runs; nil until that is known.
    public var runner: Runner?

    /// `timerd-runner`.
    public struct Runner: Codable, Hashable, Sendable {
        /// Nil while it does not answer; so is the version.
        public var pid: Int32?
        public var version: String?
        /// How many runs it has that have not ended, as far as is known.
        public var runs: Int
        /// Why commands wait, or, of daemons that share their jobs, why none begins on the node that answers; nil where they begin.
        public var trouble: String?
        /// Since when they do.
        public var troubleSince: Timestamp?
        /// How many commands wait for a host that is not there, and for which, in words; nil where none does.
        public var absentHosts: String?
        /// Why those hosts take none, each reason once; nil where no command waits for one.
        public var absences: [Absence]?
        /// Whether `trouble` is that its node drains, as an administrator has asked for.
        public var drains: Bool?
        /// Runs that go on though the database does not have them in progress, the first 64; for administrators, nil for none.
        public var strays: [Stray]?

        public init(
            pid: Int32?,
            version: String?,
            runs: Int,
            trouble: String? = nil,
            troubleSince: Timestamp? = nil,
            absentHosts: String? = nil,
            absences: [Absence]? = nil,
            drains: Bool? = nil,
            strays: [Stray]? = nil
        ) {
            (self.pid, self.version, self.runs) = (pid, version, runs)
            (self.absentHosts, self.absences) = (absentHosts, absences)
            (self.drains, self.strays) = (drains, strays)
            (self.trouble, self.troubleSince) = (trouble, troubleSince)
        }

        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            pid = try values.decodeIfPresent(Int32.self, forKey: .pid)
            version = try values.decodeIfPresent(String.self, forKey: .version)
            runs = try values.decode(Int.self, forKey: .runs)
            trouble = try values.decodeIfPresent(String.self, forKey: .trouble)
            troubleSince = try values.decodeIfPresent(Timestamp.self, forKey: .troubleSince)
            absentHosts = try values.decodeIfPresent(String.self, forKey: .absentHosts)
            // A newer daemon may know reasons that this client has no name for: they are passed over.
            absences = try values.decodeIfPresent([String].self, forKey: .absences)?
                .compactMap { Absence(rawValue: $0) }
            drains = try values.decodeIfPresent(Bool.self, forKey: .drains)
            strays = try values.decodeIfPresent([Stray].self, forKey: .strays)
        }
    }

    /// A run that goes on though the database does not have it in progress, as after a restore.
    public struct Stray: Codable, Hashable, Sendable {
        /// Its number; the database may have no run of it.
        public var run: RunID
        /// Of its first process, which is its process group too.
        public var pid: Int32

        public init(run: RunID, pid: Int32) { (self.run, self.pid) = (run, pid) }
    }

    /// Why a host takes no command that waits for it.
    public enum Absence: String, Codable, Hashable, Sendable, CaseIterable {
        /// No node that has come is called that.
        case unknown
        /// Nothing is heard of its node.
        case gone
        /// Its node is there, and its timerd-runner does not answer.
        case silent
        /// Its node drains, as an administrator has asked for.
        case drains
    }

    /// What the last reload of the configuration has left to be done; nil for nothing, and for others than administrators.
    public var reload: Reload?

    /// What is not in force of a configuration that was read again.
    public struct Reload: Codable, Hashable, Sendable {
        /// Why the last one was refused, as a start would be; nil where it was taken.
        public var refused: String?
        /// When it was.
        public var refusedAt: Timestamp?
        /// The settings that were changed and wait for a restart; nil for none.
        public var waiting: [String]?

        public init(
            refused: String? = nil,
            refusedAt: Timestamp? = nil,
            waiting: [String]? = nil
        ) {
            (self.refused, self.refusedAt, self.waiting) = (refused, refusedAt, waiting)
        }
    }

    /// The node that answers, which leads; nil of a daemon that shares its jobs with no other.
    public var node: Node?

    /// The node that leads, and who takes over from it.
    public struct Node: Codable, Hashable, Sendable {
        public var name: String
        /// Since when it leads.
        public var leadsSince: Timestamp
        /// The number of its lead: each take-over has one more.
        public var epoch: Int64
        /// The names of the nodes that stand by.
        public var standby: [String]

        public init(name: String, leadsSince: Timestamp, epoch: Int64, standby: [String]) {
            (self.name, self.leadsSince) = (name, leadsSince)
            (self.epoch, self.standby) = (epoch, standby)
        }
    }

    public init(
        version: String,
        pid: Int32,
        startedAt: Timestamp,
        now: Timestamp,
        database: String,
        socket: String,
        scheduled: Int?,
        paused: Int?,
        held: Int? = nil,
        armed: Int,
        running: Int,
        waiting: Int = 0,
        connections: Int,
        watchers: Int,
        seq: Int64,
        nextFireDate: Timestamp?,
        trouble: String?
    ) {
        self.version = version
        self.pid = pid
        self.startedAt = startedAt
        self.now = now
        self.database = database
        self.socket = socket
        self.scheduled = scheduled
        self.paused = paused
        self.held = held
        self.armed = armed
        self.running = running
        self.waiting = waiting
        self.connections = connections
        self.watchers = watchers
        self.seq = seq
        self.nextFireDate = nextFireDate
        self.trouble = trouble
    }
}
