// SPDX-License-Identifier: Apache-2.0

/// When a timer is due: pure arithmetic, no clock and no run loop.
///
/// The dates of a repeating timer lie on the grid `due + n * interval`. The grid is whole
/// nanoseconds, so no callout, however late or slow, moves a later date.
struct Rhythm {
    /// The shortest interval of a repeating timer, 0.1 ms: the one that Foundation documents.
    static let shortestInterval: Int64 = 100_000

    /// In nanoseconds; nil for a one-shot.
    let interval: Int64?

    /// The next date, or the one whose callout is running.
    private(set) var due: MonotonicTime

    /// The dates that passed without a callout since the one before the current.
    private(set) var missed = 0

    /// The dates that passed while the last callout ran.
    private var slept = 0

    init(due: MonotonicTime, interval: Int64?) {
        self.due = due
        self.interval = interval.map { max($0, Self.shortestInterval) }
    }

    /// Lays the grid anew, from `due`.
    mutating func move(to due: MonotonicTime) {
        self.due = due
        slept = 0
    }

    /// Begins the callout that `now` is due for: of all the dates that have passed, the latest.
    ///
    /// - Returns: nil, and nothing has changed, if no date has come yet; else how far `due` moved,
    ///   in nanoseconds.
    mutating func begin(at now: MonotonicTime) -> Int64? {
        guard due <= now else { return nil }
        let passed = interval.map { (now - due) / $0 } ?? 0
        let moved = passed * (interval ?? 0)
        missed = slept + Int(passed)
        slept = 0
        due = due + moved
        return moved
    }

    /// Ends the callout: the next date is the first one after `now`.
    ///
    /// Dates that passed during the callout are missed, so a callout slower than its interval
    /// leaves room for other timers.
    ///
    /// - Returns: false for a one-shot, which has no next date.
    mutating func end(at now: MonotonicTime) -> Bool {
        guard let interval else { return false }
        let passed = (now - due) / interval
        slept = Int(passed)
        due = due + (passed + 1) * interval
        return true
    }

    /// The instant to wake up at: the roundest one that is at most `tolerance` after the date.
    ///
    /// Roundest means divisible by the largest power of two, so timers that know nothing of each
    /// other choose the same instants and share their wake-ups.
    ///
    /// - Parameter tolerance: In nanoseconds; a repeating timer uses at most half its interval.
    /// - Returns: The date itself without tolerance.
    func wakeUp(tolerance: Int64) -> MonotonicTime {
        let latest = due.nanoseconds + min(tolerance, interval.map { $0 / 2 } ?? tolerance)
        guard due.nanoseconds < latest else { return due }
        // The bits below the highest one in which the last instant too early and the latest
        // instant allowed differ are free: an instant with all of them zero lies between the two.
        let differing = UInt64(bitPattern: (due.nanoseconds - 1) ^ latest)
        let free = UInt64.max >> (UInt64(differing.leadingZeroBitCount) + 1)
        return MonotonicTime(nanoseconds: latest & ~Int64(bitPattern: free))
    }
}
