// SPDX-License-Identifier: Apache-2.0

import Cluster
import LinuxSystem
import Logging
import Runner
import Schedules
import SystemPackage
import TimerControl

/// How a node begins to lead, and how it leads no more.
extension NodeDaemon {
    /// Starts the core, as this node has the lease of that epoch.
    ///
    /// `formerClock`: by how much the clock of the node that led before is ahead of the database's, in µs; nil where that is
    /// not known.
    ///
    /// - Throws: what keeps this node from leading for good; after any other trouble it tries again later.
    func lead(_ epoch: Int64, _ formerClock: Int64?) async throws {
        log.log(
            level: standing.failure == nil ? .notice : .debug,
            "this node leads",
            metadata: ["node": "\(shared.node)", "epoch": "\(epoch)"]
        )
        await stopAgent()
        let changes = changes.continuation
        let relayed = RelayedClients(node: shared.node)
        // From here on nobody else accepts clients: they wait for the daemon's own socket.
        relay.lead { relayed.take($0, of: $1) }
        do {
            let parts = try await DaemonParts.start(
                configuration,
                manager,
                lead: terms(ofLeadIn: epoch, formerClock),
                lastReload: lastReload,
                log: log
            ) {
                changes.yield(.lost(epoch: epoch, $0))
            }
            leading = (parts, epoch)
            metrics.lead(parts.metrics)
            keeper.coreBegan()
            watchdog = Watchdog(manager, on: parts.thread)
            relayed.serve(parts.socket, parts.core.own) { descriptor, node in
                Task { await parts.core.admitAgent(descriptor, of: node) }
            }
            manager.tell(.status("leading, at '\(configuration.socket)'"))
            if standing.failure != nil {
                log.notice("this node leads", metadata: ["epoch": "\(epoch)"])
            }
            standing.failure = nil
        } catch {
            relayed.refuseAll(
                ControlError(
                    .storageFailed,
                    "'\(shared.node)' could not lead: \(DaemonError(starting: error)); nothing was changed"
                )
            )
            try giveUp(error)
        }
    }

    private func terms(ofLeadIn epoch: Int64, _ formerClock: Int64?) -> Lead {
        Lead(
            address: address,
            node: shared.node,
            epoch: epoch,
            labels: shared.labels,
            drains: standing.drains,
            age: SystemClock.read().sinceBoot - startedSinceBoot,
            fence: keeper.fence,
            lease: shared.lease,
            listener: socket.descriptor,
            clockDifference: clockDifference(to: formerClock),
            onConnect: { [keeper] in keeper.setStoreBackend($0) },
            onDoubt: { [log] in
                log.warning(
                    "whether the last changes are stored is not known yet",
                    metadata: ["error": "\($0)"]
                )
            },
            nodes: ClusterRegistry(keeper: keeper, standing: standing)
        )
    }

    /// Gives back the lease with which this node could not begin; it tries again once the others could have.
    ///
    /// - Throws: what keeps it from that for good.
    private func giveUp(_ error: any Error) throws {
        let failure = DaemonError(starting: error)
        // Where the lease ended meanwhile, another node leads by now, and it may follow from that.
        guard !failure.isLasting || !keeper.fence.isOpen else {
            keeper.coreStopped()
            throw failure
        }
        keeper.couldNotLead()
        relay.follow(leader: leader, listener: socket.descriptor)
        startAgent()
        // It may be the same each time.
        if failure.description != standing.failure {
            log.error("this node could not lead", metadata: ["error": "\(failure)"])
        }
        standing.failure = failure.description
    }

    /// By how much the clock of the node that led before is ahead of this one's, in µs; 0 where that is not known.
    private func clockDifference(to former: Int64?) -> Int64 {
        guard let former, let own = keeper.clockDifference else { return 0 }
        return former - own
    }

    func takeNote(ofDraining drains: Bool) async {
        log.notice(
            drains ? "this node drains" : "this node drains no more",
            metadata: ["node": "\(shared.node)"]
        )
        await leading?.parts.core.scheduler.drainHere(drains)
    }

    /// Has nothing begin here any more; the node leads until its runs have ended.
    func handOver() {
        guard let leading else { return keeper.coreStopped() }
        let (scheduler, epoch, changes) = (
            leading.parts.core.scheduler, leading.epoch, changes.continuation
        )
        Task {
            await scheduler.drainRuns()
            changes.yield(.drained(epoch: epoch))
        }
    }

    /// Stops the core, and gives the lease back; `ofCopy`: as this node's own copy of the jobs has failed, or its connection with
    /// what keeps them, so that another is to lead first.
    func stopLeading(_ reason: String, ofCopy: Bool = false) async {
        guard let ended = leading?.parts else { return }
        await stop(ended, reason, refusing: .noMoreLed(by: shared.node, reason))
        if ofCopy {
            log.error("this node could not go on leading", metadata: ["error": "\(reason)"])
            standing.failure = reason
            keeper.couldNotLead()
        } else {
            keeper.coreStopped()
        }
        relay.follow(leader: leader, listener: socket.descriptor)
        startAgent()
    }

    /// Runs commands for the node that leads, if that is another one.
    func startAgent() {
        guard leading == nil, agent == nil, let leader else { return }
        do throws(SystemError) {
            agent = try RunAgent(
                for: leader,
                SchedulerSettings(configuration, account: .own()),
                runner: RunnerProgram(socket: configuration.runner),
                log: log
            ) { [relay] in
                relay.carryAgent($0)
            }
            metrics.standBy(with: agent)
        } catch {
            log.error("no commands can be run on this node", metadata: ["error": "\(error)"])
        }
    }

    func stopAgent() async {
        guard let agent else { return }
        metrics.standBy(with: nil)
        self.agent = nil
        await agent.stop()
    }

    /// Stops the core; what could not be stored is recovered by the node that leads next, as after a crash.
    ///
    /// `refusal`: see `Scheduler.stop`.
    func stop(
        _ ended: DaemonParts,
        _ reason: String,
        _ runs: RunsAtStop = .goOn,
        refusing refusal: ControlError? = nil
    ) async {
        leading = nil
        metrics.standBy(with: nil)
        watchdog = Watchdog(manager, on: thread)
        log.notice(
            "this node leads no more",
            metadata: ["node": "\(shared.node)", "reason": "\(reason)"]
        )
        manager.tell(.status("standing by at '\(configuration.socket)'"))
        do {
            try await ended.stop(runs, refusing: refusal)
        } catch {
            log.debug("the core has stopped", metadata: ["error": "\(error)"])
        }
    }
}
