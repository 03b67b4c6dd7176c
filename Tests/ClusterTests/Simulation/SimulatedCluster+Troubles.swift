// SPDX-License-Identifier: Apache-2.0

import Cluster
import TestRandom

/// What goes wrong.
extension SimulatedCluster {
    func addTroubles() {
        let kinds = Int.random(in: 2...7, using: &dice)
        for _ in 0..<kinds {
            let time = Int64.random(in: 0..<troubleEnd, using: &dice)
            // Some in the middle of a lease's end, most of any length.
            let length =
                dice.isTrue(0.3)
                ? terms.length + Int64.random(in: -200_000...200_000, using: &dice)
                : Int64.random(in: 1000...3 * terms.length, using: &dice)
            let end = min(time + length, troubleEnd)
            let kind = Int.random(in: 0..<13, using: &dice)
            let chosen = Int.random(in: 0..<nodes.count, using: &dice)
            let meansLeader = dice.isTrue(0.7)
            agenda.add(at: time) { [unowned self] in
                let leader = meansLeader ? nodes.first { $0.isFenceOpen(now) } : nil
                begin(kind, of: leader ?? nodes[chosen], until: end)
            }
        }
    }

    private func begin(_ kind: Int, of node: SimulatedNode, until end: Int64) {
        trace("trouble \(kind) of node \(node.index) until \(end)")
        switch kind {
        case 0..<4: pause(node, until: end)
        case 4..<7: kill(node, until: end)
        case 7:
            database.isAway = true
            database.abort()
            agenda.add(at: end) { [unowned self] in database.isAway = false }
        case 8: drain(node, until: end)
        case 9: leave(node, until: end)
        case 10: stepClock(by: -Int64.random(in: 1000...3_600_000_000, using: &dice))
        // Always the same one: others are there that have no failures behind them.
        case 11: breakCopy(of: nodes[0], until: end)
        default:
            // A node that has not looked before cannot tell that the clock was set.
            if nodes.allSatisfy({ $0.isAlive && $0.leadership.hasLooked }) {
                stepClock(by: Int64.random(in: 1000...3_600_000_000, using: &dice))
                startsAgainAt = now + terms.length
            }
        }
    }

    private func stepClock(by step: Int64) {
        trace("the database's clock is set by \(step)")
        database.setClock(by: step)
    }

    private func pause(_ node: SimulatedNode, until end: Int64) {
        guard node.isAlive, !node.isPaused else { return }
        node.isPaused = true
        node.pausedUntil = end
        agenda.add(at: end) { node.isPaused = false }
    }

    func kill(_ node: SimulatedNode, until end: Int64) {
        guard node.isAlive else { return }
        node.die()
        // A machine that is cut off leaves its connections open, a killed process does not.
        if dice.isTrue(0.7) { database.abort(of: node.index) }
        agenda.add(at: end) { [unowned self] in comeBack(node) }
    }

    private func comeBack(_ node: SimulatedNode) {
        guard now >= startsAgainAt else {
            return agenda.add(at: startsAgainAt) { [unowned self] in comeBack(node) }
        }
        node.comeBack(now)
        database.register(node.index)
        turn(node)
    }

    func drain(_ node: SimulatedNode, until end: Int64) {
        database.drains[node.index] = true
        notify()
        agenda.add(at: end) { [unowned self] in
            database.drains[node.index] = false
            notify()
        }
    }

    /// The node's core fails each time that it leads.
    private func breakCopy(of node: SimulatedNode, until end: Int64) {
        node.cannotLead = true
        failCore(node)
        agenda.add(at: end) { node.cannotLead = false }
    }

    private func leave(_ node: SimulatedNode, until end: Int64) {
        guard node.isAlive, !node.isPaused else { return }
        tell(node, .leave)
        agenda.add(at: end) { [unowned self] in
            guard node.isAlive else { return }
            node.die()
            comeBack(node)
        }
    }
}
