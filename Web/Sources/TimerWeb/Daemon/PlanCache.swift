// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import TimerWords

/// How many dates are to come, kept for as long as it was dear to count them.
///
/// A page that renews itself with each event would have the daemon count the dates of all jobs each time, for a
/// picture. What took 5 ms is counted anew after 0.1 s, what took 500 ms after 10 s.
final class PlanCache: Sendable {
    /// Of the daemon's time at most a twentieth.
    private static let share = 20

    private struct Plan {
        var from: Timestamp
        var before: Timestamp
        var counts: [Timestamp: Int]
        var until: ContinuousClock.Instant
    }

    private let plan = Locked<Plan?>(nil)

    func counts(
        from: Timestamp,
        before: Timestamp,
        _ count: () async throws -> [Timestamp: Int]
    ) async rethrows -> [Timestamp: Int] {
        let began = ContinuousClock.now
        let known = plan.withLock { plan in
            plan.flatMap { $0.from == from && $0.before == before && $0.until > began ? $0 : nil }
        }
        if let known { return known.counts }
        let counts = try await count()
        let end = ContinuousClock.now
        plan.withLock {
            $0 = Plan(
                from: from,
                before: before,
                counts: counts,
                until: end + (end - began) * Self.share
            )
        }
        return counts
    }
}
