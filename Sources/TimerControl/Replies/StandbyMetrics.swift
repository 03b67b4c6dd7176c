// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// The numbers of a daemon that stands by, of its own process and host; those of all users are told by the node that leads.
public struct StandbyMetrics: Hashable, Sendable {
    /// The name of the node.
    public var node: String
    public var version: String
    public var startedAt: Timestamp
    public var process: MetricsReply.Process
    /// Whether it takes part: the database answers it, and no other node has its name.
    public var isWritable: Bool
    /// Whether timerd-runner of its host answers; nil while no node leads for which it would run commands.
    public var runnerIsReady: Bool?

    public init(
        node: String,
        version: String,
        startedAt: Timestamp,
        process: MetricsReply.Process,
        isWritable: Bool,
        runnerIsReady: Bool?
    ) {
        (self.node, self.version, self.startedAt) = (node, version, startedAt)
        (self.process, self.isWritable) = (process, isWritable)
        self.runnerIsReady = runnerIsReady
    }
}
