// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules

/// When to look whether held jobs may go on; all dates are elapsed time.
struct HeldJobs: Sendable {
    /// The time between two looks, while something is held.
    static let rhythm = TimeSpan.seconds(60)

    /// When to look next; nil while nothing is held, or a look is under way.
    private(set) var date: Timestamp?
    private(set) var isLooking = false
    /// Whether a look at all of them was asked for while one was under way, which may have passed some by.
    private var isAskedAgain = false
    /// The last job of the piece before; the next piece begins after it.
    var cursor = JobID(rawValue: 0)
    /// Jobs with open fires that are still to be recovered: unreadable when the daemon started, or with a
    /// dropped record.
    var leftOpen: Set<JobID> = []
    /// Jobs whose hold could not be stored, with its reason: the next look tries again.
    var unstored: [JobID: String] = [:]

    func isDue(now: Timestamp) -> Bool { date.map { $0 <= now } ?? false }

    /// Something is held.
    mutating func found(now: Timestamp) {
        if date == nil, !isLooking { date = now + Self.rhythm }
    }

    /// Begins a look; false while one is under way: then one at `all` follows it.
    mutating func begin(all: Bool) -> Bool {
        guard !isLooking else {
            if all { isAskedAgain = true }
            return false
        }
        isLooking = true
        date = nil
        return true
    }

    /// Ends a look.
    ///
    /// - Returns: whether another one was asked for meanwhile.
    mutating func ended(isAnyHeld: Bool, now: Timestamp) -> Bool {
        isLooking = false
        date = isAnyHeld ? now + Self.rhythm : nil
        defer { isAskedAgain = false }
        return isAskedAgain
    }
}
