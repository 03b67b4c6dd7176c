// SPDX-License-Identifier: Apache-2.0

import Cluster
import TestRandom

/// What the core of a node that leads does, as far as it has to do with the lease.
extension SimulatedCluster {
    func lead(_ node: SimulatedNode, _ epoch: Int64) {
        if node.core != nil { fail("node \(node.index) leads while its core has not stopped") }
        leads.append((now, epoch, node.index))
        node.core = SimulatedNode.Core(epoch: epoch)
        onNode(node, at: now) {
            guard node.core?.epoch == epoch else { return }
            self.tell(node, .coreBegan)
            if node.cannotLead { self.failCore(node) }
        }
        load(node)
        tick(node, epoch)
    }

    /// Has the core of a node that leads fail some time after it has begun, as for want of room on its disk.
    func failCore(_ node: SimulatedNode) {
        guard let epoch = node.core?.epoch else { return }
        onNode(node, at: now + Int64.random(in: 0...300_000, using: &dice)) {
            guard let core = node.core, core.epoch == epoch, !core.isStopping else { return }
            node.core = nil
            self.tell(node, .couldNotLead)
        }
    }

    /// Has the core stop once its runs have ended, which may go on for as long as there is trouble.
    func drainCore(_ node: SimulatedNode) {
        guard let epoch = node.core?.epoch else { return }
        let rest = Int64.random(in: 0...max(troubleEnd - now, 0), using: &dice)
        onNode(node, at: now + rest) {
            guard let core = node.core, core.epoch == epoch, !core.isStopping else { return }
            self.stopCore(node)
        }
    }

    func stopCore(_ node: SimulatedNode) {
        guard let epoch = node.core?.epoch else { return }
        node.core?.isStopping = true
        onNode(node, at: now + Int64.random(in: 0...300_000, using: &dice)) {
            guard node.core?.epoch == epoch else { return }
            node.core = nil
            self.tell(node, .coreStopped)
        }
    }

    private func tick(_ node: SimulatedNode, _ epoch: Int64) {
        guard node.core?.epoch == epoch else { return }
        work(node)
        onNode(node, at: now + Int64.random(in: 50_000...400_000, using: &dice)) {
            self.tick(node, epoch)
        }
    }

    private func work(_ node: SimulatedNode) {
        beginPending(node)
        guard let core = node.core, !core.isBusy else { return }
        guard core.isLoaded else { return load(node) }
        let due = Int(now / Self.dateInterval) - database.fires.count
        let change = SimulatedDatabase.Change(
            claims: core.isStopping ? 0 : max(due, 0),
            ends: core.toEnd,
            number: core.number
        )
        guard change.claims > 0 || !change.ends.isEmpty else { return }
        commit(change, of: node, core.epoch)
    }

    /// Begins what is claimed: the one effect that there is.
    private func beginPending(_ node: SimulatedNode) {
        guard let core = node.core, !core.pending.isEmpty else { return }
        guard breakage.ignoresFence || node.isFenceOpen(now) else { return }
        node.core?.pending = []
        for date in core.pending {
            node.core?.begun.insert(date)
            node.core?.toEnd.append(date)
            checkBegin(date, node, core.epoch)
        }
    }

    // MARK: - Reading and writing

    /// Asks for what is claimed, after which nothing of before is under way.
    private func load(_ node: SimulatedNode) {
        exchange(node) { [unowned self] epoch in
            database.abort(of: node.index)
            let number = database.startNumbers()
            let claimed = database.fires.indices.filter { !database.fires[$0].hasEnded }
            return { [unowned self] in
                guard let core = node.core, core.epoch == epoch else { return }
                node.core?.isLoaded = true
                node.core?.number = number
                node.core?.pending = claimed.filter { !core.begun.contains($0) }
                node.core?.toEnd = claimed.filter { core.begun.contains($0) }
                beginPending(node)
            }
        }
    }

    private func commit(_ change: SimulatedDatabase.Change, of node: SimulatedNode, _ epoch: Int64)
    {
        let life = node.life
        // Some commits are open while the node thinks of what to do: it may be paused then.
        let isSlow = now < troubleEnd && dice.isTrue(0.2)
        node.core?.isBusy = true
        let answered = waitForAnswer(node, epoch)
        guard !isLost() else { return }
        agenda.add(at: now + delay()) { [unowned self] in
            guard !database.isAway else { return }
            guard let number = database.begin(change, of: node.index, epoch: epoch) else {
                return onNode(node, at: now + delay()) {
                    answered { node.core?.isLoaded = false }
                }
            }
            let end = { [unowned self] in
                guard let first = finish(number), node.life == life, !isLost() else { return }
                onNode(node, at: now + delay()) {
                    answered {
                        node.core?.number += 1
                        node.core?.toEnd.removeAll { change.ends.contains($0) }
                        node.core?.pending += first..<first + change.claims
                        self.beginPending(node)
                    }
                }
            }
            if isSlow {
                onNode(node, at: now + Int64.random(in: 100...200_000, using: &dice), end)
            } else {
                agenda.add(at: now + Int64.random(in: 100...20_000, using: &dice), end)
            }
        }
    }

    /// Commits what is open; the first date that it claimed, nil where it was ended before.
    private func finish(_ number: Int) -> Int? {
        guard !database.isAway else { return nil }
        let first = database.fires.count
        guard let commit = database.commit(number) else { return nil }
        if commit.epoch != database.epoch {
            fail("a commit of epoch \(commit.epoch) in epoch \(database.epoch)")
        }
        return first
    }

    /// Reads with `body` at the database, and does what that returns at the node.
    private func exchange(_ node: SimulatedNode, _ body: @escaping (Int64) -> () -> Void) {
        guard let epoch = node.core?.epoch else { return }
        node.core?.isBusy = true
        let answered = waitForAnswer(node, epoch)
        guard !isLost() else { return }
        let life = node.life
        agenda.add(at: now + delay()) { [unowned self] in
            guard !database.isAway, node.life == life, !isLost() else { return }
            let answer = body(epoch)
            onNode(node, at: now + delay()) { answered(answer) }
        }
    }

    /// What to call with the answer's effect; nobody knows what was done where it does not come in time.
    private func waitForAnswer(_ node: SimulatedNode, _ epoch: Int64) -> (() -> Void) -> Void {
        var isOver = false
        onNode(node, at: now + terms.statement) {
            guard !isOver, node.core?.epoch == epoch else { return }
            isOver = true
            node.core?.isBusy = false
            node.core?.isLoaded = false
            self.work(node)
        }
        return { effect in
            guard !isOver, node.core?.epoch == epoch else { return }
            isOver = true
            node.core?.isBusy = false
            effect()
        }
    }
}
