// SPDX-License-Identifier: Apache-2.0

import Schedules

/// Whether whatever minds the runs takes more of them now.
struct RunnerStanding {
    /// Why nobody answers, in a sentence; nil while somebody does.
    private(set) var away: String?
    /// Whether it has no room for more.
    private(set) var isFull = false
    /// The epoch that is stored: of this one it is asked for runs.
    private(set) var epoch: Int64?
    /// The epoch of the one that came last, where that is not the one that was attached.
    private(set) var latest: Int64?

    /// Since when no command begins, by the wall clock; nil if one may.
    private(set) var since: Timestamp?

    /// Why no command begins now; nil if one may.
    var trouble: String? {
        if let away { return away }
        if latest != nil, latest != epoch { return "another timerd-runner answers" }
        return isFull ? "timerd-runner has no room for more runs" : nil
    }

    mutating func take(_ change: RunnerChange, at now: Timestamp) {
        switch change {
        case .away(let reason): away = "timerd-runner does not answer: \(reason)"
        case .replaced: away = "timerd-runner of another release is being replaced"
        case .full: isFull = true
        case .hasRoom: isFull = false
        case .back(let epoch): (away, latest) = (nil, epoch)
        }
        since = trouble == nil ? nil : since ?? now
    }

    /// An epoch is stored, and no other one will be unless it came later.
    mutating func stored(_ epoch: Int64) {
        self.epoch = epoch
        if trouble == nil { since = nil }
    }
}
