// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// The lists that `top` switches between.
enum TopView: Int, CaseIterable {
    case running = 1
    case coming, failed
}

/// A line of a list: what it tells of, by which it stays selected as lines move.
struct TopRow {
    enum ID: Hashable {
        /// A fire whose command runs or waits.
        case fire(FireID)
        case job(JobID)
        /// A run that has ended, or a fire that came to none.
        case ended(FireID, RunID?)
    }

    var id: ID
    var job: JobID
    var name: String?
    /// What the state of the job was, where the line tells it.
    var state: Job.State?
    /// The job's next date, where the lists have it.
    var fireDate: Timestamp?
    /// The run that its line is about.
    var run: RunID?
    var isRunning = false
    var tags: [String] = []
    /// STATE, JOB, NAME, TIME, and what else there is to say.
    var cells: [Table.Cell]

    /// "job 3 'backup'"; a long name is cut, so that a question about it has room.
    var title: String { TopRow.title(job, name) }

    static func title(_ job: JobID, _ name: String?) -> String {
        guard let name else { return "job \(job)" }
        return "job \(job) '\(Printable.cut(Printable.escaped(name), to: 60))'"
    }

    /// Whether the job's name or one of its tags has the text in it, in any case.
    func matches(_ filter: String) -> Bool {
        let filter = filter.lowercased()
        return filter.isEmpty
            || (tags + [name].compactMap(\.self)).contains {
                $0.lowercased().contains(filter)
            }
    }
}

/// What the daemon said of its jobs and runs.
struct TopLists {
    var status: StatusReply
    /// The open runs, newest first.
    var runs: [Run] = []
    /// The live jobs, those that fire next first.
    var jobs: [Job] = []
    /// Whether there are more jobs than these.
    var hasMoreJobs = false
    /// Runs that failed, the last to end first.
    var failed: [Run] = []
    /// The tags of the jobs whose runs are above.
    var tags: [JobID: [String]] = [:]

    func rows(of view: TopView, _ dates: LocalDate) -> [TopRow] {
        let frame = TopFrame(status: status, runs: runs, jobs: jobs, dates: dates)
        var rows: [TopRow] =
            switch view {
            case .running: frame.entries.filter { $0.kind != .next }.map(row)
            case .coming: jobs.map { row($0, dates) }
            case .failed: failed.map { row($0, dates) }
            }
        let next = Dictionary(jobs.map { ($0.id, $0.fireDate) }) { first, _ in first }
        for index in rows.indices {
            let job = rows[index].job
            rows[index].fireDate = next[job] ?? nil
            if rows[index].tags.isEmpty { rows[index].tags = tags[job] ?? [] }
        }
        return rows
    }

    private func row(_ entry: TopFrame.Entry) -> TopRow {
        TopRow(
            id: entry.fire.map { .fire($0) } ?? .job(entry.job),
            job: entry.job,
            name: entry.name,
            state: entry.fire == nil ? .scheduled : nil,
            run: entry.run,
            isRunning: entry.kind == .running,
            tags: entry.tags,
            cells: entry.cells
        )
    }

    private func row(_ job: Job, _ dates: LocalDate) -> TopRow {
        let isScheduled = job.state == .scheduled && job.held == nil
        let isLate = isScheduled && job.isOverdue(at: dates.now, status)
        let state: Table.Cell =
            if job.held != nil {
                .init("held", .red)
            } else if isLate {
                .init("late", .red)
            } else {
                .init(isScheduled ? "next" : job.state.rawValue, job.state.style)
            }
        let time = job.nextFire.map { dates.distance($0) } ?? (isScheduled ? "at start" : "-")
        let last = job.last.map(LastResult.init)
        let words = [
            job.isReadable ? job.definition.schedule.words(dates) : nil,
            last.map { "last \($0.text(dates))" },
        ]
        return TopRow(
            id: .job(job.id),
            job: job.id,
            name: job.definition.name,
            state: job.state,
            tags: job.definition.tags ?? [],
            cells: [
                state, "\(job.id)", .init(job.definition.name ?? "-"),
                .init(job.state == .scheduled ? time : "-"),
                .init(words.compactMap(\.self).joined(separator: "; "), last?.style),
            ]
        )
    }

    private func row(_ run: Run, _ dates: LocalDate) -> TopRow {
        TopRow(
            id: .ended(run.fire, run.id),
            job: run.job,
            name: run.name,
            run: run.id,
            cells: [
                .init("failed", .red), "\(run.job)", .init(run.name ?? "-"),
                .init(dates.distance(run.endedAt ?? run.fireDate)),
                .init(RunSentence(run, dates: dates).text, .red),
            ]
        )
    }
}
