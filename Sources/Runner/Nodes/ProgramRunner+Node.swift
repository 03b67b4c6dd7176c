// SPDX-License-Identifier: Apache-2.0

import Cluster
package import JobModel
import Locks

/// How another node's runner is dealt with, which that node's agent speaks for.
struct RemoteTerms: Sendable {
    /// The name of the node.
    var node: String
    /// How long it may say nothing, where it is expected to.
    var patience = Duration.seconds(3)
    /// How long it may be away until its runs count as interrupted.
    var absence: Duration
    /// Whether the node is there, though its agent is not: then it may be its runner that says nothing.
    ///
    /// Nil where nobody knows.
    var isThere: (@Sendable () async -> Bool)?
    /// How long it may take to begin what it was told to, once it has said that it could.
    var beginning = Duration.seconds(1)
}

/// The runs of another node; all of it on the loop's thread.
///
/// A run is begun in two steps. The node is offered it, finds out who it is there, and says that it is ready. Only then it is
/// decided here whether the run begins, and the node may begin it within a second of what it has said, by its own clock: a node
/// that was stopped meanwhile does not. So it is known soon whether a run has begun there.
extension ProgramRunner {
    // MARK: - From any thread

    /// It speaks for one runner: no other comes or goes.
    package func attachOthers(_ changed: @escaping @Sendable (_ node: String, RunnerChange) -> Void)
    {}

    /// The node has run it for the node that led before.
    package func expect(_ run: Int64, at place: RunPlace) {
        state.withLock { $0.entries[run] = $0.entries[run] ?? RunEntry(expected: place.runner) }
        loop.perform {
            guard self.remote != nil, case .none = self.connection else { return }
            self.connection = .away
            self.lostNode()
        }
    }

    /// The node has come, perhaps anew: there is a connection to be had.
    func come(_ changed: @escaping @Sendable (RunnerChange) -> Void) {
        loop.perform {
            // What runs there is the next leader's: to this one it would be unknown, and be ended.
            guard !self.hasLeft else { return }
            self.changed = changed
            switch self.connection {
            case .linked(let link), .greeting(let link, _): link.close("its node has come anew")
            case .none, .away, .leaving: break
            }
            self.look()
        }
    }

    /// Returns once it is known of runs that the runner was told to begin whether they have begun; `whereOffered`: also of those
    /// that another node was only offered.
    package func awaitBegins(of runs: [Int64], whereOffered: Bool) async {
        let runs = state.withLock { state in
            runs.filter { state.entries[$0]?.mayBegin ?? false }
        }
        guard !runs.isEmpty else { return }
        if remote == nil {
            // Behind an order that is on its way to the runner just now.
            await withCheckedContinuation { looked in
                loop.perform {
                    // One that hangs may begin them as it goes on: nobody knows when.
                    self.later(Self.beginning) { runner in
                        for run in runs { runner.tellSettled(run) }
                    }
                    looked.resume()
                }
            }
        }
        // Each has a time of its own, or all have the same: to wait for one after another takes no longer.
        for run in runs { await awaitTold(run, whereOffered: whereOffered && remote != nil) }
    }

    /// How long this host's runner is waited for to begin what it was told to.
    private static let beginning = Duration.seconds(2)

    private func awaitTold(_ run: Int64, whereOffered: Bool) async {
        await withCheckedContinuation { beginner in
            let isOpen = state.withLock { state in
                guard let entry = state.entries[run], entry.isOrdered || whereOffered,
                    entry.mayBegin
                else { return false }
                state.entries[run]?.beginners.append(beginner)
                return true
            }
            if !isOpen { beginner.resume() }
        }
    }

    // MARK: - A run begins

    func offer(_ request: RunRequest, over link: any RunnerLink) {
        if offers.begin(request) { sendOffer(request, over: link) }
    }

    private func sendOffer(_ request: RunRequest, over link: any RunnerLink) {
        guard link.send(.offer(run: request.run, request.offer)) else {
            refuse(request.run, StartRefusal("what it is to run is longer than 8 MiB"))
            return noteAnswer(to: request.run, over: link)
        }
        expectAnswer(over: link)
        mindNode()
    }

    /// The node has answered an offer: others may follow.
    private func noteAnswer(to run: Int64, over link: any RunnerLink) {
        for next in offers.answered(run) {
            // It may be over by now.
            if state.withLock({ $0.entries[next.run] }) == nil {
                noteAnswer(to: next.run, over: link)
            } else {
                sendOffer(next, over: link)
            }
        }
    }

    func takeOfAgent(_ report: RunnerReport, over link: any RunnerLink) {
        switch report {
        case .ready(let run):
            noteAnswer(to: run, over: link)
            ready(run, over: link)
        case .declined(let run, let refusal, let reason):
            noteAnswer(to: run, over: link)
            declined(run, refusal, reason)
        case .words(let run, let words): state.withLock { $0.entries[run]?.words = words }
        default: break
        }
    }

    /// The last look: what begins from here on begins by this node's word.
    private func ready(_ run: Int64, over link: any RunnerLink) {
        guard let remote, let entry = state.withLock({ $0.entries[run] }), !entry.isOrdered,
            let request = entry.request
        else {
            link.send(.withdraw(run: run))
            return
        }
        let open = fence.map { Duration.microseconds($0.remaining) } ?? remote.beginning
        guard open > .zero else {
            link.send(.withdraw(run: run))
            return complete(run, .failure(.notBegun("this node leads no more")))
        }
        guard request.start.begin() else {
            link.send(.withdraw(run: run))
            return refuse(run, .withdrawn)
        }
        state.withLock { $0.entries[run]?.isOrdered = true }
        let within = min(open, remote.beginning)
        link.send(.go(run: run, within: Int64(within / .microseconds(1))))
        // By then it has begun, or never will: its runner goes by the same date.
        later(within) { $0.tellSettled(run) }
        if let wish = entry.wish { end(run, wish) }
    }

    private func tellSettled(_ run: Int64) {
        let beginners = state.withLock { state in
            defer {
                state.entries[run]?.beginners = []
                state.entries[run]?.isSettled = true
            }
            return state.entries[run]?.beginners ?? []
        }
        for beginner in beginners { beginner.resume() }
    }

    private func declined(_ run: Int64, _ refusal: RunnerReport.Refusal, _ reason: String) {
        guard let remote else { return }
        switch refusal {
        case .forGood: refuse(run, StartRefusal(reason))
        case .forNow: complete(run, .failure(.notBegun("'\(remote.node)': \(reason)")))
        case .stranger: complete(run, .failure(.stranger("'\(remote.node)': \(reason)")))
        }
    }

    // MARK: - The node comes and goes

    /// The connection is lost: what was only offered is begun elsewhere; what runs is interrupted where the node stays away.
    func lostNode() {
        guard let remote else { return }
        offers = OfferQueue()
        for (run, entry) in entriesByNumber where !entry.isOrdered && entry.done != nil {
            complete(run, .failure(.notBegun("'\(remote.node)' has gone")))
        }
        // Since it was there last: one that comes again and again, and does not say what it knows, is not.
        guard !isAbsent else { return }
        isAbsent = true
        losses += 1
        waitForNode(after: losses)
    }

    /// The node's agent has come, and its runner has not said who it is.
    ///
    /// The agent comes again within 7 s, so that one that does not has gone.
    func tellSilence(_ reason: String) {
        changed(.silent(reason))
        let look = looks
        later(.seconds(15)) { runner in
            if runner.isAway, runner.looks == look { runner.changed(.away("its node has gone")) }
        }
    }

    /// Gives up the runs of a node that has gone, and not of one that is there: they go on, also where their runner hangs.
    private func waitForNode(after loss: Int) {
        guard let remote else { return }
        later(remote.absence) { runner in
            guard runner.awaitsNode(since: loss) else { return }
            guard let isThere = remote.isThere else { return runner.giveUp() }
            Task {
                let isThere = await isThere()
                runner.loop.perform {
                    guard runner.awaitsNode(since: loss) else { return }
                    isThere ? runner.waitForNode(after: loss) : runner.giveUp()
                }
            }
        }
    }

    /// Whether the node has been away ever since, and there is something to give up.
    private func awaitsNode(since loss: Int) -> Bool {
        // Who has left it waits no more.
        if case .none = connection { return false }
        return isAbsent && losses == loss && !ordered.isEmpty
    }

    /// The node stays away: its runs count as interrupted, and are ended there once it is back.
    private func giveUp() { for run in ordered { interrupt(run) } }

    /// The runs in progress that the node was told to begin.
    private var ordered: [Int64] {
        entriesByNumber.filter { $0.value.isOrdered && $0.value.isInProgress }.map(\.key)
    }

    private var entriesByNumber: [(key: Int64, value: RunEntry)] {
        state.withLock { $0.entries }.sorted { $0.key < $1.key }
    }

    /// Asks now and then whether a node is there that has something to do: only what it has to say would show that it is not.
    func mindNode() {
        guard let remote, !isMinded, case .linked(let link) = connection else { return }
        isMinded = true
        later(remote.patience) { runner in
            runner.isMinded = false
            guard case .linked(let current) = runner.connection, current === link,
                runner.state.withLock({ $0.entries.contains { $0.value.isInProgress } })
            else { return }
            link.send(.ping)
            runner.expectAnswer(over: link)
            runner.mindNode()
        }
    }
}
