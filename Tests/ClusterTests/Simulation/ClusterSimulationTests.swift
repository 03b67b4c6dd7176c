// SPDX-License-Identifier: Apache-2.0

import Cluster
import Glibc
import Testing

/// Simulated clusters, in which all goes wrong that can.
///
/// TIMERD_CLUSTER_SEEDS=a..b runs others; of one alone (a..a) it prints what happens.
@Suite("Simulated clusters")
struct ClusterSimulationTests {
    static var seeds: ClosedRange<UInt64> {
        let text = getenv("TIMERD_CLUSTER_SEEDS").map { String(cString: $0) } ?? ""
        let ends = text.split(separator: ".").compactMap { UInt64($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return 1...2000 }
        return first...last
    }

    @Test("One node leads at a time, nothing old is written, and no date is lost or doubled")
    func seeds() async {
        let seeds = Self.seeds
        let workers: UInt64 = 2
        var blocked = 0
        var redelivered = 0
        await withTaskGroup(of: (blocked: Int, redelivered: Int).self) { group in
            for worker in 0..<workers {
                group.addTask { Self.run(seeds, from: worker, by: workers) }
            }
            for await counts in group {
                blocked += counts.blocked
                redelivered += counts.redelivered
            }
        }
        // The simulation would show nothing where these do not come about.
        guard seeds.count >= 1000 else { return }
        #expect(blocked > 0)
        #expect(redelivered > 0)
    }

    private static func run(
        _ seeds: ClosedRange<UInt64>,
        from worker: UInt64,
        by step: UInt64
    ) -> (blocked: Int, redelivered: Int) {
        var counts = (blocked: 0, redelivered: 0)
        for seed in seeds where seed % step == worker {
            let cluster = run(seed: seed)
            counts.blocked += cluster.blockedTakes
            counts.redelivered += cluster.redeliveries
            for finding in cluster.findings { Issue.record("\(finding)") }
        }
        return counts
    }

    @Test("The simulation finds what is broken on purpose", arguments: Broken.allCases)
    func broken(_ broken: Broken) {
        let found = (1...UInt64(2000)).contains { seed in
            !Self.run(seed: seed, broken.breakage).findings.isEmpty
        }
        #expect(found)
    }

    @Test("Where the node that leads is killed, another does within its lease and a second")
    func failover() {
        for seed in 1...UInt64(100) {
            let cluster = SimulatedCluster(seed: seed, troubles: false)
            let killed = cluster.terms.length * 4 + Int64(seed) * 7919
            cluster.run(until: killed)
            guard let leader = cluster.nodes.first(where: { $0.isFenceOpen(killed) }) else {
                Issue.record("seed \(seed): nobody leads")
                continue
            }
            cluster.kill(leader, until: .max)
            let limit = killed + cluster.terms.length + 1_000_000
            cluster.run(until: limit)
            #expect(cluster.nodes.contains { $0.isFenceOpen(limit) }, "seed \(seed)")
            #expect(cluster.leads.count == 2, "seed \(seed)")
            #expect(cluster.findings.isEmpty)
        }
    }

    /// Each order of both: the node that leads drains, and no other can lead; or another drains, and the one that leads fails.
    @Test("Where only a node that drains can lead, it does, until another may be mended")
    func drains() {
        for seed in 1...UInt64(100) {
            let cluster = SimulatedCluster(seed: seed, troubles: false)
            let begin = cluster.terms.length * 4 + Int64(seed) * 7919
            cluster.run(until: begin)
            guard let leader = cluster.nodes.first(where: { $0.isFenceOpen(begin) }),
                let other = cluster.nodes.first(where: { $0 !== leader })
            else {
                Issue.record("seed \(seed): nobody leads")
                continue
            }
            let drained = seed.isMultiple(of: 2) ? leader : other
            for node in cluster.nodes where node !== drained { node.cannotLead = true }
            cluster.drain(drained, until: .max)
            if drained !== leader {
                cluster.run(until: begin + 1_000_000)
                cluster.failCore(leader)
            }
            // Each of the others tries once.
            cluster.run(until: begin + cluster.terms.length + 6_000_000)
            #expect(drained.isFenceOpen(cluster.now), "seed \(seed)")
            let count = cluster.leads.count
            cluster.run(until: begin + 55_000_000)
            #expect(cluster.leads.count == count, "seed \(seed): the lead comes and goes")
            cluster.checkEnd()
            // They try once more, and the lead is back.
            cluster.run(until: begin + 90_000_000)
            #expect(cluster.leads.count > count && drained.isFenceOpen(cluster.now), "seed \(seed)")
            for node in cluster.nodes { node.cannotLead = false }
            cluster.run(until: begin + 160_000_000)
            cluster.checkEnd()
            #expect(!drained.isFenceOpen(cluster.now), "seed \(seed): it leads beside sound nodes")
            #expect(cluster.findings.isEmpty, "seed \(seed): \(cluster.findings)")
        }
    }

    enum Broken: CaseIterable, CustomTestStringConvertible {
        case margin, fence, commits

        var breakage: SimulatedCluster.Breakage {
            switch self {
            case .margin: SimulatedCluster.Breakage(margin: 0)
            case .fence: SimulatedCluster.Breakage(ignoresFence: true)
            case .commits: SimulatedCluster.Breakage(takesWaitForCommits: false)
            }
        }

        var testDescription: String {
            switch self {
            case .margin: "no margin before the lease's end"
            case .fence: "nobody looks at the fence"
            case .commits: "a take-over does not wait for commits"
            }
        }
    }

    private static func run(
        seed: UInt64,
        _ breakage: SimulatedCluster.Breakage = SimulatedCluster.Breakage()
    ) -> SimulatedCluster {
        let cluster = SimulatedCluster(seed: seed, breakage: breakage)
        cluster.isTraced = seeds.count == 1
        cluster.addTroubles()
        cluster.run(until: cluster.troubleEnd)
        // The last holder's lease ends, and another takes over.
        cluster.run(until: cluster.troubleEnd + 2 * cluster.terms.length + 1_000_000)
        let epoch = cluster.database.epoch
        cluster.run(until: cluster.now + 3 * cluster.terms.length)
        if epoch != cluster.database.epoch { cluster.fail("it changes hands without a reason") }
        cluster.checkEnd()
        return cluster
    }
}
