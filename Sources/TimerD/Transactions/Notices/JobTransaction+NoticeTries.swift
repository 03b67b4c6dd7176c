// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Notices that are to be handed over now, and when to look again.
struct TakenNotices: Sendable {
    /// With their jobs, which give commands their variables; nil for one that is forgotten.
    var notices: [(notice: StoredNotice, job: JobDefinition?)] = []
    /// Pings that are too old to be tried once more, each with the reason in words.
    var givenUp: [(ping: StoredNotice, reason: String)] = []
    /// In elapsed time; nil while nothing waits for a time.
    var next: Timestamp?
    /// The users who have notices that wait.
    var owners: [OwnerID] = []
}

/// How a notice is handed over: each try is stored before it is made.
extension JobTransaction {
    /// Takes the notices whose turn it is, those of all users in turn, and of each user those of all places.
    ///
    /// The work grows with the users who have notices that wait, and with what is taken.
    mutating func takeNotices(_ turns: NoticeTurns) throws -> TakenNotices {
        var (taken, turns) = (TakenNotices(), turns)
        var owners: [OwnerID] = []
        while let owner = try notices.owner(after: owners.last ?? .nobody) { owners.append(owner) }
        taken.owners = owners
        for _ in 0..<NoticeTurns.perOwner {
            for owner in turns.order(owners) {
                for isPing in [false, true] where turns.hasRoom(for: owner, isPing: isPing) {
                    if isPing { try giveUpPings(of: owner, &taken) }
                    guard let notice = try takeNotice(of: owner, isPing: isPing, turns)
                    else { continue }
                    turns.begin(notice)
                    let job = try jobs.jobWithoutUserInfo(notice.job, of: nil)
                    taken.notices.append((notice, job?.definition))
                }
            }
        }
        taken.next = try owners.compactMap {
            try notices.next(of: $0, after: moment.elapsed)
        }.min()
        // The rest of them has its turn in the next write.
        if taken.givenUp.count >= Self.mostGivenUp { taken.next = moment.elapsed }
        return taken
    }

    /// How many pings are given up in one write.
    private static let mostGivenUp = 50

    /// Gives up the owner's pings that may be tried now and whose hour is over, as after a time without a daemon: an old success
    /// must not pass for a new one.
    private mutating func giveUpPings(of owner: OwnerID, _ taken: inout TakenNotices) throws {
        while taken.givenUp.count < Self.mostGivenUp,
            let ping = try notices.duePing(of: owner, at: moment.elapsed),
            ping.until <= moment.elapsed
        {
            let reason =
                "its run ended too long ago" + (ping.error.map { "; before: \($0)" } ?? "")
            try giveUp(ping, reason)
            taken.givenUp.append((ping, reason))
        }
    }

    /// Stores that the owner's next notice, or ping, is being tried; nil if none may be tried now.
    private func takeNotice(
        of owner: OwnerID,
        isPing: Bool,
        _ turns: NoticeTurns
    ) throws -> StoredNotice? {
        let now = moment.elapsed
        let due =
            isPing
            ? try notices.duePing(of: owner, at: now)
            : try notices.due(of: owner, behind: turns.lastPlace(of: owner), at: now)
        // There were more pings that are too old than one write gives up.
        guard var notice = due, !isPing || notice.until > now else { return nil }
        // A summary has waited for nobody while it was held back.
        if notice.document.held != nil, notice.attempts == 0 { notice.addedAt = moment.wall }
        notice.until = NoticeRetry.end(notice.until, dueSince: notice.notBefore, at: now)
        notice.attempts += 1
        // If this daemon ends before the try does, the next one tries again then: it may be told twice.
        let again = NoticeRetry.timeout + NoticeRetry.delay(afterTries: notice.attempts)
        try notices.markTried(notice, notBefore: now + again)
        return notice
    }

    /// Records that a notice was handed over; another one tells of those that were dropped beside it meanwhile, or an event.
    mutating func recordHandedOver(_ notice: StoredNotice) throws {
        let rest = try notices.dropped(beside: notice.id) - (notice.document.dropped ?? 0)
        try notices.delete(notice.id)
        guard rest > 0,
            try !notices.drop(of: notice.ownerID, at: notice.place.text, count: rest)
        else { return }
        try tellFailed(notice, "\(rest) to \(notice.place.masked) not kept")
    }

    /// Records that a try has failed; returns whether it was the last.
    mutating func recordNotHandedOver(_ notice: StoredNotice, _ error: String) throws -> Bool {
        let next = moment.elapsed + NoticeRetry.delay(afterTries: notice.attempts)
        guard next > notice.until else {
            try notices.markFailed(notice.id, error, notBefore: next)
            outcome.noticeDate = min(next, outcome.noticeDate ?? next)
            return false
        }
        try giveUp(notice, error)
        return true
    }

    private mutating func giveUp(_ notice: StoredNotice, _ error: String) throws {
        let dropped = try notices.dropped(beside: notice.id)
        try notices.delete(notice.id)
        let reason = "\(notice.reason.rawValue) to \(notice.place.masked): \(error)"
        try tellFailed(notice, dropped > 0 ? "\(reason); \(dropped) more not kept" : reason)
    }

    private mutating func tellFailed(_ notice: StoredNotice, _ reason: String) throws {
        guard let job = try job(notice.job) else { return }
        try enqueue(
            .noticeFailed,
            job,
            reason,
            fire: notice.document.fire,
            run: notice.document.run
        )
    }
}

extension NoticeTurns {
    /// One is being handed over.
    mutating func begin(_ notice: StoredNotice) {
        begin(notice.ownerID, isPing: notice.isPing)
        if !notice.isPing { passTurn(to: notice.place.text, of: notice.ownerID) }
    }
}
