// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// When workers could not extend their leases, as the daemon hung or its database took no writes; in elapsed time.
///
/// A look at what is due waits for the same as the words of workers, so it is late by as long. A lease that ends in such a
/// gap, or so soon behind it that its worker may not have come through yet, is given once more. Only once, until its worker
/// extends it: the task of one that is gone comes back a lease later, also where each look is late.
struct LeaseGaps: Sendable {
    private struct Gap {
        let end: Timestamp
        /// As long behind it as it lasted: a worker waits for longer and longer before it tries again.
        let reach: Timestamp
    }

    /// The shortest lease: whoever was not heard for less could try again.
    private static let shortest = TimeSpan.milliseconds(100)

    /// They do not overlap, and each is kept for as long as it lasted: they are few.
    private var gaps: [Gap] = []
    /// When the last look was carried out; nil before the first.
    private var lookedAt: Timestamp?
    /// Until when leases are given once more.
    private var given: [FireID: Timestamp] = [:]

    /// Notes a look that was asked for at `asked`, and is carried out at `now`.
    ///
    /// `firstEnd`: when the first of the leases ended that it judges. `firstDue`: when the first task of all is due.
    mutating func look(
        askedAt asked: Timestamp,
        firstEnd: Timestamp?,
        firstDue: Timestamp?,
        at now: Timestamp
    ) {
        let oldest = min(asked, firstDue ?? asked)
        gaps.removeAll { $0.reach < oldest }
        given = given.filter { $0.value >= oldest }
        let start = max(min(asked, firstEnd ?? asked), lookedAt ?? asked)
        if now - start >= Self.shortest { gaps.append(Gap(end: now, reach: now + (now - start))) }
        lookedAt = now
    }

    /// Until when a lease that has ended at `end` is given once more; nil where its worker has lost it.
    mutating func renewal(of fire: FireID, lease: TimeSpan, endedAt end: Timestamp) -> Timestamp? {
        guard let lookedAt, given.removeValue(forKey: fire) != end,
            gaps.contains(where: { end <= $0.reach && end - lease < $0.end })
        else { return nil }
        let next = lookedAt + lease
        given[fire] = next
        return next
    }
}
