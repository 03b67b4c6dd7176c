// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// Where a page of `run.list` ended: to be given back as it came.
public struct RunCursor: Codable, Hashable, Sendable {
    /// The date by which the last fire stands in the list.
    public var date: Timestamp
    public var fire: FireID
    /// Its attempt; nil where it has none.
    public var run: RunID?

    public init(date: Timestamp, fire: FireID, run: RunID?) {
        (self.date, self.fire, self.run) = (date, fire, run)
    }
}
