// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Schedules
import TimerControl

/// Builds the answer to `daemon.metrics`: only totals, which any user may know.
///
/// As in `StatusReport`, nothing takes longer with more jobs.
struct MetricsReport: Sendable {
    let status: StatusReport
    /// The path of the database.
    let database: String
    let eventsLost: @Sendable () -> Int64
    /// The daemons that share their jobs with this one; nil for a daemon alone.
    var nodes: (any NodeRegistry)?

    @Sendable func reply() async -> MetricsReply {
        let measures = await status.scheduler.measures()
        // try?: the status says why the store cannot be read; until it can be, its numbers are left out.
        let live = try? await status.store.reader.read { try Queries($0).liveJobs() }
        // try?: as above.
        let notices = try? await status.store.reader.read { try NoticeStore($0).standing() }
        // try?: as above.
        let tasks = try? await status.store.reader.read { try QueueStore($0).standing() }
        // After that: no task became ready behind it, which would be younger than new.
        let moment = status.clock.now()
        let writer = status.store.writer
        let statistics = writer.statistics
        var reply = MetricsReply(
            version: timerdVersion,
            startedAt: status.startedAt,
            jobs: .init(
                scheduled: live?.scheduled,
                paused: live?.paused,
                held: live?.held,
                armed: measures.armed,
                claimed: measures.claimed
            ),
            fires: measures.counters.fires,
            skipped: measures.counters.skipped,
            runs: .init(
                ended: measures.counters.runs,
                running: measures.running,
                waitingForPlace: measures.waitingForPlace,
                waiting: measures.waiting,
                mayBegin: measures.mayBegin
            ),
            store: .init(
                writes: statistics.writes,
                waiting: writer.thread.queueLength + statistics.keptRecords,
                commits: statistics.commitTimes,
                isWritable: statistics.trouble == nil,
                size: Self.size(of: database),
                logSize: Self.size(of: database + "-wal"),
                dropped: measures.counters.dropped,
                unstoredHolds: measures.unstoredHolds
            ),
            clients: .init(
                connections: status.connections.value,
                watchers: status.watchers(),
                eventsLost: eventsLost()
            ),
            process: .own()
        )
        reply.tasks = tasks.map { Self.tasks($0, at: moment.elapsed) }
        let counted = measures.counters.notices
        reply.notices = MetricsReply.Notices(
            waiting: notices?.waiting,
            held: notices?.held,
            // A clock that was set back makes none younger than new.
            oldestAge: notices.map { standing in
                standing.oldest.map { max(moment.wall - $0, .zero).inSeconds } ?? 0
            },
            handedOver: counted.handedOver,
            failedTries: counted.failedTries,
            givenUp: counted.givenUp
        )
        reply.nodes = await nodes(at: moment.wall, takingCommands: measures.readyHosts)
        return reply
    }

    private static func tasks(_ standing: TasksStanding, at now: Timestamp) -> MetricsReply.Tasks {
        MetricsReply.Tasks(
            ready: standing.ready,
            delayed: standing.delayed,
            reserved: standing.reserved,
            dead: standing.dead,
            oldestAge: standing.oldest.map { (now - $0).inSeconds } ?? 0
        )
    }

    /// The nodes by name, each with how many runs it has; nil of a daemon alone, and while they cannot be read.
    private func nodes(
        at now: Timestamp,
        takingCommands ready: Set<String>
    ) async -> [MetricsReply.Node]? {
        // try?: until the nodes can be read, their numbers are left out.
        guard var views = try? await nodes?.nodes() else { return nil }
        views.sort { $0.name < $1.name }
        let running = await status.scheduler.runs(onEach: views.map(\.name))
        for (index, count) in running.enumerated() { views[index].runs = count }
        return views.map { .init($0, at: now, takesCommands: ready.contains($0.name)) }
    }

    /// In bytes; 0 for a file that is not there.
    private static func size(of path: String) -> Int64 {
        var file = stat()
        return stat(path, &file) == 0 ? Int64(file.st_size) : 0
    }
}
