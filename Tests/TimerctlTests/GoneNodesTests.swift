// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("Nodes that were drained and are gone") struct GoneNodesTests {
    private let drained = NodesTests.node("gamma", .gone) {
        $0.leaseUntil = testNow - .seconds(300)
        $0.drainingSince = testNow - .seconds(360)
    }

    @Test("The table tells both; of one that was not drained, that it is gone")
    func state() {
        #expect(drained.stateWords == "gone, drained")
        #expect(NodesTests.gone.stateWords == "gone")
    }

    @Test("A drain of one that is gone promises nothing of its runs and its lead")
    func drain() {
        let others = [NodesTests.node("alpha", .leading), NodesTests.node("beta")]
        #expect(
            Drain.sentence(drained, among: others)
                == "'gamma' is gone, 'timerctl nodes' says since when; no command begins on it if it comes back; "
                + "'timerctl drain gamma --undo' undoes that, and has it be forgotten if it does not"
        )
    }

    @Test("Doctor tells both, and how it is forgotten")
    func doctor() {
        let nodes = [NodesTests.node("alpha", .leading), NodesTests.node("beta"), drained]
        let findings = Finding.nodes(NodesReply(nodes: nodes, now: testNow))
        #expect(
            findings.map(\.text) == ["'gamma' is gone, and drained: its lease ended 5 min ago"]
        )
        let advice = findings.first?.advice
        #expect(advice?.contains("drain gamma --undo where it is not to come back") == true)
        #expect(advice?.contains("forgotten 7 days after that") == true)
    }
}
