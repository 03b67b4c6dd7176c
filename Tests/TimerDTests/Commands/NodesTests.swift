// SPDX-License-Identifier: Apache-2.0

import JobModel
import LinuxSystem
import Locks
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Nodes", .timeLimit(.minutes(1))) struct NodesTests {
    /// Nodes that are said to be there.
    private final class Registry: NodeRegistry {
        struct Drained: Equatable {
            var name: String
            var drains: Bool
        }

        private let views: [NodeView]
        private let trouble: ControlError?
        /// The node that is the last that may lead.
        private let last: String?
        /// What happens while the database is told.
        private let meanwhile: @Sendable () async throws -> Void
        /// What happens once it is told, before that is known.
        private let behind: @Sendable (_ drains: Bool) async -> Void
        /// What happens once they are read, before that is known.
        private let behindRead: @Sendable () async -> Void
        private let log = Locked<[Drained]>([])

        init(
            _ views: [NodeView],
            trouble: ControlError? = nil,
            last: String? = nil,
            behindRead: @escaping @Sendable () async -> Void = {},
            behind: @escaping @Sendable (_ drains: Bool) async -> Void = { _ in },
            meanwhile: @escaping @Sendable () async throws -> Void = {}
        ) {
            (self.views, self.trouble, self.last) = (views, trouble, last)
            (self.behind, self.meanwhile, self.behindRead) = (behind, meanwhile, behindRead)
        }

        var drained: [Drained] { log.withLock { $0 } }

        func nodes(
            _ read: @escaping @Sendable ([NodeView]) -> Void
        ) async throws(ControlError) -> [NodeView] {
            if let trouble { throw trouble }
            read(views)
            await behindRead()
            return views
        }

        func drain(
            _ name: String,
            _ drains: Bool,
            stored: @escaping @Sendable (_ drains: Bool) -> Void
        ) async throws(ControlError) {
            if let trouble { throw trouble }
            if drains, name == last { throw .lastNode(name) }
            do { try await meanwhile() } catch { Issue.record(error) }
            log.withLock { $0.append(Drained(name: name, drains: drains)) }
            stored(drains)
            await behind(drains)
        }
    }

    private static func node(_ name: String, _ state: NodeView.State) -> NodeView {
        var node = NodeView(name: name, state: state, version: "1", leaseUntil: .distantPast)
        if state == .leading { node.epoch = 7 }
        return node
    }

    private static let nodes = [
        node("gamma", .gone), node("alpha", .leading), node("beta", .standby),
    ]

    private func handler(_ test: TestScheduler, _ registry: Registry?) -> CommandHandler {
        var handler = test.handler(uid: 900)
        handler.nodes = registry
        return handler
    }

    private func drain(
        _ handler: CommandHandler,
        _ name: String,
        _ drains: Bool = true,
        as uid: UInt32 = 0
    ) async -> Result<NodeView, ControlError> {
        let request = DrainNode(name: name, drains: drains)
        switch await handler.handle(.drainNode(request), from: uid) {
        case .success(let reply as NodeReply): return .success(reply.node)
        case .success(let other): fatalError("\(other) is no node")
        case .failure(let error): return .failure(error)
        }
    }

    @Test("A daemon alone has no nodes, and none to drain")
    func alone() async throws {
        try await TestScheduler.with { test in
            let handler = handler(test, nil)
            let reply = try await handler.handle(.listNodes, from: 1000).get() as? NodesReply
            #expect(reply == NodesReply(nodes: [], now: test.clock.now().wall))
            let error = await drain(handler, "alpha").failure
            #expect(error?.reason == .conflict)
            #expect(
                error?.message
                    == "this daemon shares its jobs with no other host (setting 'database')"
            )
        }
    }

    @Test("Everybody is told the nodes by name; why they cannot be read is told as well")
    func list() async throws {
        try await TestScheduler.with { test in
            let handler = handler(test, Registry(Self.nodes))
            let reply = try await handler.handle(.listNodes, from: 1000).get() as? NodesReply
            #expect(reply?.nodes.map(\.name) == ["alpha", "beta", "gamma"])
            #expect(reply?.nodes.compactMap(\.runnerIsSilent) == [])
            let away = ControlError(.storageFailed, "the database does not answer")
            let mute = self.handler(test, Registry([], trouble: away))
            #expect(await mute.handle(.listNodes, from: 1000).failure == away)
            #expect(await drain(mute, "alpha").failure == away)
        }
    }

    @Test("The last node that may lead is not drained: it has nobody to hand over to")
    func lastNode() async throws {
        try await TestScheduler.with { test in
            let views = [
                Self.node("alpha", .leading), Self.node("beta", .draining),
                Self.node("gamma", .gone),
            ]
            let registry = Registry(views, last: "alpha")
            let handler = handler(test, registry)
            #expect(await drain(handler, "alpha").failure == .lastNode("alpha"))
            let beta = try await drain(handler, "beta").get()
            #expect(beta.state == .draining)
            let alpha = try await drain(handler, "alpha", false).get()
            #expect(alpha.state == .leading)
            #expect(registry.drained.map(\.name) == ["beta", "alpha"])
        }
    }

    @Test("A drain tells of a command that began while it was stored, for which --wait waits")
    func beginsMeanwhile() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, node: "alpha")
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated {
                $0.nodeJoined("beta", labels: [], drains: false)
                $0.runnerChanged(.back(epoch: 77), of: "beta")
            }
        }
        test.runner.isHolding = true
        // One on each node.
        for _ in 0..<2 { try await test.add(ScheduleWords(in: "5s"), command: ["x"]) }
        let handler = handler(
            test,
            Registry(Self.nodes, meanwhile: { try await test.advance(by: .seconds(6)) })
        )
        #expect(try await drain(handler, "beta").get().runs == 1)
        test.runner.end()
        try await test.close()
    }

    @Test("Of a drain and its undo at once the one counts that is stored last")
    func atOnce() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, node: "alpha")
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated { $0.nodeJoined("beta", labels: [], drains: false) }
        }
        let (isStored, isUndone) = (Latch(), Latch())
        let registry = Registry(
            Self.nodes,
            behind: { drains in
                guard drains else { return }
                isStored.open()
                await isUndone.wait()
            }
        )
        let handler = handler(test, registry)
        async let first = drain(handler, "beta")
        await isStored.wait()
        _ = try await drain(handler, "beta", false).get()
        isUndone.open()
        _ = try await first.get()
        #expect(await drains("beta", test) == false)
        try await test.close()
    }

    private func drains(_ name: String, _ test: TestScheduler) async -> Bool? {
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated { $0.hosts.hosts[name]?.standing.drains }
        }
    }

    @Test("A drained node whose agent comes before its row is in force again stays drained")
    func joinsGone() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, node: "alpha")
        var beta = Self.node("beta", .gone)
        beta.drainingSince = test.clock.now().wall
        let registry = Registry([Self.nodes[1], beta, Self.node("delta", .gone)])
        #expect(await registry.join("beta", test.scheduler))
        #expect(await registry.join("delta", test.scheduler))
        #expect(await registry.join("stranger", test.scheduler) == false)
        #expect(await drains("beta", test) == true)
        #expect(await drains("delta", test) == false)
        try await test.close()
    }

    @Test("A drain that is stored as a node's agent comes is not undone by what was read before")
    func drainsAsItJoins() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, node: "alpha")
        let registry = Registry(
            Self.nodes,
            behindRead: { [scheduler = test.scheduler] in
                scheduler.perform { $0.drainNode("beta", true) }
            }
        )
        #expect(await registry.join("beta", test.scheduler))
        #expect(await drains("beta", test) == true)
        try await test.close()
    }

    @Test("A drained node is answered as it stands by that, and so is one that may lead again")
    func drains() async throws {
        try await TestScheduler.with { test in
            let registry = Registry(Self.nodes)
            let handler = handler(test, registry)
            let leader = try await drain(handler, "alpha").get()
            #expect(leader.state == .draining && leader.leads)
            #expect(leader.drainingSince == test.clock.now().wall)
            #expect(try await drain(handler, "beta", as: 900).get().state == .draining)
            #expect(try await drain(handler, "gamma").get().state == .gone)
            let again = try await drain(handler, "alpha", false).get()
            #expect(again.state == .leading && again.drainingSince == nil)
            #expect(try await drain(handler, "beta", false).get().state == .standby)
            #expect(registry.drained.map(\.name) == ["alpha", "beta", "gamma", "alpha", "beta"])
            #expect(registry.drained.map(\.drains) == [true, true, true, false, false])
        }
    }

    @Test("A backup that is asked for at a node that stands by is refused with who leads")
    func backup() async throws {
        try await TestScheduler.with { test in
            let backup = Request.backUp(BackUp(file: test.folder + "/copy.db"))
            let relayed = ConnectionLife(from: "beta")
            let away = ControlError(.storageFailed, "the database does not answer")
            for (registry, who) in [
                (Registry(Self.nodes), "ask 'alpha', which leads"),
                (Registry([], trouble: away), "ask the node that leads"),
            ] {
                let answer = await handler(test, registry)
                    .handle(backup, from: Owner(uid: 0), over: relayed)
                #expect(answer.failure?.reason == .invalidParams)
                #expect(answer.failure?.message.hasSuffix(who) == true)
            }
            let here = await handler(test, Registry(Self.nodes))
                .handle(backup, from: Owner(uid: 0), over: ConnectionLife())
            #expect(here.failure == nil)
        }
    }

    @Test("An unknown node is refused with the names there are, and a user with the reason")
    func refusals() async throws {
        try await TestScheduler.with { test in
            let registry = Registry(Self.nodes)
            let handler = handler(test, registry)
            #expect(
                await drain(handler, "delta").failure
                    == ControlError(
                        .notFound,
                        "there is no node 'delta'; the nodes are 'alpha', 'beta', 'gamma'"
                    )
            )
            let user = await drain(handler, "alpha", as: 1000).failure
            #expect(user?.reason == .notPermitted)
            #expect(user?.message.hasPrefix("'node.drain' is for root and the user") == true)
            let other = await drain(handler, "delta", as: 1000).failure
            #expect(other == user, "whether it is there is not told by that")
            #expect(registry.drained.isEmpty)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
