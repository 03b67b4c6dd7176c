// SPDX-License-Identifier: Apache-2.0

import Cluster
import TestRandom

/// Some nodes, their database and what lies between, from one seed.
///
/// Times are the world's, in µs. What is wrong is collected in `findings`.
final class SimulatedCluster {
    /// What is broken on purpose, to see that it is found.
    struct Breakage: Sendable {
        var margin: Int64?
        var ignoresFence = false
        var takesWaitForCommits = true
    }

    static let dateInterval: Int64 = 400_000

    let seed: UInt64
    let breakage: Breakage
    let terms: LeaseTerms
    var dice: SplitMix
    var agenda = Agenda()
    var now: Int64 = 0
    var database: SimulatedDatabase
    var nodes: [SimulatedNode] = []
    /// Until when things go wrong.
    let troubleEnd: Int64
    /// How slow and how lossy the network is.
    let slowAnswers: Double
    let lostAnswers: Double
    /// By date, the epochs that have begun it.
    var begun: [[Int64]] = []
    /// When each epoch began to lead.
    var leads: [(time: Int64, epoch: Int64, node: Int)] = []
    var findings: [String] = []
    var isTraced = false
    /// No node that was killed starts before.
    var startsAgainAt: Int64 = 0
    /// How often what is to be rare came about.
    var blockedTakes = 0
    var redeliveries = 0

    init(seed: UInt64, breakage: Breakage = Breakage(), troubles: Bool = true) {
        self.seed = seed
        self.breakage = breakage
        dice = SplitMix(seed: seed)
        let length: Int64 = [1_000_000, 3_000_000, 10_000_000].randomElement(using: &dice) ?? 0
        terms = LeaseTerms(length: length, margin: breakage.margin)
        let count = Int.random(in: 3...5, using: &dice)
        database = SimulatedDatabase(
            nodes: count,
            clockOffset: Int64.random(in: 0...1_000_000_000, using: &dice),
            clockRate: Double.random(in: -200e-6...200e-6, using: &dice)
        )
        database.takesWaitForCommits = breakage.takesWaitForCommits
        troubleEnd = troubles ? length * Int64.random(in: 4...8, using: &dice) : 0
        slowAnswers = troubles ? [0, 0.02, 0.2].randomElement(using: &dice) ?? 0 : 0
        lostAnswers = troubles ? [0, 0.01, 0.1].randomElement(using: &dice) ?? 0 : 0
        for index in 0..<count {
            let node = SimulatedNode(
                index: index,
                clockOffset: Int64.random(in: 0...1_000_000_000_000, using: &dice),
                clockRate: Double.random(in: -200e-6...200e-6, using: &dice),
                terms: terms,
                now: 0
            )
            nodes.append(node)
            let start = Int64.random(in: 0...length, using: &dice)
            onNode(node, at: start) { self.turn(node) }
        }
    }

    func run(until end: Int64) {
        while findings.isEmpty, let (time, body) = agenda.takeNext(before: end) {
            now = time
            body()
        }
        now = max(now, end)
    }

    /// Tells the story of the seed, where only one runs.
    func trace(_ text: @autoclosure () -> String) {
        if isTraced { print("\(now): \(text())") }
    }

    func fail(_ text: String) {
        findings.append("seed \(seed) at \(now) µs: \(text)")
    }

    /// Runs `body` in this life of the node, once it is not paused.
    func onNode(_ node: SimulatedNode, at time: Int64, _ body: @escaping () -> Void) {
        let life = node.life
        agenda.add(at: time) { [unowned self] in
            guard node.life == life else { return }
            if node.isPaused {
                onNode(node, at: node.pausedUntil, body)
            } else {
                body()
            }
        }
    }

    /// How long a message takes.
    func delay() -> Int64 {
        if now < troubleEnd, dice.isTrue(slowAnswers) {
            return Int64.random(in: 1000...terms.length / 3, using: &dice)
        }
        return Int64.random(in: 50...3000, using: &dice)
    }

    func isLost() -> Bool { now < troubleEnd && dice.isTrue(lostAnswers) }

    // MARK: - What NodeKeeper does

    func turn(_ node: SimulatedNode) {
        guard !node.isAsking, !node.hasLeft else { return }
        for event in node.waiting { perform(node, event) }
        node.waiting = []
        perform(node, .time)
        switch node.leadership.next(at: node.local(now)) {
        case .done: node.hasLeft = true
        case .send(let request, let within): ask(node, request, within: within)
        case .wait(let until):
            node.wakes += 1
            let wake = node.wakes
            onNode(node, at: max(node.world(until), now)) {
                if node.wakes == wake { self.turn(node) }
            }
        }
    }

    func tell(_ node: SimulatedNode, _ event: Leadership.Event) {
        node.waiting.append(event)
        turn(node)
    }

    private func ask(_ node: SimulatedNode, _ request: Leadership.Request, within: Int64) {
        node.isAsking = true
        node.requests += 1
        let number = node.requests
        let sent = node.local(now)
        let life = node.life
        let message = Message(
            request: request,
            standsAside: node.leadership.standsAside(at: sent)
        )
        if !isLost() {
            agenda.add(at: now + delay()) { [unowned self] in
                arrive(message, from: node, hasWaited: false) { [unowned self] answer in
                    guard node.life == life, !isLost() else { return }
                    onNode(node, at: now + delay()) {
                        guard node.requests == number, node.isAsking else { return }
                        node.isAsking = false
                        self.perform(node, .answered(request, answer, sent: sent))
                        self.turn(node)
                    }
                }
            }
        }
        onNode(node, at: node.world(sent + within)) {
            guard node.requests == number, node.isAsking else { return }
            node.isAsking = false
            self.perform(node, .failed(request))
            self.turn(node)
        }
    }

    private func perform(_ node: SimulatedNode, _ event: Leadership.Event) {
        for effect in node.leadership.receive(event, at: node.local(now)) {
            trace("node \(node.index) \(effect)")
            switch effect {
            case .openFence(let until):
                node.fenceEnd = until
                checkFences(node)
            case .closeFence: node.fenceEnd = .min
            case .lead(let epoch, _): lead(node, epoch)
            case .stopLeading(.drains): drainCore(node)
            case .stopLeading: stopCore(node)
            case .leader, .drains: break
            }
        }
        if node.fenceEnd == .min, node.core?.isStopping == false {
            fail("the core of node \(node.index) goes on without a lease")
        }
    }

    // MARK: - What the database does

    private struct Message {
        var request: Leadership.Request
        /// What the node's row is to say.
        var standsAside: Int64?
    }

    /// Carries a request out, also where the node is dead or has given up waiting by now.
    private func arrive(
        _ message: Message,
        from node: SimulatedNode,
        hasWaited: Bool,
        _ reply: @escaping (LeaseAnswer) -> Void
    ) {
        guard !database.isAway else { return }
        var outcome = LeaseAnswer.Outcome.none
        let aside = message.standsAside
        switch message.request {
        case .renew(let epoch):
            database.renewRow(of: node.index, length: terms.length, standsAside: aside, now)
            if let epoch {
                outcome = database.renew(epoch, of: node.index, length: terms.length, now)
            }
        case .take(let seen):
            if database.isFree(seen, for: node.index, now) {
                guard !database.isHeldByCommit else {
                    if hasWaited {
                        blockedTakes += 1
                        database.abort()
                        reply(database.answer(.blocked, to: node.index, rank: rank(node), now))
                    } else {
                        agenda.add(at: now + terms.lock) { [unowned self] in
                            arrive(message, from: node, hasWaited: true, reply)
                        }
                    }
                    return
                }
                let epoch = database.take(for: node.index, length: terms.length, now)
                outcome = .taken(epoch: epoch)
                notify()
            }
        case .release(let epoch):
            if database.release(epoch, of: node.index, standsAside: aside, now) { notify() }
        }
        trace("node \(node.index) asks \(message.request): \(outcome), until \(database.until)")
        reply(database.answer(outcome, to: node.index, rank: rank(node), now))
    }

    private func rank(_ node: SimulatedNode) -> Int {
        nodes.filter {
            $0.index < node.index && $0.isAlive && $0.index != database.holder
                && !database.drains[$0.index]
        }.count
    }

    func notify() {
        for node in nodes where node.isAlive && !isLost() {
            onNode(node, at: now + delay()) { self.tell(node, .notified) }
        }
    }
}
