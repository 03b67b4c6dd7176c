// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// One picture of `top`: what runs, what waits, what is late and what comes next; pure.
struct TopFrame {
    var status: StatusReply
    /// The open runs, newest first; of one fire the first says where it stands.
    var runs: [Run]
    /// The jobs that fire next, soonest first, with their last results.
    var jobs: [Job]
    var dates: LocalDate

    /// Whether something on it changes each second without an event.
    var isTicking: Bool {
        let soon = dates.now + .seconds(120)
        return !runs.isEmpty
            || jobs.contains {
                $0.state == .scheduled && $0.held == nil
                    && $0.nextFire.map { $0 < soon } ?? false
            }
    }

    /// The lines, each with its newline; no more than `height`.
    func text(for terminal: Terminal, height: Int = .max) -> String {
        let lines = header.map { terminal.cut($0) } + [""]
        var table = table
        let room = max(height - lines.count - 1, 0)
        let left = table.rows.count - room
        if left > 0 { table.rows.removeLast(min(left + 1, table.rows.count)) }
        let more = left > 0 ? ["\(terminal.mark) \(left + 1) more"] : []
        let rows = table.text(for: terminal)
        return lines.map { $0 + "\n" }.joined() + rows + more.map { $0 + "\n" }.joined()
    }

    /// Two lines or three about the daemon.
    var header: [String] {
        let now = dates.dayAndTime(dates.now).dropFirst(11).prefix(8)
        let up = (dates.now - status.startedAt).length
        let running = entries.count { $0.kind == .running }
        let waiting = entries.count { $0.kind == .waiting }
        let late = entries.count { $0.kind == .late }
        var lines = [
            "\(now)  timerd \(status.version), up \(up): \(status.liveJobs), "
                + "\(status.armed) armed",
            "\(running) running, \(waiting) waiting, \(late) late; "
                + "\(status.connections) connected, \(status.watchers) watching",
        ]
        if let trouble = status.trouble { lines.append("trouble: \(trouble)") }
        return lines.map(Printable.escaped)
    }

    // MARK: - The table

    enum Kind: String {
        case running, waiting, held, late, next

        var style: Terminal.Style? {
            switch self {
            case .running: .green
            case .waiting: .yellow
            case .held, .late: .red
            case .next: nil
            }
        }
    }

    struct Entry {
        var kind: Kind
        var job: JobID
        var name: String?
        var time: String
        var what: String
        /// Of one that runs or waits.
        var fire: FireID?
        var run: RunID?
        var tags: [String] = []

        /// Its line in the table.
        var cells: [Table.Cell] {
            [
                .init(kind.rawValue, kind.style), "\(job)", .init(name ?? "-"), .init(time),
                .init(what),
            ]
        }
    }

    /// What runs, the longest first; what waits; what is held; what is late; what is next.
    var entries: [Entry] {
        var seen: Set<FireID> = []
        let open = runs.filter { seen.insert($0.fire).inserted }
        let running = open.filter { $0.state == .running }
            .sorted { ($0.startedAt ?? dates.now, $0.fire) < ($1.startedAt ?? dates.now, $1.fire) }
        let waiting = open.filter { $0.state != .running }.sorted { $0.fire < $1.fire }
        let held = jobs.filter { $0.state == .scheduled && $0.held != nil }
        let jobs = jobs.filter { $0.state == .scheduled && $0.held == nil && $0.nextFire != nil }
        let isLate = { (job: Job) in job.isOverdue(at: dates.now, status) }
        return running.map(entry) + waiting.map(entry) + held.map { entry($0, .held) }
            + jobs.filter(isLate).map { entry($0, .late) }
            + jobs.filter { !isLate($0) }.map { entry($0, .next) }
    }

    private func entry(_ run: Run) -> Entry {
        let kind: Kind = run.state == .running ? .running : .waiting
        let since = run.state == .running ? run.startedAt : run.firedAt ?? run.fireDate
        var words = [run.id.map { "run \($0)" }].compactMap(\.self)
        if let attempt = run.attempt, attempt > 1 { words.append("attempt \(attempt)") }
        if let handler = run.handler { words.append(handler.words) }
        if kind == .waiting { words.append(cause(run)) }
        return Entry(
            kind: kind,
            job: run.job,
            name: run.name,
            time: "for \((dates.now - (since ?? dates.now)).length)",
            what: words.joined(separator: ", "),
            fire: run.fire,
            run: run.id
        )
    }

    private func cause(_ run: Run) -> String {
        if let next = run.nextAttemptAt { return "tried again \(dates.distance(next))" }
        guard let wait = run.waitsFor else { return "about to start" }
        return String(RunWords.cause(wait, run.limit).dropFirst())
    }

    private func entry(_ job: Job, _ kind: Kind) -> Entry {
        let last = job.last.map { LastResult($0).text(dates) }
        let schedule = job.isReadable ? job.definition.schedule.words(dates) : nil
        let words = [job.held, schedule, last.map { "last \($0)" }]
        return Entry(
            kind: kind,
            job: job.id,
            name: job.definition.name,
            // A held job has no date at which it fires, however its next one is called.
            time: kind == .held ? "-" : job.nextFire.map { dates.distance($0) } ?? "-",
            what: words.compactMap(\.self).joined(separator: "; "),
            tags: job.definition.tags ?? []
        )
    }

    private var table: Table { Table(columns: Self.columns, rows: entries.map(\.cells)) }

    static let columns: [Table.Column] = [
        .init(title: "STATE", rank: 1), .init(title: "JOB", isRightAligned: true, rank: 2),
        .init(title: "NAME", narrowest: 8), .init(title: "TIME"), .init(title: "", rank: 3),
    ]
}
