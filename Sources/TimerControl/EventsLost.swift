// SPDX-License-Identifier: Apache-2.0

/// Events that a subscription asked for and that are no longer kept; those that follow are sent.
public struct EventsLost: Codable, Hashable, Sendable {
    /// The last number that was asked for or sent before the gap.
    public var after: Int64
    /// The last number of the gap; some in it may have been of no interest, or never used.
    public var through: Int64

    public init(after: Int64, through: Int64) {
        self.after = after
        self.through = through
    }
}
