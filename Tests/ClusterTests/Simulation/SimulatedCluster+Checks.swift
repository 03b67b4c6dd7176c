// SPDX-License-Identifier: Apache-2.0

import Cluster

/// What must hold at each instant, and once all is over.
extension SimulatedCluster {
    func checkFences(_ node: SimulatedNode) {
        for other in nodes where other !== node && other.isFenceOpen(now) && node.isFenceOpen(now) {
            fail("the fences of nodes \(other.index) and \(node.index) are open")
        }
        // Whose lease it is by a clock that was set, nobody can tell.
        guard database.holder == node.index, !database.clockWasSet else { return }
        if node.world(node.fenceEnd) > database.world(database.until) {
            fail("the fence of node \(node.index) is open after its lease")
        }
    }

    func checkBegin(_ date: Int, _ node: SimulatedNode, _ epoch: Int64) {
        if database.epoch != epoch {
            fail("node \(node.index) begins date \(date) in epoch \(epoch) of \(database.epoch)")
        }
        for other in nodes where other !== node && other.isFenceOpen(now) {
            fail("node \(node.index) begins date \(date) while node \(other.index) may as well")
        }
        if database.fires[date].hasEnded {
            fail("node \(node.index) begins date \(date), which is over")
        }
        while begun.count <= date { begun.append([]) }
        if let last = begun[date].last {
            redeliveries += 1
            if last >= epoch { fail("date \(date) is begun twice in epoch \(epoch)") }
        }
        begun[date].append(epoch)
    }

    /// Checks what is true some leases after the last trouble.
    func checkEnd() {
        guard findings.isEmpty else { return }
        let open = nodes.filter { $0.isFenceOpen(now) }
        if open.count != 1 { fail("\(open.count) nodes lead in the end") }
        // A commit and its answer may be under way.
        let due = Int((now - 2_000_000) / Self.dateInterval)
        if database.fires.count < due {
            fail("\(database.fires.count) dates are claimed, \(due) were due")
        }
        for date in 0..<min(due, database.fires.count) {
            if date >= begun.count || begun[date].isEmpty {
                fail("date \(date) was never begun")
                return
            }
        }
    }
}
