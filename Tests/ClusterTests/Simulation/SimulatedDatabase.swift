// SPDX-License-Identifier: Apache-2.0

import Cluster

/// The lease's row and the claimed fires, with what PostgreSQL's row locks do to them.
struct SimulatedDatabase {
    /// What is broken on purpose, to see that the simulation finds it.
    var takesWaitForCommits = true

    /// A commit that holds `FOR KEY SHARE` on the lease's row.
    struct OpenCommit {
        var node: Int
        var epoch: Int64
        var change: Change
    }

    /// What a core writes.
    struct Change {
        /// How many dates it claims, after those that are claimed.
        var claims = 0
        var ends: [Int] = []
        /// The commit's number: one that comes late, after another or after its core has read, is not done.
        var number: Int
    }

    struct Fire {
        var epoch: Int64
        var hasEnded = false
    }

    private(set) var epoch: Int64 = 0
    private(set) var holder: Int?
    private(set) var until: Int64 = 0
    private(set) var length: Int64 = 0
    private(set) var open: [Int: OpenCommit] = [:]
    private var begun = 0
    /// Of the next commit; of one that was refused too, so that nothing of before a reading is done after it.
    private(set) var number = 0
    /// By date.
    private(set) var fires: [Fire] = []
    var drains: [Bool]
    /// Until when the row of each node is in force.
    private var rows: [Int64]
    /// Until when nodes that drain lead rather than that one, which could not.
    private var standAside: [Int64]
    /// The database's clock is the world's times 1 + rate, plus this.
    private var clockOffset: Int64
    private(set) var clockWasSet = false
    let clockRate: Double
    var isAway = false

    init(nodes: Int, clockOffset: Int64, clockRate: Double) {
        drains = Array(repeating: false, count: nodes)
        rows = Array(repeating: .min, count: nodes)
        standAside = Array(repeating: .min, count: nodes)
        self.clockOffset = clockOffset
        self.clockRate = clockRate
    }

    func clock(_ now: Int64) -> Int64 { now + Int64(Double(now) * clockRate) + clockOffset }

    /// The world's time at which its clock shows `clock`.
    func world(_ clock: Int64) -> Int64 {
        Int64(Double(clock - clockOffset) / (1 + clockRate))
    }

    mutating func setClock(by step: Int64) {
        clockOffset += step
        clockWasSet = true
    }

    // MARK: - The lease

    func answer(
        _ outcome: LeaseAnswer.Outcome,
        to node: Int,
        rank: Int,
        _ now: Int64
    ) -> LeaseAnswer {
        LeaseAnswer(
            outcome: outcome,
            lease: Lease(
                epoch: epoch,
                holder: holder.map { "node\($0)" },
                isOwn: holder == node,
                until: until,
                remaining: until - clock(now),
                length: length
            ),
            rank: rank,
            drains: drains[node],
            othersMayLead: othersMayLead(than: node, now)
        )
    }

    /// Whether a node beside that one is in force, does not drain, and has not just been unable to lead.
    func othersMayLead(than node: Int, _ now: Int64) -> Bool {
        rows.indices.contains {
            $0 != node && !drains[$0] && rows[$0] > clock(now) && standAside[$0] < clock(now)
        }
    }

    mutating func renewRow(of node: Int, length: Int64, standsAside: Int64?, _ now: Int64) {
        rows[node] = clock(now) + length
        note(standsAside, of: node, now)
    }

    /// Another life of the node may be able to lead.
    mutating func register(_ node: Int) { standAside[node] = .min }

    private mutating func note(_ standsAside: Int64?, of node: Int, _ now: Int64) {
        standAside[node] = standsAside.map { clock(now) + $0 } ?? .min
    }

    mutating func renew(
        _ epoch: Int64,
        of node: Int,
        length: Int64,
        _ now: Int64
    ) -> LeaseAnswer.Outcome {
        // A change of a column that is in no key is not stopped by FOR KEY SHARE.
        guard epoch == self.epoch, holder == node else { return .none }
        until = clock(now) + length
        self.length = length
        return .renewed
    }

    func isFree(_ seen: Leadership.Seen, for node: Int, _ now: Int64) -> Bool {
        (!drains[node] || !othersMayLead(than: node, now)) && seen.epoch == epoch
            && seen.until == until
            && (holder == nil || holder == node || until < clock(now) || seen.isSurelyOver)
    }

    /// Whether a take-over has to wait: the epoch is in a key.
    var isHeldByCommit: Bool { takesWaitForCommits && !open.isEmpty }

    mutating func take(for node: Int, length: Int64, _ now: Int64) -> Int64 {
        epoch += 1
        holder = node
        until = clock(now) + length
        self.length = length
        return epoch
    }

    mutating func release(_ epoch: Int64, of node: Int, standsAside: Int64?, _ now: Int64) -> Bool {
        note(standsAside, of: node, now)
        guard epoch == self.epoch, holder == node else { return false }
        holder = nil
        until = clock(now)
        return true
    }

    // MARK: - Commits

    /// Begins a commit; nil where the fence is for another epoch.
    mutating func begin(_ change: Change, of node: Int, epoch: Int64) -> Int? {
        guard epoch == self.epoch, change.number == number else { return nil }
        begun += 1
        open[begun] = OpenCommit(node: node, epoch: epoch, change: change)
        return begun
    }

    /// Ends a commit; nil where its connection was ended before.
    mutating func commit(_ number: Int) -> OpenCommit? {
        guard let commit = open.removeValue(forKey: number), commit.change.number == self.number
        else { return nil }
        self.number += 1
        for _ in 0..<commit.change.claims { fires.append(Fire(epoch: commit.epoch)) }
        for date in commit.change.ends { fires[date].hasEnded = true }
        return commit
    }

    /// The next commit's number for a core that reads all; none of before is done after this.
    mutating func startNumbers() -> Int {
        number += 1
        return number
    }

    /// What pg_terminate_backend does to the commits of `node`; nil for all that are open.
    mutating func abort(of node: Int? = nil) {
        open = node.map { node in open.filter { $0.value.node != node } } ?? [:]
    }
}
