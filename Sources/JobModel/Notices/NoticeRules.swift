// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// For what reasons somebody is told of what has happened to a job; pure.
package struct NoticeRules: Sendable {
    /// Where its notices go; empty for nowhere.
    package var places: [NoticePlace]
    package var reasons: Set<NoticeReason>
    package var late: TimeSpan
    package var every: TimeSpan
    package var ping: NoticePlace?

    /// The job's own options, and where it has none the daemon's.
    package init(_ policy: NoticePolicy?, _ defaults: NoticePolicy.Defaults) {
        places = policy?.places ?? defaults.places
        reasons = policy?.reasons ?? defaults.reasons
        // Who says how late is too late wants to be told of it.
        if policy?.late != nil, policy?.reasons == nil { reasons.insert(.late) }
        late = policy?.late ?? NoticePolicy.standardLate
        every = (policy ?? NoticePolicy()).every
        ping = policy?.ping
    }

    /// Whether the failures and successes of its runs concern anybody.
    package var concernsRuns: Bool {
        ping != nil
            || !places.isEmpty && !reasons.isDisjoint(with: [.failed, .recovered, .succeeded])
    }

    /// What the end of a fire's last attempt is a reason for.
    ///
    /// `isFailing`: whether the fire before it failed.
    package func reasons(ofEnd isSuccess: Bool, isFailing: Bool) -> [NoticeReason] {
        var found: [NoticeReason] = []
        if !isSuccess { found.append(.failed) }
        if isSuccess, isFailing { found.append(.recovered) }
        if isSuccess { found.append(.succeeded) }
        return found.filter(told)
    }

    /// What a date is a reason for that did not become a fire.
    package func reason(ofSkipped reason: FireReason) -> NoticeReason? {
        reason.notice.flatMap { told($0) ? $0 : nil }
    }

    /// Whether a fire that began so long after it was due is told as late.
    package func isLate(_ delay: TimeSpan) -> Bool { told(.late) && delay > late }

    private func told(_ reason: NoticeReason) -> Bool {
        !places.isEmpty && reasons.contains(reason)
    }
}

extension FireReason {
    /// What somebody may be told for it; nil for what a user wanted so, and for what another fire stands for.
    package var notice: NoticeReason? {
        switch self {
        case .misfire, .misfireLimit, .misfireWindow, .overload, .clockStepped, .zoneChanged, .held:
            .missed
        case .overlap, .replaced, .lineFull: .skipped
        case .expired: .missed
        case .coalesced, .manual, .skip, .moved, .paused, .invalidated, .changed, .withdrawn,
            .dropped:
            nil
        }
    }
}

/// When a job's notices of one reason may go: one in each span; pure.
///
/// All dates are in elapsed time.
package struct NoticeLimit: Hashable, Sendable {
    /// When the last one was told, or the summary of what is held back will be.
    package var toldAt: Timestamp

    package init(toldAt: Timestamp) { self.toldAt = toldAt }

    package enum Decision: Hashable, Sendable {
        case tell
        /// It is counted in a summary, which is told at that date.
        case hold(until: Timestamp)
    }

    /// Decides for one more at `now`; `last` is nil if none was told before.
    package static func decide(
        after last: Self?,
        every: TimeSpan,
        at now: Timestamp
    ) -> Decision {
        guard every > .zero, let last else { return .tell }
        // Held back already: what comes until then is counted with it.
        if last.toldAt > now { return .hold(until: last.toldAt) }
        let next = last.toldAt + every
        return next > now ? .hold(until: next) : .tell
    }
}

/// When a notice that could not be handed over is tried again, and when no more; pure.
package enum NoticeRetry {
    /// How long one try may take.
    package static let timeout = TimeSpan.seconds(60)
    /// How long a notice is tried: a day, and a ping up to its try after 63 min, as a later one would say that all is well when it
    /// may not be.
    package static func patience(isPing: Bool) -> TimeSpan { .seconds(isPing ? 4000 : 86_400) }

    /// How long a notice that is no ping is tried yet where its day passed while nobody could try it for as long.
    package static let rest = TimeSpan.seconds(6 * 3600)

    /// Until when a notice is tried whose turn has come now; it could be tried since `due`.
    ///
    /// There was no daemon, or the machine slept: as it wakes, its network need not be there. A user's notices and summaries take less
    /// than `rest` in turn where all of them hang: that prolongs none, or they would be tried for ever.
    package static func end(_ end: Timestamp, dueSince due: Timestamp, at now: Timestamp)
        -> Timestamp
    { end <= now && now - due > rest ? now + rest : end }

    /// How long to wait after so many tries: 1 min, doubled up to 1 h.
    package static func delay(afterTries tries: Int) -> TimeSpan {
        let minutes = 1 << max(0, min(tries - 1, 6))
        return .seconds(min(Int64(minutes) * 60, 3600))
    }
}
