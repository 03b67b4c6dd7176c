// SPDX-License-Identifier: Apache-2.0

package import Cluster
package import JobModel
package import LinuxSystem
import Locks
import SystemPackage
package import TimerControl

/// The runners of all nodes: that of this one, which leads, and those that the agents of the others speak for.
package final class NodeRunners: CommandRunner {
    private struct Node {
        let connections: any NodeConnections
        let runner: ProgramRunner
    }

    private struct State {
        var nodes: [String: Node] = [:]
        /// Which node has which run; those of this one are not here.
        var runs: [Int64: String] = [:]
        var hasLeft = false
        var changed: @Sendable (_ node: String, RunnerChange) -> Void = { _, _ in }
    }

    private let own: ProgramRunner
    /// The name of this node.
    private let name: String
    private let connections: @Sendable () -> any NodeConnections
    private let fence: Fence
    /// How long another node may be away until its runs count as interrupted.
    private let absence: Duration
    /// Whether a node of that name is there, as the nodes tell each other; nil where nobody knows.
    private let isThere: (@Sendable (_ node: String) async -> Bool)?
    private let now: @Sendable () -> Int64
    private let state = Locked(State())

    /// `loop`: where the connections with the runners of other nodes are.
    package convenience init(
        own: ProgramRunner,
        of name: String,
        on loop: EpollLoop,
        fence: Fence,
        absence: Duration,
        isThere: (@Sendable (_ node: String) async -> Bool)?,
        now: @escaping @Sendable () -> Int64
    ) {
        self.init(own: own, of: name, fence: fence, absence: absence, isThere: isThere, now: now) {
            AwaitedConnections(on: loop)
        }
    }

    /// `connections`: what the runner of another node is to live on.
    init(
        own: ProgramRunner,
        of name: String,
        fence: Fence,
        absence: Duration,
        isThere: (@Sendable (_ node: String) async -> Bool)? = nil,
        now: @escaping @Sendable () -> Int64,
        connections: @escaping @Sendable () -> any NodeConnections
    ) {
        (self.own, self.name, self.connections) = (own, name, connections)
        (self.fence, self.absence, self.isThere, self.now) = (fence, absence, isThere, now)
    }

    /// The agent of a node has come: it is at the other end of `descriptor`, which is taken over.
    package func take(_ descriptor: Int32, of node: String) {
        let came = state.withLock { state in
            state.hasLeft ? nil : (self.entry(node, &state), state.changed)
        }
        // It comes again, to the node that leads then.
        guard let (entry, changed) = came else {
            return FileDescriptor(rawValue: descriptor).closeForGood()
        }
        entry.connections.put(FileDescriptor(rawValue: descriptor))
        entry.runner.come { changed(node, $0) }
    }

    private func entry(_ node: String, _ state: inout State) -> Node {
        if let entry = state.nodes[node] { return entry }
        let connections = connections()
        var terms = RemoteTerms(node: node, absence: absence)
        if let isThere { terms.isThere = { await isThere(node) } }
        let runner = ProgramRunner(on: connections, remote: terms, fence: fence, now: now)
        let entry = Node(connections: connections, runner: runner)
        state.nodes[node] = entry
        return entry
    }

    private func runner(of run: Int64) -> ProgramRunner {
        state.withLock { state in
            state.runs[run].flatMap { state.nodes[$0]?.runner } ?? own
        }
    }

    private func runner(for request: RunRequest) -> ProgramRunner {
        guard let node = request.node, node != name else { return own }
        return state.withLock { state in
            state.runs[request.run] = node
            return entry(node, &state).runner
        }
    }

    // MARK: - As one

    package func attach(_ changed: @escaping @Sendable (RunnerChange) -> Void) async throws
        -> KnownRuns
    {
        var known = try await own.attach(changed)
        known.node = name
        return known
    }

    package func attachOthers(_ changed: @escaping @Sendable (_ node: String, RunnerChange) -> Void)
    {
        state.withLock { $0.changed = changed }
    }

    package var known: KnownRuns {
        var known = own.known
        known.node = name
        return known
    }

    package func expect(_ run: Int64, at place: RunPlace) {
        guard let node = place.node, node != name else { return own.expect(run, at: place) }
        let runner = state.withLock { state in
            state.runs[run] = node
            return entry(node, &state).runner
        }
        runner.expect(run, at: place)
    }

    package func run(
        _ request: RunRequest,
        started: @escaping @Sendable (KnownRun) -> Void
    ) async throws(RunBreak) -> RunResult {
        do throws(RunBreak) {
            return try await runner(for: request).run(request, started: started)
        } catch {
            state.withLock { $0.runs[request.run] = nil }
            throw error
        }
    }

    package func takeUp(
        _ request: RunRequest,
        started: @escaping @Sendable (KnownRun) -> Void
    ) async throws(RunBreak) -> RunResult {
        try await runner(for: request).takeUp(request, started: started)
    }

    package func stored(_ run: Int64) {
        let runner = runner(of: run)
        state.withLock { $0.runs[run] = nil }
        runner.stored(run)
    }

    @discardableResult
    package func stop(_ run: Int64, by teardown: Teardown) -> Bool {
        runner(of: run).stop(run, by: teardown)
    }

    package func endAgain(
        _ run: Int64,
        by teardown: Teardown,
        asDaemon: Bool
    ) async -> SignalAnswer? {
        await runner(of: run).endAgain(run, by: teardown, asDaemon: asDaemon)
    }

    package func kill(
        _ run: Int64,
        by teardown: Teardown,
        withRest: Bool = false,
        asDaemon: Bool
    ) async -> SignalAnswer? {
        await runner(of: run).kill(run, by: teardown, withRest: withRest, asDaemon: asDaemon)
    }

    package func awaitBegins(of runs: [Int64], whereOffered: Bool) async {
        let nodes = state.withLock { state in
            Dictionary(grouping: runs) { state.runs[$0] }
                .map { (node, runs) in (node.flatMap { state.nodes[$0]?.runner } ?? own, runs) }
        }
        for (runner, runs) in nodes {
            await runner.awaitBegins(of: runs, whereOffered: whereOffered)
        }
    }

    package var controlGroups: ControlGroups? { own.controlGroups }

    package func passed(_ runs: [Int64: OutputPosition]) {
        for (run, position) in runs { runner(of: run).passed([run: position]) }
    }

    package func detach() async {
        await own.detach()
        let nodes = state.withLock { state in
            state.hasLeft = true
            return state.nodes.values.map(\.runner)
        }
        for node in nodes { await node.detach() }
    }
}
