// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// The findings about what the daemon's lists tell.
extension Diagnosis {
    /// The held jobs; nil if there are none.
    ///
    /// `page`: the first of those that the caller may see.
    static func held(_ status: StatusReply, _ page: JobsReply) -> Finding? {
        let seen = page.jobs.count
        guard seen > 0 else {
            guard let count = status.held, count > 0 else { return nil }
            let words = count == 1 ? "1 job of other users is" : "\(count) jobs of other users are"
            return .ok("held", "\(words) held; root sees which, and why")
        }
        let showsOwner = Set(page.jobs.lazy.map(\.owner)).count > 1
        let first = page.jobs.prefix(5).map { job in
            "\(job.title)\(showsOwner ? " of \(job.owner)" : ""): \(job.held ?? "")"
        }
        let count = page.cursor == nil ? "\(seen)" : "more than \(seen)"
        let words = seen == 1 ? "job is held, and fires" : "jobs are held, and fire"
        return .warning(
            "held",
            "\(count) \(words) nothing: \(first.joined(separator: "; "))",
            "mend what it says, and they go on by themselves; timerctl list --held shows them, "
                + "timerctl invalidate ends them"
        )
    }

    /// The user's jobs at another daemon than the one that answers.
    static func systemJobs(_ jobs: SystemJobs) -> Finding {
        .warning(
            "system",
            "\(jobs.sentence), which no command shows while you have a daemon of your own",
            "timerctl list \(SystemJobs.option)"
        )
    }

    /// The newest fires of all jobs that the caller may see, the newest first.
    static func runs(_ runs: [Run]) -> Finding {
        var seen: Set<JobID> = []
        let failed = runs.filter { $0.failed == true && seen.insert($0.job).inserted }.map(\.job)
        guard !failed.isEmpty else { return .ok("runs", "none of the last \(runs.count) failed") }
        let names = failed.prefix(5).map { "\($0)" }.joined(separator: ", ")
        return .warning(
            "runs",
            "of the last \(runs.count), some failed: job \(names)\(failed.count > 5 ? " and others" : "")",
            "timerctl runs \(failed[0]); timerctl logs \(failed[0])"
        )
    }
}
