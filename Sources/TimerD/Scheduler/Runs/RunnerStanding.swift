// SPDX-License-Identifier: Apache-2.0

import Runner
import Schedules

/// Whether the runner takes more runs now.
struct RunnerStanding {
    /// Why nobody answers, in a sentence; nil while somebody does.
    private(set) var away: String?
    /// Whether its node is there while nobody answers.
    private(set) var isSilent = false
    /// Whether nobody answers for the moment that another release takes to begin.
    private(set) var isReplaced = false
    /// That it has no room for more, and why, in a sentence; nil while there may be some.
    private(set) var full: String?
    /// That this process lacks what it needs to begin anything, in a sentence; nil while it may have that.
    private(set) var shortage: String?
    /// The epoch of the one that answers, or answered last: of this one it is asked for runs.
    private(set) var epoch: Int64?

    /// Since when no command begins, by the wall clock; nil if one may.
    private(set) var since: Timestamp?

    /// Whether there is room is known only once a run was asked for: it has no room since the first refusal, though
    /// there was hope in between, for no longer than this.
    private static let hope = TimeSpan.seconds(5)
    private var fullSince: Timestamp?
    private var hadRoomAt: Timestamp?

    /// Whether no command is to begin there any more, as it is drained.
    private(set) var drains = false

    init() {}

    /// Nobody has answered yet, for that reason.
    init(away reason: String) { away = "timerd-runner does not answer: \(reason)" }

    /// Why no command begins now; nil if one may.
    var trouble: String? {
        if drains {
            return "this node drains: commands begin on others, "
                + "or here after 'timerctl drain NODE --undo'"
        }
        return away ?? full ?? shortage
    }

    /// Whether a want of room, of the runner or of this process, is all that keeps commands waiting.
    var isFull: Bool { full != nil || shortage != nil }

    /// Whether there is one that takes commands, or will as soon as it has room.
    var isThere: Bool { away == nil && !drains }

    mutating func drain(_ drains: Bool = true, at now: Timestamp) {
        self.drains = drains
        since = trouble == nil ? nil : since ?? now
    }

    /// Whether it is news: the same want of room is news once.
    @discardableResult
    mutating func take(_ change: RunnerChange, at now: Timestamp) -> Bool {
        var isNews = true
        switch change {
        case .away(let reason), .silent(let reason):
            let wasSilent = isSilent && !isReplaced
            isReplaced = false
            if case .silent = change { isSilent = true } else { isSilent = false }
            isNews = !(wasSilent && isSilent)
            away = "timerd-runner does not answer: \(reason)"
        case .replaced:
            away = "timerd-runner of another release is being replaced"
            (isSilent, isReplaced) = (true, true)
        case .full(let reason):
            full = reason
            isNews = noteWant(at: now)
        case .hasRoom: (full, hadRoomAt) = (nil, now)
        case .back(let epoch, _):
            (away, isSilent, isReplaced, self.epoch) = (nil, false, false, epoch)
        case .limit, .unexpected: return false
        }
        noteSince(now)
        return isNews
    }

    /// Notes that this process lacks what it needs, in a sentence, or, nil, that it may have it again; returns whether it is
    /// news.
    @discardableResult
    mutating func takeShortage(_ reason: String?, at now: Timestamp) -> Bool {
        let isKnown = shortage != nil
        shortage = reason
        if reason == nil { hadRoomAt = now }
        let isNews = reason != nil && !isKnown && noteWant(at: now)
        noteSince(now)
        return isNews
    }

    /// Notes a want of room; returns whether it is another one than the last.
    private mutating func noteWant(at now: Timestamp) -> Bool {
        let isNews = hadRoomAt.map { now - $0 > Self.hope || now < $0 } ?? true
        if isNews { fullSince = now }
        return isNews
    }

    private mutating func noteSince(_ now: Timestamp) {
        since = trouble == nil ? nil : since ?? (isFull ? fullSince : nil) ?? now
    }

    /// The first one, which was attached; unless another has come since.
    mutating func attached(_ epoch: Int64) { self.epoch = self.epoch ?? epoch }
}
