// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// A daemon among several that share their jobs.
public struct NodeView: Codable, Hashable, Sendable {
    public var name: String
    public var state: State
    public var version: String
    /// The name of its machine, as uname(2) has it; nil if it has told none.
    public var host: String?
    /// What jobs may call it in `on`, beside its name.
    public var labels: [String] {
        get { statedLabels ?? [] }
        set { statedLabels = newValue.isEmpty ? nil : newValue }
    }
    /// Left out on the wire where there are none.
    private var statedLabels: [String]?
    public var startedAt: Timestamp?
    /// When its lease ends, or has ended; by the clock of the daemon that answers.
    public var leaseUntil: Timestamp
    /// How far its clock is ahead of the database's, in µs; negative where it is behind.
    public var clockDifference: Int64
    /// How many of its runs are in progress; nil if that is not known.
    public var runs: Int?
    /// The number of its lead; nil of a node that does not lead.
    public var epoch: Int64?
    /// Since when it drains; nil if it does not, or if that is not known.
    public var drainingSince: Timestamp?
    /// True where it is there and its timerd-runner does not answer, so that no command begins on it; else nil.
    public var runnerIsSilent: Bool?

    private enum CodingKeys: String, CodingKey {
        case name, state, version, host, startedAt, leaseUntil, clockDifference, runs, epoch
        case drainingSince, runnerIsSilent
        case statedLabels = "labels"
    }

    public enum State: String, Codable, Hashable, Sendable, CaseIterable {
        case leading
        /// It takes over where the node that leads is gone.
        case standby
        /// It begins nothing; it leads until its runs have ended, if it led before.
        case draining
        /// Its lease is over.
        case gone
    }

    public init(
        name: String,
        state: State,
        version: String,
        host: String? = nil,
        labels: [String] = [],
        startedAt: Timestamp? = nil,
        leaseUntil: Timestamp,
        clockDifference: Int64 = 0,
        runs: Int? = nil,
        epoch: Int64? = nil,
        drainingSince: Timestamp? = nil
    ) {
        (self.name, self.state, self.version, self.host) = (name, state, version, host)
        (self.startedAt, self.leaseUntil) = (startedAt, leaseUntil)
        (self.clockDifference, self.runs, self.epoch) = (clockDifference, runs, epoch)
        self.drainingSince = drainingSince
        self.labels = labels
    }

    /// Whether it leads, also while it drains.
    public var leads: Bool { epoch != nil }

    /// The difference of clocks from which on something has to be done about it: later nodes fire by other clocks.
    public static let clockLimit = TimeSpan.milliseconds(100)

    /// Whether its clock is further from the database's than that; not of one that is gone, whose clock nobody knows.
    public var isClockOff: Bool {
        state != .gone && clockDifference.magnitude > Self.clockLimit.microseconds.magnitude
    }
}

/// `node.list`.
public struct NodesReply: Codable, Hashable, Sendable {
    /// By name; empty of a daemon that shares its jobs with no other.
    public var nodes: [NodeView]
    /// The time of the daemon that answers, for how long leases still run.
    public var now: Timestamp

    public init(nodes: [NodeView], now: Timestamp) { (self.nodes, self.now) = (nodes, now) }
}

/// `node.drain`.
public struct NodeReply: Codable, Hashable, Sendable {
    public var node: NodeView

    public init(node: NodeView) { self.node = node }
}
