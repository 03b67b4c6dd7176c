// SPDX-License-Identifier: Apache-2.0

/// Events that a subscription asked for and that are no longer kept; the events after them are sent.
public struct EventsLost: Codable, Hashable, Sendable {
    /// The last number that was asked for or sent before the gap.
    public var after: Int64
    /// The last number of the gap; the subscription may not have wanted all in it, and some were never used.
    public var through: Int64

    public init(after: Int64, through: Int64) {
        self.after = after
        self.through = through
    }
}
