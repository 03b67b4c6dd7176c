// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Which rows of a list of runs are shown: so many of what has come, the newest first, and then as many at most of the dates
/// that are still ahead and are skipped already, of these the nearest; pure.
///
/// A list has the latter first, as many as somebody has skipped.
struct RunsFound {
    struct Row {
        var run: Run
        /// As the daemon has sent it; empty where nobody asks for that.
        var line = ""
    }

    private let number: Int
    private let now: Timestamp
    /// How many have come, and are shown.
    private var count = 0
    private(set) var ahead: [Row] = []
    /// How many rows to ask for next.
    private(set) var limit: Int

    private static let mostOfPage = 1000

    init(_ number: Int, now: Timestamp) {
        (self.number, self.now) = (number, now)
        limit = min(number, Self.mostOfPage)
    }

    var isFull: Bool { count >= number }
    var isEmpty: Bool { count == 0 && ahead.isEmpty }

    /// Takes the next page; returns what of it has come and is shown.
    mutating func take(_ page: [Row]) -> [Row] {
        let isAhead = page.map { $0.run.state == .skipped && $0.run.fireDate > now }
        let come = zip(page, isAhead).filter { !$0.1 }.prefix(number - count).map(\.0)
        count += come.count
        ahead = (ahead + zip(page, isAhead).filter(\.1).map(\.0)).suffix(number)
        // Where many are ahead, they are passed in few steps.
        let next = isAhead.contains(true) ? max(limit * 2, number - count) : number - count
        limit = min(next, Self.mostOfPage)
        return come
    }
}
