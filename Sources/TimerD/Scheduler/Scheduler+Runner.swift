// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import Runner
import Schedules
import TimerControl

/// The runner comes and goes; while it is away, commands wait.
extension Scheduler {
    /// The connection with that of a host has changed, or its room; `host`: nil for this one.
    func runnerChanged(_ change: RunnerChange, of host: String? = nil) {
        let host = host ?? hosts.own
        let room = hosts.room
        let isNews = hosts.take(change, of: host, at: clock.now().wall)
        if isRecovered, hosts.room != room { setPlaces() }
        var metadata: Logger.Metadata = hosts.own.isEmpty ? [:] : ["node": "\(host)"]
        switch change {
        case .away(let reason):
            metadata["error"] = "\(reason)"
            guard host != hosts.own else {
                return log.error(
                    "timerd-runner does not answer; \(noneBegins("on this node"))",
                    metadata: metadata
                )
            }
            // It comes and goes with the node, and with both nodes' connections with the database; its runner may be well, or
            // what says nothing while all else is: that is told next.
            log.notice("nothing is heard of a node; no command begins there", metadata: metadata)
        case .silent(let reason):
            guard isNews else { return }
            metadata["error"] = "\(reason)"
            log.error(
                "timerd-runner of a node does not answer; no command begins there",
                metadata: metadata
            )
        case .replaced(let release):
            metadata["release"] = "\(release)"
            log.notice(
                "timerd-runner of another release has no runs, and makes room for one of this release",
                metadata: metadata
            )
        case .full(let reason):
            guard isNews else { return }
            metadata["error"] = "\(reason)"
            log.warning(
                "timerd-runner has no room for more runs; \(noneBegins("there"))",
                metadata: metadata
            )
        case .hasRoom: beginAgain()
        case .limit: break
        case .unexpected(let runs): warnOfUnknown(runs, on: host)
        case .back(_, let lastRun):
            if let lastRun { skipRuns(through: lastRun) }
            if host == hosts.own { metadata["runner"] = "\(runner.known.pid ?? 0)" }
            log.notice(
                host == hosts.own
                    ? "timerd-runner answers again" : "a node that runs commands is connected",
                metadata: metadata
            )
            if isRecovered { beginAgain() }
        }
    }

    /// What follows where a host takes no command: where there are others, these may take all.
    private func noneBegins(_ place: String) -> String {
        hosts.own.isEmpty ? "commands wait" : "no command begins \(place)"
    }

    /// A node has come that runs commands for this one, which leads.
    func nodeJoined(_ name: String, labels: Set<String>, drains: Bool) {
        hosts.join(name, labels: labels)
        hosts.drain(name, drains, at: clock.now().wall)
    }

    /// Has commands begin on this node no more, or again; all else goes on.
    func drainHere(_ drains: Bool) { drainNode(hosts.own, drains) }

    /// Has commands begin on a node no more, or again, from here on: also on this one, whose keeper is told of it later.
    func drainNode(_ name: String, _ drains: Bool) {
        hosts.drain(name, drains, at: clock.now().wall)
        guard isRecovered else { return }
        setPlaces()
        if !drains { beginAgain() }
    }

    /// Has no new run get a number that a runner knows: the jobs may have been set back to a day before, and the runner would
    /// take the new run for the one that it has.
    ///
    /// Stored before any run that is placed from now on.
    private func skipRuns(through last: Int64) {
        store.record { try DaemonState.skip(runsThrough: RunID(rawValue: last), in: $0) }
    }

    /// Says which of the runs that a node ends the database does not have; that the others were given up was told before.
    private func warnOfUnknown(_ found: [Int64], on host: String) {
        record { writer in
            // Below 0 are tries of notices.
            try found.filter { $0 > 0 }.map(RunID.init(rawValue:))
                .filter { try !writer.runs.isKnown($0) }
        } durable: { scheduler, unknown in
            for run in unknown { scheduler.warnOfEnd(ofUnknown: run, on: host) }
        }
    }

    /// Says that a run ends of which nobody will find a row.
    func warnOfEnd(ofUnknown run: RunID, on host: String) {
        log.warning(
            "a run is ended that the database does not have, as after a failover that lost it",
            metadata: ["run": "\(run)", "node": "\(host)"]
        )
    }

    /// How many commands are in progress on each node.
    func runs(onEach nodes: [String]) -> [Int] { nodes.map { hosts.taken(on: $0) } }

    /// The nodes that are there and whose runner does not answer.
    var silentHosts: Set<String> { hosts.silent }

    /// How many strays a client is told of.
    private static let shownStrays = 64

    /// What clients are told of whatever minds the runs; strays, and hosts that others asked for, are `named` to administrators.
    func runnerStanding(named: Bool) -> StatusReply.Runner {
        let known = runner.known
        let standing = hosts.standing
        let isAway = standing.away != nil
        // Their owners are not known, so only administrators are told of them.
        let strays = named ? self.strays : []
        return StatusReply.Runner(
            pid: isAway ? nil : known.pid,
            version: isAway ? nil : known.release,
            runs: known.runs.count { $0.value.phase != .ended },
            trouble: standing.trouble,
            troubleSince: standing.since,
            absentHosts: hosts.absent(named: named),
            absences: hosts.absences,
            drains: standing.drains ? true : nil,
            strays: strays.isEmpty ? nil : Array(strays.prefix(Self.shownStrays))
        )
    }

    /// Commands begin from now on, those that waited first; unless something else is in their way.
    func beginAgain() {
        guard runnerTrouble == nil else { return }
        _ = hosts.takeWaiting()
        goOnAll()
        lookAtNotices()
    }
}
