// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// `daemon.metrics`: the numbers of the daemon, of all users together.
///
/// Counts run from the daemon's start; all other numbers are those of now.
public struct MetricsReply: Codable, Hashable, Sendable {
    public var version: String
    public var startedAt: Timestamp
    public var jobs: Jobs
    public var fires: Fires
    /// Dates that did not become a fire, by their reason; a reason that did not occur may be missing.
    public var skipped: [String: Int]
    public var runs: Runs
    public var store: Store
    public var clients: Clients
    public var process: Process
    /// Nil from a daemon that does not count them.
    public var notices: Notices?
    /// Nil from a daemon that does not count them, and while the database cannot be read.
    public var tasks: Tasks?
    /// By name; nil of a daemon that shares its jobs with no other, and while the nodes cannot be read.
    public var nodes: [Node]?

    public init(
        version: String,
        startedAt: Timestamp,
        jobs: Jobs,
        fires: Fires,
        skipped: [String: Int],
        runs: Runs,
        store: Store,
        clients: Clients,
        process: Process
    ) {
        self.version = version
        self.startedAt = startedAt
        self.jobs = jobs
        self.fires = fires
        self.skipped = skipped
        self.runs = runs
        self.store = store
        self.clients = clients
        self.process = process
    }

    /// What somebody is to be told.
    public struct Notices: Codable, Hashable, Sendable {
        /// Nil while the database cannot be read; so are `held` and `oldestAge`.
        public var waiting: Int?
        /// Summaries that are held back, before their first try.
        public var held: Int?
        /// How long the oldest that waits has done so, in seconds; 0 while none does.
        public var oldestAge: Double?
        public var handedOver: Int
        public var failedTries: Int
        public var givenUp: Int

        public init(
            waiting: Int?,
            held: Int?,
            oldestAge: Double?,
            handedOver: Int = 0,
            failedTries: Int = 0,
            givenUp: Int = 0
        ) {
            (self.waiting, self.held, self.oldestAge) = (waiting, held, oldestAge)
            (self.handedOver, self.failedTries) = (handedOver, failedTries)
            self.givenUp = givenUp
        }
    }

    /// Tasks of queues that are not over, of all users.
    public struct Tasks: Codable, Hashable, Sendable {
        public var ready: Int
        public var delayed: Int
        public var reserved: Int
        public var dead: Int
        /// How long the oldest that is ready has been so, in seconds; 0 while none is.
        public var oldestAge: Double

        public init(ready: Int, delayed: Int, reserved: Int, dead: Int, oldestAge: Double) {
            (self.ready, self.delayed, self.reserved) = (ready, delayed, reserved)
            (self.dead, self.oldestAge) = (dead, oldestAge)
        }
    }

    /// A daemon among several that share their jobs.
    public struct Node: Codable, Hashable, Sendable {
        public var name: String
        public var leads: Bool
        /// How far its clock is ahead of the database's, in seconds.
        public var clockDifference: Double
        /// How long its lease still runs, in seconds; negative once it is over.
        public var lease: Double
        /// Whether it drains; nil from a daemon that does not tell it, and so is `mayBegin`.
        public var drains: Bool?
        /// Whether commands may begin on it: it is there, does not drain, and its timerd-runner answers and has room.
        public var mayBegin: Bool?
        /// How many of its runs are in progress; nil from a daemon that does not tell it.
        public var running: Int?

        public init(
            name: String,
            leads: Bool,
            clockDifference: Double,
            lease: Double,
            drains: Bool? = nil,
            mayBegin: Bool? = nil,
            running: Int? = nil
        ) {
            (self.name, self.leads) = (name, leads)
            (self.clockDifference, self.lease) = (clockDifference, lease)
            (self.drains, self.mayBegin, self.running) = (drains, mayBegin, running)
        }

        /// As `node.list` has it, at `now` by the clock of the daemon that answers; `takesCommands`: whether that daemon may
        /// have commands begin on it.
        public init(_ node: NodeView, at now: Timestamp, takesCommands: Bool) {
            self.init(
                name: node.name,
                leads: node.leads,
                clockDifference: Double(node.clockDifference) / 1_000_000,
                lease: (node.leaseUntil - now).inSeconds,
                drains: node.state == .draining || node.drainingSince != nil,
                // The end of a connection may be noticed later than that of the lease.
                mayBegin: takesCommands && node.state != .gone,
                running: node.runs
            )
        }
    }

    /// Live jobs by state, and the timers of those that are due soon.
    public struct Jobs: Codable, Hashable, Sendable {
        /// Nil while the database cannot be read; so is `paused`.
        public var scheduled: Int?
        public var paused: Int?
        /// Those among the live ones that fire no date for now; nil as well from a daemon that does not count them.
        public var held: Int?
        /// Timers in the run loop.
        public var armed: Int
        /// Fires whose rows are on disk ahead of their dates.
        public var claimed: Int

        public init(scheduled: Int?, paused: Int?, held: Int? = nil, armed: Int, claimed: Int) {
            self.scheduled = scheduled
            self.paused = paused
            self.held = held
            self.armed = armed
            self.claimed = claimed
        }
    }

    public struct Fires: Codable, Hashable, Sendable {
        /// Fires of jobs without a command and a queue.
        public var event = 0
        public var command = 0
        /// Fires that became tasks of a queue; nil from a daemon that does not count them apart.
        public var task: Int? = 0
        /// Fires that were due and had to wait for their turn.
        public var waited = 0
        /// How long after its due date each fire began; fires by hand do not count.
        public var lateness = Histogram(bounds: [
            0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 10, 60, 3600,
        ])

        public init() {}
    }

    public struct Runs: Codable, Hashable, Sendable {
        /// Runs that have ended, by how; an outcome that did not occur may be missing.
        public var ended: [String: Int]
        /// Runs in progress.
        public var running: Int
        /// Fires that wait for a place among the runs.
        public var waitingForPlace: Int
        /// Fires whose command waits for something else: the run before it, its next attempt.
        public var waiting: Int
        /// Whether commands may begin: timerd-runner answers, and has room.
        public var mayBegin: Bool

        public init(
            ended: [String: Int],
            running: Int,
            waitingForPlace: Int,
            waiting: Int,
            mayBegin: Bool = true
        ) {
            self.mayBegin = mayBegin
            self.ended = ended
            self.running = running
            self.waitingForPlace = waitingForPlace
            self.waiting = waiting
        }

        /// How a run ended, as it is counted.
        public enum Outcome: String, CaseIterable, Sendable {
            /// With an exit status that is no failure.
            case success
            case failure, signalled, timedOut, notStarted, interrupted
            /// The command of `onFailure`, however it ended: it is no run of the job's own.
            case onFailure
            /// The same of `onSuccess`.
            case onSuccess
        }
    }

    public struct Store: Codable, Hashable, Sendable {
        /// Changes that were stored.
        public var writes: Int
        public var waiting: Int
        /// How long each commit took.
        public var commits: Histogram
        /// Whether the database takes writes.
        public var isWritable: Bool
        /// The sizes of the database and of its write-ahead log, in bytes.
        public var size: Int64
        public var logSize: Int64
        /// Records that can never be stored; nil from a daemon that does not count them, and so is `unstoredHolds`.
        public var dropped: Int?
        /// How many jobs are held for such a record whose hold could not be stored either.
        public var unstoredHolds: Int?

        public init(
            writes: Int,
            waiting: Int,
            commits: Histogram,
            isWritable: Bool,
            size: Int64,
            logSize: Int64,
            dropped: Int? = nil,
            unstoredHolds: Int? = nil
        ) {
            self.writes = writes
            self.waiting = waiting
            self.commits = commits
            self.isWritable = isWritable
            self.size = size
            self.logSize = logSize
            (self.dropped, self.unstoredHolds) = (dropped, unstoredHolds)
        }
    }

    public struct Clients: Codable, Hashable, Sendable {
        public var connections: Int
        public var watchers: Int
        /// Numbers of events that watchers asked for and that are no longer kept.
        public var eventsLost: Int64

        public init(connections: Int, watchers: Int, eventsLost: Int64) {
            self.connections = connections
            self.watchers = watchers
            self.eventsLost = eventsLost
        }
    }

    public struct Process: Codable, Hashable, Sendable {
        /// In bytes.
        public var residentMemory: Int64
        /// User and system time together, in seconds.
        public var processorTime: Double

        public init(residentMemory: Int64, processorTime: Double) {
            self.residentMemory = residentMemory
            self.processorTime = processorTime
        }
    }
}
