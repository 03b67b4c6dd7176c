// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// The findings about a daemon, from what it tells; the words are those of `timerctl doctor`.
struct Diagnosis {
    let status: StatusReply
    let parts: Parts

    typealias Finding = DoctorPage.Finding

    /// `held`: the first of the jobs that are; `hasMoreHeld`: whether there are more; `queues`: what is to be said of those that
    /// are paused; `nodes`: of the daemons that share their jobs.
    func findings(
        runs: [Run],
        held: [Job],
        hasMoreHeld: Bool,
        queues: TimerWords.Finding?,
        notices: TimerWords.Finding,
        nodes: [TimerWords.Finding]
    ) -> [Finding] {
        let first: [Finding?] = [
            ok("socket", "a daemon answers at '\(status.socket)'"), versions, jobs,
            self.held(held, hasMoreHeld), queues.map { Finding($0) },
            failures(runs), Finding(notices), maintenance,
        ]
        let runner = status.runner.map {
            Finding(TimerWords.Finding.runner($0, of: status.version))
        }
        let reload = TimerWords.Finding.reload(status).map { Finding($0) }
        let last: [Finding?] = [
            reload, runner, status.controlGroups.map(groups),
            Finding(TimerWords.Finding.storage(status)),
        ]
        return first.compactMap(\.self) + nodes.map { Finding($0) } + last.compactMap(\.self)
    }

    private func ok(_ subject: String, _ words: String) -> Finding {
        Finding(level: .ok, subject: subject, words: .text(words))
    }

    private func warning(_ subject: String, _ words: String, _ advice: String?) -> Finding {
        Finding(level: .warning, subject: subject, words: bdi { words }, advice: advice)
    }

    private var versions: Finding {
        status.version == timerdVersion
            ? ok("daemon", "timerd \(status.version), process \(status.pid)")
            : warning(
                "daemon",
                "timerd \(status.version); this page is of \(timerdVersion)",
                "restart the older one, so that both are of one version"
            )
    }

    private var jobs: Finding {
        ok(
            "jobs",
            "\((status.scheduled ?? 0).grouped) scheduled, \((status.paused ?? 0).grouped) paused, "
                + "\(status.running.grouped) running, \(status.waiting.grouped) waiting"
                + (status.countsWhatIsShown ? "" : ", of all users")
        )
    }

    private func held(_ jobs: [Job], _ hasMore: Bool) -> Finding? {
        guard !jobs.isEmpty else { return nil }
        let isCounted = status.countsWhatIsShown || !hasMore
        let count = status.countsWhatIsShown ? status.held ?? jobs.count : jobs.count
        return Finding(
            level: .warning,
            subject: "held",
            words: group {
                isCounted ? "" : "more than "
                "\(count.of("job is held, and fires", "jobs are held, and fire")) nothing"
                for job in jobs {
                    "; "
                    a(.href(Link("jobs", "\(job.id)"))) { parts.jobName(job) }
                    ": "
                    bdi { job.held ?? "" }
                }
            },
            advice: "mend what it says, and they go on by themselves"
        )
    }

    /// The jobs of which a run failed, that of the newest one first.
    static func failed(_ runs: [Run]) -> [JobID] {
        var seen: Set<JobID> = []
        return runs.filter { $0.failed == true && seen.insert($0.job).inserted }.map(\.job)
    }

    /// `runs`: the newest first.
    private func failures(_ runs: [Run]) -> Finding {
        let failed = Self.failed(runs)
        guard !failed.isEmpty else { return ok("runs", "none of the last \(runs.count) failed") }
        return Finding(
            level: .warning,
            subject: "runs",
            words: group {
                "of the last \(runs.count), some failed: "
                for (index, id) in failed.prefix(5).enumerated() {
                    if index > 0 { ", " }
                    a(.href(Link("jobs", "\(id)"))) { "job \(id)" }
                }
                if failed.count > 5 { " and others" }
            }
        )
    }

    private var maintenance: Finding? {
        TimerWords.Finding.maintenance(status) { parts.dates.short($0.since) }.map { Finding($0) }
    }

    private func groups(_ groups: StatusReply.ControlGroups) -> Finding {
        let limited = groups.controllers.joined(separator: ", ")
        let words =
            groups.perRun
            ? "each run has a control group, which limits \(limited.isEmpty ? "nothing" : limited)"
            : "runs have no control groups"
        guard let lack = groups.lack else { return ok("limits", words) }
        return warning(
            "limits",
            "\(words); \(lack)",
            groups.perRun
                ? "these limits have no effect until the control group of timerd-runner has all controllers"
                : "Delegate=yes in the unit of timerd-runner; until then limits of memory hold for each process, "
                    + "and the other limits have no effect"
        )
    }
}
