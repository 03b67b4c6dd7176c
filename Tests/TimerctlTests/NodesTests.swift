// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("timerctl nodes and drain", .timeLimit(.minutes(1))) struct NodesTests {
    static func node(
        _ name: String,
        _ state: NodeView.State = .standby,
        _ change: (inout NodeView) -> Void = { _ in }
    ) -> NodeView {
        var node = NodeView(
            name: name,
            state: state,
            version: "1.2.3",
            leaseUntil: testNow + .seconds(8)
        )
        if state == .leading { node.epoch = 7 }
        change(&node)
        return node
    }

    static let gone = node("gamma", .gone) {
        $0.leaseUntil = testNow - .seconds(300)
        $0.clockDifference = 5_000_000
    }

    private func lines(_ nodes: [NodeView]) -> [String] {
        Nodes.table(of: NodesReply(nodes: nodes, now: testNow)).text(for: .plain)
            .split(separator: "\n").map(String.init)
    }

    // MARK: - The table

    @Test("The table tells which leads, how long each lease runs, and how far each clock is off")
    func table() {
        let nodes = [
            Self.node("alpha", .leading) {
                ($0.runs, $0.startedAt) = (3, testNow - .seconds(10_800))
                $0.clockDifference = -2600
            }, Self.node("be\u{1b}ta") { $0.clockDifference = 1_500_000 }, Self.gone,
            Self.node("delta", .draining) { ($0.epoch, $0.runs) = (8, 0) },
        ]
        #expect(
            lines(nodes) == [
                "NODE    STATE            LEASE             CLOCK  RUNS  VERSION  STARTED",
                "alpha   leading          8.0 s             -3 ms     3  1.2.3    3 h ago",
                "be^[ta  standby          8.0 s            +1.5 s     -  1.2.3    -",
                "gamma   gone             ended 5 min ago       -     -  1.2.3    -",
                "delta   draining, leads  8.0 s              0 ms     0  1.2.3    -",
            ]
        )
    }

    @Test("A machine has a column where a node is not called as it is")
    func hosts() {
        let same = Self.node("alpha") { $0.host = "alpha" }
        #expect(lines([same]).first?.contains("HOST") == false)
        let other = Self.node("beta") { $0.host = "blade-7" }
        #expect(lines([same, other]).map { String($0.prefix(14)) }[2] == "beta   blade-7")
    }

    @Test("Labels have a column where any node has some")
    func labels() {
        #expect(lines([Self.node("alpha")]).first?.contains("LABELS") == false)
        let nodes = [Self.node("alpha") { $0.labels = ["gpu", "ss\u{1b}d"] }, Self.node("beta")]
        #expect(
            lines(nodes).map { String($0.prefix(18)) } == [
                "NODE   LABELS     ", "alpha  gpu,ss^[d  ", "beta   -          ",
            ]
        )
    }

    @Test("A node without labels has none on the wire, and one of an older daemon is read")
    func labelsOnTheWire() throws {
        var node = Self.node("alpha")
        #expect(try JSONValue(encoding: node)["labels"] == nil)
        #expect(try JSONValue(encoding: node).decoded(as: NodeView.self) == node)
        node.labels = ["gpu", "ssd"]
        let json = try JSONValue(encoding: node)
        #expect(json["labels"] == .array([.string("gpu"), .string("ssd")]))
        #expect(try json.decoded(as: NodeView.self) == node)
    }

    @Test("Tab offers names of nodes, and for --on their labels too, each once")
    func completions() {
        let nodes = [
            Self.node("alpha") { $0.labels = ["gpu", "a;b"] },
            Self.node("beta") { $0.labels = ["gpu"] },
        ]
        #expect(Complete.offered(Complete.words(.nodes, of: nodes)) == ["alpha", "beta"])
        #expect(Complete.offered(Complete.words(.hosts, of: nodes)) == ["alpha", "beta", "gpu"])
    }

    @Test("A clock is red beyond 100 ms, ahead or behind", arguments: [-1, 1] as [Int64])
    func clocks(sign: Int64) {
        #expect(!Self.node("alpha") { $0.clockDifference = sign * 100_000 }.isClockOff)
        #expect(Self.node("alpha") { $0.clockDifference = sign * 100_001 }.isClockOff)
        #expect(!Self.gone.isClockOff, "nobody knows that clock")
        #expect(Self.node("alpha") { $0.clockDifference = .min }.isClockOff)
    }

    // MARK: - Draining

    @Test("A drain says what will happen, by the node's runs and by who stands by")
    func sentences() {
        let others = [Self.node("alpha", .leading), Self.node("beta")]
        let start = "no command begins on 'alpha' any more; "
        for (runs, words) in [
            (3, "once its 3 runs have ended another node leads"),
            (1, "once its run has ended another node leads"),
            (0, "it has no runs, and another node leads at once"),
            (nil, "once its runs have ended another node leads"),
        ] as [(Int?, String)] {
            let node = Self.node("alpha", .draining) { ($0.runs, $0.epoch) = (runs, 7) }
            #expect(Drain.sentence(node, among: others) == start + words)
        }
        let leader = Self.node("alpha", .draining) { $0.epoch = 7 }
        let alone =
            "no other node stands by: none begins anywhere until one does, "
            + "or 'timerctl drain alpha --undo'"
        #expect(Drain.sentence(leader, among: [leader, Self.gone]) == start + alone)
        let standby = Self.node("beta", .draining)
        #expect(
            Drain.sentence(standby, among: others)
                == "no command begins on 'beta', and it leads only where no other can; 'timerctl drain beta --undo' undoes that"
        )
        let busy = Self.node("beta", .draining) { $0.runs = 2 }
        #expect(
            Drain.sentence(busy, among: others)
                == "no command begins on 'beta', and it leads only where no other can; its 2 runs go on; "
                + "'timerctl drain beta --undo' undoes that"
        )
        #expect(Drain.end(of: busy, among: others) == "'beta' has no runs any more")
        #expect(
            Drain.undone(Self.node("beta")) == "'beta' may lead, and run commands, again"
        )
        let next = [Self.node("beta", .leading)]
        #expect(Drain.end(of: leader, among: next) == "'alpha' leads no more; 'beta' does")
        #expect(Drain.end(of: leader, among: []) == "'alpha' leads no more; no node does yet")
    }

    @Test("To wait for the end of a drain is not to undo it")
    func usage() throws {
        expectUsageError("--wait waits for a drain; --undo ends one") {
            try Drain.parse(["alpha", "--undo", "--wait"])
        }
        let drain = try Drain.parse(["alpha", "--wait"])
        #expect(drain.node == "alpha" && drain.wait && !drain.undo)
    }

    // MARK: - Waiting

    private static let lost = Failure(.unavailable, "the daemon closed the connection")
    private static let leads = node("alpha", .draining) { $0.epoch = 7 }

    /// What the wait ends with, and its looks, of `length` each and a second apart, which come to `results`, the last for ever.
    private func wait(
        _ results: [Result<[NodeView], Failure>],
        length: Duration = .zero
    ) async -> (end: Result<[NodeView], Failure>, looks: Int) {
        let looks = Locked(0)
        let clock = Locked(SuspendingClock.now)
        var wait = DrainWait(node: "alpha") {
            clock.withLock { $0 += length }
            let index = looks.withLock { count in
                count += 1
                return min(count, results.count) - 1
            }
            let reply = NodesReply(nodes: try results[index].get(), now: testNow)
            return Answer(value: reply, json: .null)
        }
        wait.pause = { clock.withLock { $0 += .seconds(1) } }
        wait.now = { clock.withLock { $0 } }
        let end: Result<[NodeView], Failure>
        do {
            end = .success(try await wait.run().value.nodes)
        } catch {
            end = .failure(Failure(answering: error))
        }
        return (end, looks.withLock { $0 })
    }

    @Test("The wait ends once the node leads no more, also over connections that are closed")
    func waiting() async {
        let after = [Self.node("alpha", .draining), Self.node("beta", .leading)]
        let refused = Failure(.refused, "the daemon is stopping")
        let (end, looks) = await wait([
            .success([Self.leads]), .failure(Self.lost), .failure(refused), .success([Self.leads]),
            .success(after),
        ])
        #expect(end == .success(after) && looks == 5)
        #expect(await wait([.success([])]).end == .success([]), "a node that is forgotten")
        // One that does not lead has runs to wait for.
        let busy = Self.node("alpha", .draining) { $0.runs = 1 }
        let (idle, count) = await wait([.success([busy]), .success([busy]), .success(after)])
        #expect(idle == .success(after) && count == 3)
    }

    @Test("A node that is gone is waited for while it has runs, and then is not said to have none")
    func gone() async {
        let busy = Self.node("alpha", .draining) { $0.runs = 1 }
        let away = Self.node("alpha", .gone) { $0.runs = 1 }
        let interrupted = Self.node("alpha", .gone) { $0.runs = 0 }
        let (end, looks) = await wait([
            .success([busy]), .success([away]), .success([away]), .success([interrupted]),
        ])
        #expect(end == .success([interrupted]) && looks == 4)
        let failure = Failure(
            .unknownEnd,
            "'alpha' is gone, and what its runs do is not known: its timerd-runner may go on with them"
        )
        #expect(throws: failure) { try Drain.check(interrupted) }
        let back = Self.node("alpha", .draining) { $0.runs = 0 }
        #expect(await wait([.success([away]), .success([back])]).end == .success([back]))
        #expect(throws: Never.self) { try Drain.check(back) }
        #expect(throws: Never.self, "a node that is forgotten") { try Drain.check(nil) }
    }

    @Test("It ends where somebody undoes the drain, and where nobody answers for long")
    func givenUp() async {
        let undone = await wait([.success([Self.leads]), .success([Self.node("alpha", .leading)])])
        #expect(undone.end == .failure(Failure(.refused, "'alpha' drains no more, and leads on")))
        #expect(undone.looks == 2)
        // A minute in each case: of refusals at once, and of those for which a node has waited.
        for (length, looks) in [(Duration.zero, 60), (.seconds(8), 7)] {
            let silent = await wait([.success([Self.leads]), .failure(Self.lost)], length: length)
            #expect(silent.end == .failure(Self.lost) && silent.looks == 1 + looks)
        }
        let broken = Failure(.protocolBroken, "the answer cannot be read")
        #expect(await wait([.failure(broken)]).looks == 1)
    }

    // MARK: - Doctor

    private func diagnosis(_ nodes: [NodeView]) -> [Finding] {
        Finding.nodes(NodesReply(nodes: nodes, now: testNow))
    }

    @Test("Nodes that are all well have one line")
    func well() {
        let nodes = [
            Self.node("alpha", .leading) { $0.clockDifference = -3000 }, Self.node("beta"),
            Self.node("delta"),
            Self.node("epsilon", .draining) { $0.drainingSince = testNow - .seconds(3600) },
            // It may be on its way up again.
            Self.node("gamma", .gone) { $0.leaseUntil = testNow - .seconds(60) },
        ]
        #expect(
            diagnosis(nodes) == [
                .ok(
                    "nodes",
                    "'alpha' leads, 'beta', 'delta' stand by, 'epsilon' drains; "
                        + "their clocks are within 3 ms of the database's"
                )
            ]
        )
    }

    @Test("Each thing that is not well is a warning, with what to do")
    func unwell() {
        let nodes = [
            Self.node("alpha", .leading),
            Self.node("beta") { ($0.clockDifference, $0.host) = (-2_300_000, "blade-7") },
            Self.node("delta", .draining) { $0.drainingSince = testNow - .seconds(187_200) },
            Self.gone,
        ]
        let findings = diagnosis(nodes)
        #expect(findings.allSatisfy { $0.level == .warning && $0.subject == "nodes" })
        #expect(
            findings.map(\.text) == [
                "the clock of 'beta' is 2.3 s behind the database's",
                "'gamma' is gone: its lease ended 5 min ago",
                "'delta' has been draining for 2 days 4 h, and takes over nothing",
            ]
        )
        let advice = findings.compactMap(\.advice)
        #expect(advice.count == 3 && advice[0].contains("on 'blade-7'"))
        #expect(advice[1].contains("start timerd on 'gamma'"))
        #expect(advice[2].contains("timerctl drain delta --undo"))
    }

    @Test("Where the node that leads is on another machine, doctor says what was not looked at")
    func elsewhere() {
        func reply(_ host: String?) -> NodesReply {
            let nodes = [Self.node("alpha", .leading) { $0.host = host }, Self.node("beta")]
            return NodesReply(nodes: nodes, now: testNow)
        }
        let leader = reply("blade-7").leader(elsewhereThan: "blade-8")
        #expect(leader?.name == "alpha")
        #expect(reply("blade-8").leader(elsewhereThan: "blade-8") == nil)
        #expect(reply(nil).leader(elsewhereThan: "blade-8") == nil, "it may be here")
        #expect(reply(nil).takeCommands(besides: "alpha"))
        #expect(!reply(nil).takeCommands(besides: "beta"))
        let finding = leader.map { Diagnosis.passedOn(by: $0, seesOwn: true) }
        #expect(finding?.level == .ok && finding?.subject == "host")
        #expect(finding?.text.contains("is of 'alpha', which leads on 'blade-7'") == true)
        #expect(finding?.text.contains("timerd-runner, control groups and disk, and") == true)
        let unseen = leader.map { Diagnosis.passedOn(by: $0, seesOwn: false) }
        #expect(unseen?.text.contains("groups, disk, configuration and service, and") == true)
        #expect(finding?.advice?.hasPrefix("timerctl doctor on 'blade-7'") == true)
        #expect(Diagnosis.nodes(nil) == [])
    }

    @Test("A node whose runner does not answer is told; of the one that leads status tells it")
    func silentRunner() {
        let leader = Self.node("alpha", .leading) { $0.runnerIsSilent = true }
        let findings = diagnosis([leader, Self.node("beta") { $0.runnerIsSilent = true }])
        let told = findings.map(\.text)
        #expect(told == ["timerd-runner of 'beta' does not answer: no command begins there"])
        #expect(findings.first?.level == .warning)
        #expect(leader.stateWords == "leading, no runner")
    }

    @Test("A node that nobody takes over from is a warning")
    func alone() {
        let leader = Self.node("alpha", .leading)
        #expect(
            diagnosis([leader]).map(\.text) == [
                "'alpha' is the only one: where it ends, nothing fires until it is back"
            ]
        )
        let drained = ["beta", "delta"].map { Self.node($0, .draining) }
        #expect(
            diagnosis([leader] + drained).map(\.text) == [
                "none stands by for 'alpha' but 'beta', 'delta', which drain: no command would begin there"
            ]
        )
        #expect(
            diagnosis([leader, drained[0]]).map(\.text) == [
                "none stands by for 'alpha' but 'beta', which drains: no command would begin there"
            ]
        )
        var last = Self.node("beta", .draining)
        last.epoch = 7
        #expect(
            diagnosis([Self.node("alpha", .gone), last]).map(\.text).contains(
                "'beta' drains, and leads, as no other node may: no command begins on it"
            )
        )
        let refused = Finding.unknownNodes("the database does not answer")
        #expect(refused.level == .warning)
        #expect(refused.text == "they cannot be listed: the database does not answer")
    }
}
