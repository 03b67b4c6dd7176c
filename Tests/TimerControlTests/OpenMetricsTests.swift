// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import TimerControl

@Suite("OpenMetrics") struct OpenMetricsTests {
    private func metrics(_ change: (inout MetricsReply) -> Void = { _ in }) -> MetricsReply {
        var metrics = MetricsReply(
            version: "1.2.3",
            startedAt: Timestamp(microseconds: 1_700_000_000_500_000),
            jobs: .init(scheduled: 7, paused: 1, held: 2, armed: 3, claimed: 4),
            fires: .init(),
            skipped: ["misfire": 12],
            runs: .init(
                ended: ["success": 5, "failure": 2],
                running: 1,
                waitingForPlace: 0,
                waiting: 6
            ),
            store: .init(
                writes: 90,
                waiting: 2,
                commits: Histogram(bounds: [0.001, 1]),
                isWritable: true,
                size: 4096,
                logSize: 0,
                dropped: 5,
                unstoredHolds: 1
            ),
            clients: .init(connections: 2, watchers: 1, eventsLost: 9),
            process: .init(residentMemory: 1_000_000, processorTime: 0.25)
        )
        metrics.tasks = .init(ready: 1, delayed: 2, reserved: 3, dead: 4, oldestAge: 61.5)
        metrics.notices = .init(
            waiting: 3,
            held: 2,
            oldestAge: 901.5,
            handedOver: 8,
            failedTries: 4,
            givenUp: 1
        )
        change(&metrics)
        return metrics
    }

    @Test("Nothing within quotes ends them, whatever accents stand behind it")
    func quotes() {
        let text = "a\"\u{301}b\\\u{301}c\r\nd\"".escapedForQuotes
        #expect(Array(text.utf8) == Array("a\\\"\u{301}b\\\\\u{301}c\r\\nd\\\"".utf8))
    }

    @Test("A gauge, a counter and a number for each value of a label, as the standard writes them")
    func text() {
        let text = metrics().openMetrics
        #expect(
            text.hasPrefix(
                """
                # TYPE timerd_build_info gauge
                # HELP timerd_build_info The version that runs; always 1.
                timerd_build_info{version="1.2.3"} 1
                # TYPE timerd_start_time_seconds gauge
                # UNIT timerd_start_time_seconds seconds
                # HELP timerd_start_time_seconds When the daemon was started, in seconds since 1970.
                timerd_start_time_seconds 1700000000.5

                """
            )
        )
        #expect(text.contains("\ntimerd_cpu_seconds_total 0.25\n"))
        #expect(text.contains("\ntimerd_held_jobs 2\n"))
        #expect(text.contains("\ntimerd_skipped_dates_total{reason=\"misfire\"} 12\n"))
        #expect(text.contains("\ntimerd_skipped_dates_total{reason=\"overlap\"} 0\n"))
        #expect(!text.contains("manual"), "a fire by hand is no date that was skipped")
        #expect(text.contains("\ntimerd_runs_total{outcome=\"failure\"} 2\n"))
        #expect(text.contains("\ntimerd_runs_total{outcome=\"timedOut\"} 0\n"))
        #expect(text.contains("\ntimerd_waiting_notices{state=\"due\"} 3\n"))
        #expect(text.contains("\ntimerd_waiting_notices{state=\"held\"} 2\n"))
        #expect(text.contains("\ntimerd_oldest_notice_age_seconds 901.5\n"))
        #expect(text.contains("\ntimerd_notice_tries_total{outcome=\"failed\"} 4\n"))
        #expect(text.contains("\ntimerd_notices_given_up_total 1\n"))
        #expect(text.contains("\ntimerd_tasks{state=\"dead\"} 4\n"))
        #expect(text.contains("\ntimerd_oldest_task_age_seconds 61.5\n"))
        #expect(text.contains("\ntimerd_dropped_records_total 5\n"))
        #expect(text.contains("\ntimerd_unstored_holds 1\n"))
        #expect(text.hasSuffix("\n# EOF\n"))
        let unknown = metrics { ($0.jobs.scheduled, $0.jobs.paused) = (nil, nil) }.openMetrics
        #expect(unknown.contains("# TYPE timerd_jobs gauge") && !unknown.contains("timerd_jobs{"))
    }

    @Test("Daemons that share their jobs have a sample each; a daemon alone has no such family")
    func nodes() {
        #expect(!metrics().openMetrics.contains("timerd_node"))
        let now = Timestamp(microseconds: 1_700_000_000_000_000)
        let views = [
            NodeView(
                name: "alpha",
                state: .draining,
                version: "1.2.3",
                leaseUntil: now + .milliseconds(9500),
                clockDifference: -2500,
                epoch: 7
            ),
            NodeView(
                name: "be\"ta",
                state: .gone,
                version: "1.2.3",
                leaseUntil: now - .seconds(90),
                clockDifference: 1_000_000
            ),
        ]
        let text = metrics {
            $0.nodes = views.map { .init($0, at: now, takesCommands: true) }
        }.openMetrics
        for line in [
            #"timerd_node_leads{node="alpha"} 1"#, #"timerd_node_leads{node="be\"ta"} 0"#,
            #"timerd_node_clock_difference_seconds{node="alpha"} -0.0025"#,
            #"timerd_node_clock_difference_seconds{node="be\"ta"} 1.0"#,
            #"timerd_node_lease_seconds{node="alpha"} 9.5"#,
            #"timerd_node_lease_seconds{node="be\"ta"} -90.0"#,
            #"timerd_node_drains{node="alpha"} 1"#, #"timerd_node_drains{node="be\"ta"} 0"#,
            #"timerd_node_runner_ready{node="alpha"} 1"#,
            #"timerd_node_runner_ready{node="be\"ta"} 0"#,
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line)")
        }
    }

    @Test("What an older daemon does not tell of its nodes has no sample")
    func olderNodes() throws {
        let json = try JSONValue(
            parsing: #"{"name":"a","leads":true,"clockDifference":0,"lease":9}"#
        )
        let node = try json.decoded(as: MetricsReply.Node.self)
        #expect(node == .init(name: "a", leads: true, clockDifference: 0, lease: 9))
        let text = metrics { $0.nodes = [node] }.openMetrics
        #expect(text.contains("timerd_node_leads{") && !text.contains("timerd_node_drains{"))
        #expect(!text.contains("timerd_node_runner_ready{"))
    }

    @Test("The buckets of a histogram count all that is below them")
    func histogram() {
        let text = metrics {
            for milliseconds in [0, 1, 1, 500, 2000] as [Int64] {
                $0.store.commits.observe(.milliseconds(milliseconds))
            }
            $0.store.commits.observe(.seconds(-5))
        }.openMetrics
        #expect(
            text.contains(
                """
                timerd_commit_duration_seconds_bucket{le="0.001"} 4
                timerd_commit_duration_seconds_bucket{le="1.0"} 5
                timerd_commit_duration_seconds_bucket{le="+Inf"} 6
                timerd_commit_duration_seconds_count 6
                timerd_commit_duration_seconds_sum 2.502

                """
            )
        )
    }

    @Test("Each family is announced once, its name ends with its unit, and no sample comes twice")
    func families() {
        let families = metrics().families
        #expect(Set(families.map(\.name)).count == families.count)
        for family in families {
            #expect(family.name.hasPrefix("timerd_"))
            #expect(family.name.hasSuffix(family.unit.map { "_\($0)" } ?? ""))
            #expect(!family.name.hasSuffix("_total"))
        }
        let samples = metrics().openMetrics.split(separator: "\n").filter { $0.first != "#" }
            .map { $0.prefix { $0 != " " } }
        #expect(Set(samples).count == samples.count)
    }

    @Test("What a version might hold cannot break a line")
    func escaping() {
        let text = metrics { $0.version = "a\"b\\c\nd" }.openMetrics
        #expect(text.contains(#"{version="a\"b\\c\nd"} 1"#))
    }

    @Test("The answer is read as it was written")
    func wire() throws {
        let metrics = metrics { $0.fires.lateness.observe(.milliseconds(3)) }
        let read = try JSONValue(encoding: metrics).decoded(as: MetricsReply.self)
        #expect(read == metrics)
    }
}
