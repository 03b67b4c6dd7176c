// SPDX-License-Identifier: Apache-2.0

import Schedules

/// When to look at what comes due by itself, and whether the store is being asked for it: one look at a time.
struct PlannedLook: Sendable {
    private var timer: (any ArmedTimer)?
    /// In elapsed time; nil if no look is planned.
    private(set) var date: Timestamp?
    /// Whether the store is being asked.
    private var isLooking = false
    /// Whether there is a reason to ask once more behind that.
    private var looksAgain = false

    /// Plans a look at `date`, unless one is planned by then; `arm` installs its timer.
    mutating func plan(at date: Timestamp, arm: () -> any ArmedTimer) {
        if let planned = self.date, planned <= date { return }
        cancel()
        (timer, self.date) = (arm(), date)
    }

    /// Has no look planned any more.
    mutating func cancel() {
        timer?.invalidate()
        (timer, date) = (nil, nil)
    }

    /// Begins a look; false while one is under way: then another one follows it.
    mutating func begin() -> Bool {
        guard !isLooking else {
            looksAgain = true
            return false
        }
        isLooking = true
        return true
    }

    /// Ends a look; returns whether there is a reason for another one.
    mutating func end() -> Bool {
        isLooking = false
        defer { looksAgain = false }
        return looksAgain
    }
}
