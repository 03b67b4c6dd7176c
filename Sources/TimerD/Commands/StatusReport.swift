// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Locks
import Runner
import Schedules
import TimerControl

/// Builds the answer to `daemon.status`.
///
/// Nothing in it takes longer with more jobs, but the next fire date of all, which administrators are told: that looks at
/// each job that is armed.
struct StatusReport: Sendable {
    /// The database as it may be shown: without a password.
    let databaseShown: String
    /// The path of the control socket.
    let socket: String
    /// What this node is called; nil for a daemon alone.
    let nodeName: String?
    /// When the process was started, in elapsed time: what is told of it goes by the clock as it stands.
    let started: Timestamp
    /// When this daemon's core began, in elapsed time; of one that shares its jobs, since when its node leads.
    let leadsSince: Timestamp
    let clock: any WallClock
    let scheduler: Scheduler
    let store: Store
    let watchers: @Sendable () -> Int
    let newestEvent: @Sendable () -> Int64
    /// What the last reload has left to be done; nil for nothing.
    let lastReload: @Sendable () -> StatusReply.Reload?
    /// The daemons that share their jobs with this one; nil for a daemon alone.
    var nodes: (any NodeRegistry)?
    /// Set once the socket listens; 0 until then.
    let connections = Source()

    /// A number that is read from its owner each time.
    final class Source: Sendable {
        private struct Body {
            var count: @Sendable () -> Int
        }

        private let body = Locked(Body(count: { 0 }))
        func set(_ new: @escaping @Sendable () -> Int) { body.withLock { $0.count = new } }
        var value: Int { body.withLock { $0.count }() }
    }

    /// When the process was started, by the wall clock: a step of that since has made it no older, and no younger.
    var startedAt: Timestamp { clock.now().wallDate(started, on: .elapsed) }

    /// What `caller` may know: the numbers, and for administrators the next fire date.
    ///
    /// That date would tell a user about other users' jobs.
    @Sendable func reply(to caller: Caller) async -> StatusReply {
        let moment = clock.now()
        var stored: Stored?
        var trouble = store.writer.statistics.trouble.map { "\($0)" }
        do {
            stored = try await readStored(for: caller, at: moment)
        } catch {
            trouble = trouble ?? "\(error)"
        }
        // After the look at what waits: a job that is armed in between is in both then, and not in neither.
        let standing = await scheduler.standing(toAdministrator: caller.isAdministrator)
        var reply = StatusReply(
            version: timerdVersion,
            pid: getpid(),
            startedAt: startedAt,
            now: clock.now().wall,
            database: databaseShown,
            socket: socket,
            scheduled: stored?.live.scheduled,
            paused: stored?.live.paused,
            held: stored?.live.held,
            armed: standing.armed,
            running: standing.running,
            waiting: standing.waiting,
            connections: connections.value,
            watchers: watchers(),
            seq: newestEvent(),
            nextFireDate: [standing.soonest, stored?.due].compactMap(\.self).min(),
            trouble: trouble
        )
        reply.controlGroups = controlGroups
        reply.runner = runner(standing.runner, for: caller)
        reply.dropped = standing.dropped
        let places = standing.places
        reply.maxRuns = places.all
        reply.keptForRoot = places.keptForRoot
        reply.maxRunsPerUser = places.perUser < places.all ? places.perUser : nil
        reply.maxRunsKept = scheduler.terms.historyBound.most
        if case .object(let members) = standing.runDefaults.jsonValue, !members.isEmpty {
            reply.defaults = members
        }
        // The reason of a refusal has the file's path, and what stands in it.
        reply.reload = caller.isAdministrator ? lastReload() : nil
        reply.node = await node
        reply.notices = stored?.notices
        reply.notices?.givenUp = standing.noticesGivenUp
        reply.maintenance = stored.flatMap { $0.maintenance.isEmpty ? nil : $0.maintenance }
        return reply
    }
}

// MARK: - Its parts

extension StatusReport {
    /// What the database says, all of one moment.
    private struct Stored {
        var live: (scheduled: Int, paused: Int, held: Int)
        var maintenance: [StatusReply.Maintenance]
        /// Without how many were given up, which the scheduler counts.
        var notices: StatusReply.Notices
        /// When the first of the jobs is due that are not armed; nil also for others than administrators.
        var due: Timestamp?
    }

    private func readStored(for caller: Caller, at moment: ClockReading) async throws -> Stored {
        try await store.reader.read { database in
            let queries = Queries(database)
            let only = try queries.id(of: caller.onlyOwner)
            let owners = try Owners(database).inMaintenance(only)
            let notices = NoticeStore(database)
            let standing =
                caller.onlyOwner == nil
                ? try notices.standing() : try only.map { try notices.standing(of: $0) }
            return Stored(
                live: try queries.liveJobs(),
                maintenance: owners.map { .init(owner: $0.owner.name, since: $0.since) },
                notices: StatusReply.Notices(
                    waiting: standing?.waiting ?? 0,
                    held: standing?.held ?? 0,
                    oldest: standing?.oldest
                ),
                due: caller.isAdministrator ? try JobStore(database).nextDue(at: moment) : nil
            )
        }
    }

    private var controlGroups: StatusReply.ControlGroups? {
        scheduler.runner.controlGroups.map { groups in
            StatusReply.ControlGroups(
                perRun: groups.areThere,
                controllers: groups.names,
                lack: groups.lack.isEmpty ? nil : groups.lack
            )
        }
    }

    /// How it stands with the runner; for administrators also why no other node can be reached.
    private func runner(_ standing: StatusReply.Runner, for caller: Caller) -> StatusReply.Runner {
        guard caller.isAdministrator, let absent = standing.absentHosts,
            let reason = nodes?.relayTrouble
        else { return standing }
        var runner = standing
        runner.absentHosts = "\(absent); no other node can be reached: \(reason)"
        return runner
    }

    /// This node among the others; nil for a daemon alone, and while the others are not known.
    private var node: StatusReply.Node? {
        get async {
            // try?: status says of the database what is wrong.
            guard let nodeName, let views = try? await nodes?.nodes() else { return nil }
            return StatusReply.Node(
                name: nodeName,
                leadsSince: clock.now().wallDate(leadsSince, on: .elapsed),
                epoch: views.first { $0.name == nodeName }?.epoch ?? 0,
                standby: views.filter { $0.state == .standby }.map(\.name).sorted()
            )
        }
    }
}

extension Scheduler {
    /// How it stands with the scheduler: all of one moment.
    struct Standing: Sendable {
        var armed: Int
        /// How many runs are in progress, and how many fires wait for theirs.
        var running: Int
        var waiting: Int
        /// When the first of the armed jobs is due; nil also for others than administrators.
        var soonest: Timestamp?
        var runner: StatusReply.Runner
        /// nil for others than administrators.
        var noticesGivenUp: Int?
        /// What can never be stored; nil where that is nothing.
        var dropped: StatusReply.Dropped?
        /// How many runs may be in progress at once.
        var places: RunQueue.Limits
        var runDefaults: RunDefaults
    }

    func standing(toAdministrator isAdministrator: Bool) -> Standing {
        Standing(
            armed: armed.count,
            running: fires.running,
            waiting: fires.waiting,
            soonest: isAdministrator ? soonestArmed : nil,
            runner: runnerStanding(named: isAdministrator),
            noticesGivenUp: isAdministrator ? counters.notices.givenUp : nil,
            dropped: counters.dropped > 0
                ? .init(records: counters.dropped, unstoredHolds: held.unstored.count) : nil,
            places: places.limits,
            runDefaults: settings.runDefaults
        )
    }

    /// Looks at all armed jobs, so nobody but an administrator has it found.
    private var soonestArmed: Timestamp? {
        let moment = clock.now()
        return armed.all.lazy.compactMap { entry in
            entry.job.dueDate.map { moment.wallDate($0, on: entry.job.clock) }
        }.min()
    }
}
