// SPDX-License-Identifier: Apache-2.0

import Cluster

/// A node of the simulated cluster: the real `Leadership`, and a core that only claims dates and begins them.
final class SimulatedNode {
    struct Core {
        let epoch: Int64
        var isStopping = false
        /// Asks the database for what is claimed, before it claims anything.
        var isLoaded = false
        /// Whether it waits for an answer.
        var isBusy = false
        /// Claimed and not begun yet.
        var pending: [Int] = []
        var begun: Set<Int> = []
        /// Begun, which no commit says yet.
        var toEnd: [Int] = []
        /// Of the next commit.
        var number = 0
    }

    let index: Int
    /// Its CLOCK_BOOTTIME is the world's time times 1 + rate, plus this.
    let clockOffset: Int64
    let clockRate: Double
    let terms: LeaseTerms
    var leadership: Leadership
    var isAlive = true
    /// Whether its core fails, each time that it leads.
    var cannotLead = false
    var isPaused = false
    var pausedUntil: Int64 = 0
    /// Counts its lives: what was meant for one does not reach the next.
    var life = 0
    /// In its own time.
    var fenceEnd = Int64.min
    var core: Core?
    var isAsking = false
    var requests = 0
    var wakes = 0
    /// What came while it asked something.
    var waiting: [Leadership.Event] = []
    var hasLeft = false

    init(index: Int, clockOffset: Int64, clockRate: Double, terms: LeaseTerms, now: Int64) {
        self.index = index
        self.clockOffset = clockOffset
        self.clockRate = clockRate
        self.terms = terms
        let local = now + Int64(Double(now) * clockRate) + clockOffset
        leadership = Leadership(name: "node\(index)", terms: terms, now: local)
    }

    func local(_ now: Int64) -> Int64 { now + Int64(Double(now) * clockRate) + clockOffset }

    /// The world's time at which its clock shows `local`, rounded up.
    func world(_ local: Int64) -> Int64 {
        Int64((Double(local - clockOffset) / (1 + clockRate)).rounded(.up)) + 1
    }

    func isFenceOpen(_ now: Int64) -> Bool { isAlive && local(now) < fenceEnd }

    func die() {
        life += 1
        isAlive = false
        isPaused = false
        fenceEnd = .min
        core = nil
        isAsking = false
        waiting = []
    }

    func comeBack(_ now: Int64) {
        leadership = Leadership(name: "node\(index)", terms: terms, now: local(now))
        isAlive = true
        hasLeft = false
    }
}
