// SPDX-License-Identifier: Apache-2.0

import Schedules

extension MetricsReply {
    /// The content type of `openMetrics`, for HTTP.
    public static let contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

    /// The numbers in OpenMetrics text, version 1.0.0, with its end mark.
    public var openMetrics: String { families.openMetrics }

    /// All metrics; `docs/metrics.md` describes them.
    ///
    /// They use only kinds that Prometheus' older text has as well: the node exporter reads nothing of a file
    /// with another kind. No name begins with `process_`, as the names of the exporter's own metrics do.
    public var families: [MetricFamily] {
        process.families(version: version, startedAt: startedAt) + jobFamilies + runFamilies
            + noticeFamilies + taskFamilies + storeFamilies + clientFamilies
            + (nodes.map(nodeFamilies) ?? [])
    }

    private var jobFamilies: [MetricFamily] {
        let reasons = FireReason.allCases.filter { $0 != .manual }.map(\.rawValue)
        let kinds: [(String, Int?)] = [
            ("event", fires.event), ("command", fires.command), ("task", fires.task),
        ]
        let held = MetricFamily(
            .gauge,
            "timerd_held_jobs",
            "Live jobs that fire no date until what holds them is over; timerd_jobs has them too."
        )
        return [
            MetricFamily(.gauge, "timerd_jobs", "Live jobs; those that have ended are not counted.")
                .with("state", [("scheduled", jobs.scheduled), ("paused", jobs.paused)].known),
            jobs.held.map { held.with($0) } ?? held,
            MetricFamily(.gauge, "timerd_armed_timers", "Timers of jobs in the run loop.")
                .with(jobs.armed),
            MetricFamily(
                .gauge,
                "timerd_claimed_fires",
                "Fires of the coming seconds, whose rows are on disk ahead of their dates."
            ).with(jobs.claimed),
            MetricFamily(
                .counter,
                "timerd_fires",
                "Fires that have begun; of a task, that its queue has it."
            ).with("kind", kinds.known),
            MetricFamily(
                .counter,
                "timerd_fires_waited",
                "Fires that were due and waited for their turn: behind those of other users, or for their own user's share."
            ).with(fires.waited),
            MetricFamily(
                .histogram,
                "timerd_fire_lateness",
                unit: "seconds",
                "From when a fire was due, its jitter counted in, until it began; not of fires by hand."
            ).with(fires.lateness),
            MetricFamily(.counter, "timerd_skipped_dates", "Dates that did not become a fire.")
                .with("reason", reasons.map { ($0, skipped[$0] ?? 0) }),
        ]
    }

    private var runFamilies: [MetricFamily] {
        let outcomes = Runs.Outcome.allCases.map(\.rawValue)
        return [
            MetricFamily(
                .counter,
                "timerd_runs",
                "Runs of commands that have ended; each attempt is one, and each handler's command."
            ).with("outcome", outcomes.map { ($0, runs.ended[$0] ?? 0) }),
            MetricFamily(.gauge, "timerd_running_runs", "Runs in progress.").with(runs.running),
            MetricFamily(
                .gauge,
                "timerd_waiting_runs",
                "Runs that wait: for a place among maxRuns, or for the run before, the next attempt."
            ).with("cause", [("place", runs.waitingForPlace), ("other", runs.waiting)]),
            .runnerReady.with(runs.mayBegin.number),
        ]
    }

    private var noticeFamilies: [MetricFamily] {
        let notices = notices ?? Notices(waiting: nil, held: nil, oldestAge: nil)
        let age = MetricFamily(
            .gauge,
            "timerd_oldest_notice_age",
            unit: "seconds",
            "How long the oldest notice has waited that may be handed over; 0 while none waits."
        )
        return [
            MetricFamily(
                .gauge,
                "timerd_waiting_notices",
                "Notices that are not handed over yet: they are tried, or held back for a summary."
            ).with("state", [("due", notices.waiting), ("held", notices.held)].known),
            notices.oldestAge.map { age.with($0) } ?? age,
            MetricFamily(
                .counter,
                "timerd_notice_tries",
                "Tries to hand a notice over, by how they went."
            ).with(
                "outcome",
                [("handedOver", notices.handedOver), ("failed", notices.failedTries)]
            ),
            MetricFamily(
                .counter,
                "timerd_notices_given_up",
                "Notices that were given up: no try succeeded in time."
            ).with(notices.givenUp),
        ]
    }

    private var taskFamilies: [MetricFamily] {
        let count = MetricFamily(.gauge, "timerd_tasks", "Tasks of queues that are not over.")
        let age = MetricFamily(
            .gauge,
            "timerd_oldest_task_age",
            unit: "seconds",
            "How long the oldest task has been ready that no worker has; 0 while none is ready."
        )
        guard let tasks else { return [count, age] }
        let states = [
            ("ready", tasks.ready), ("delayed", tasks.delayed), ("reserved", tasks.reserved),
            ("dead", tasks.dead),
        ]
        return [count.with("state", states), age.with(tasks.oldestAge)]
    }

    private var storeFamilies: [MetricFamily] {
        let dropped = MetricFamily(
            .counter,
            "timerd_dropped_records",
            "Records that can never be stored: each holds its job, where it is of one, and the log has why."
        )
        let unstored = MetricFamily(
            .gauge,
            "timerd_unstored_holds",
            "Jobs that are held for such a record, whose hold could not be stored either."
        )
        return [
            MetricFamily(.counter, "timerd_writes", "Changes that were stored.").with(store.writes),
            MetricFamily(.gauge, "timerd_waiting_writes", "Changes that wait to be stored.")
                .with(store.waiting),
            store.dropped.map { dropped.with($0) } ?? dropped,
            store.unstoredHolds.map { unstored.with($0) } ?? unstored,
            MetricFamily(
                .histogram,
                "timerd_commit_duration",
                unit: "seconds",
                "How long the database took to make changes durable."
            ).with(store.commits),
            .databaseWritable.with(store.isWritable.number),
            MetricFamily(
                .gauge,
                "timerd_database_size",
                unit: "bytes",
                "The database file."
            ).with(store.size),
            MetricFamily(
                .gauge,
                "timerd_database_log_size",
                unit: "bytes",
                "The database's write-ahead log."
            ).with(store.logSize),
        ]
    }

    private var clientFamilies: [MetricFamily] {
        [
            MetricFamily(.gauge, "timerd_connections", "Open connections to the control socket.")
                .with(clients.connections),
            MetricFamily(.gauge, "timerd_watchers", "Connections that have subscribed to events.")
                .with(clients.watchers),
            MetricFamily(
                .counter,
                "timerd_lost_events",
                "Numbers that watchers were told are no longer kept, each watcher's apart; also those that no event had, as after a crash."
            ).with(clients.eventsLost),
        ]
    }

    private func nodeFamilies(of nodes: [Node]) -> [MetricFamily] {
        [
            .nodeLeads.with("node", nodes.map { ($0.name, $0.leads.number) }),
            MetricFamily(
                .gauge,
                "timerd_node_clock_difference",
                unit: "seconds",
                "How far the node's clock is ahead of the database's; negative where it is behind."
            ).with("node", nodes.map { ($0.name, $0.clockDifference) }),
            MetricFamily(
                .gauge,
                "timerd_node_lease",
                unit: "seconds",
                "How long the node's lease still runs; negative once it is over: the node is gone."
            ).with("node", nodes.map { ($0.name, $0.lease) }),
            MetricFamily(
                .gauge,
                "timerd_node_drains",
                "1 of a node that drains, as an administrator has asked for; 0 of the others."
            ).with("node", nodes.map { ($0.name, $0.drains?.number) }.known),
            MetricFamily(
                .gauge,
                "timerd_node_runner_ready",
                "1, or 0 while no command begins on the node: it is gone or drains, or its timerd-runner does not answer, or has no room."
            ).with("node", nodes.map { ($0.name, $0.mayBegin?.number) }.known),
            MetricFamily(
                .gauge,
                "timerd_node_running_runs",
                "Runs in progress on the node; of one that is gone those of which no end is known yet."
            ).with("node", nodes.map { ($0.name, $0.running) }.known),
        ]
    }
}

extension MetricsReply.Process {
    /// What there is of any daemon.
    fileprivate func families(version: String, startedAt: Timestamp) -> [MetricFamily] {
        [
            MetricFamily(.gauge, "timerd_build_info", "The version that runs; always 1.")
                .with("version", [(version, 1)]),
            MetricFamily(
                .gauge,
                "timerd_start_time",
                unit: "seconds",
                "When the daemon was started, in seconds since 1970."
            ).with(Double(startedAt.microseconds) / 1_000_000),
            MetricFamily(
                .gauge,
                "timerd_resident_memory",
                unit: "bytes",
                "The daemon's memory; without that of the commands it runs."
            ).with(residentMemory),
            MetricFamily(
                .counter,
                "timerd_cpu",
                unit: "seconds",
                "Processor time of the daemon, user and system; without that of commands."
            ).with(processorTime),
        ]
    }
}

extension StandbyMetrics {
    /// As `MetricsReply.openMetrics`, of what it has.
    public var openMetrics: String { families.openMetrics }

    /// Some of those of `MetricsReply`, by the same names.
    public var families: [MetricFamily] {
        let ready = MetricFamily.runnerReady
        return process.families(version: version, startedAt: startedAt) + [
            runnerIsReady.map { ready.with($0.number) } ?? ready,
            .databaseWritable.with(isWritable.number),
            .nodeLeads.with("node", [(node, false.number)]),
        ]
    }
}

extension MetricFamily {
    fileprivate static var runnerReady: Self {
        Self(
            .gauge,
            "timerd_runner_ready",
            "1, or 0 while no command begins: timerd-runner does not answer, or has no room."
        )
    }

    fileprivate static var databaseWritable: Self {
        Self(
            .gauge,
            "timerd_database_writable",
            "1, or 0 while the database takes no writes: the disk is full, or fails, or it is away."
        )
    }

    fileprivate static var nodeLeads: Self {
        Self(
            .gauge,
            "timerd_node_leads",
            "1 of the node that leads, 0 of the others; of daemons that share their jobs alone."
        )
    }
}

extension [MetricFamily] {
    fileprivate var openMetrics: String { map(\.text).joined() + "# EOF\n" }
}

extension [(String, Int?)] {
    /// The pairs with a number: an unknown number has no sample, rather than 0.
    fileprivate var known: [(String, Int)] {
        compactMap { label, number in number.map { (label, $0) } }
    }
}

extension Bool {
    /// As a metric has it.
    fileprivate var number: Int { self ? 1 : 0 }
}
