// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl list`: the jobs in a table.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List jobs: when each fires next, what became of its last date, what it does.",
        discussion: """
            Live jobs alone, scheduled or paused, those that fire next first; --all shows ended \
            ones too, which are kept for 30 days. A job ends with its last date, though its command \
            may wait or run then: standard error tells how many such there are, unless -n has cut the \
            list; 'timerctl atq' has those that fire once, 'top' all. \
            A terminal's lines are cut to its width, and a narrow one has fewer columns.

            Examples:
              timerctl list
              timerctl list -n 10
              timerctl list --all --tag work
              timerctl list --search rsync
              timerctl list --columns name,zone,schedule
              timerctl list --json | jq -r 'select(.fires == 0) | .id'
            """,
        aliases: ["ls"]
    )

    @OptionGroup var filter: JobFilter

    @Option(
        name: .customShort("n"),
        parsing: .unconditional,
        help: ArgumentHelp("The first so many; default all.", valueName: "number"),
        transform: wholeNumber("-n", "from 1")
    )
    var number: Int?

    @Option(
        help: ArgumentHelp(
            "What to tell of each, in this order: \(ListColumn.words).",
            valueName: "name,..."
        ),
        completion: .list(ListColumn.allCases.map(\.rawValue)),
        transform: { try ListColumn.list($0) }
    )
    var columns: [ListColumn]?

    @OptionGroup var pager: PagerOptions

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if let number, number < 1 { throw ValidationError("-n \(number) is not a number from 1") }
        if common.json, columns != nil {
            throw ValidationError("--json and --columns exclude each other: --json has each field")
        }
    }

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = filter.request()
        // The objects of --json are as on the wire; only the table needs `last`.
        let showsLast = columns.map { $0.contains(.last) } ?? true
        request.last = common.json || !showsLast ? nil : true
        let jobs = try await daemon.jobs(
            request,
            atMost: number ?? .max,
            json: common.json ? { try Output.write($0) } : nil
        )
        if jobs.isEmpty {
            if !common.json { await SystemJobs.tell(beside: common.socketPath) }
            try NothingFound.tell(filter.emptySentence, owner: filter.owner)
            if let note = await unfinishedNote(besides: jobs, daemon) { Output.tell(note) }
            return
        }
        if !common.json {
            let dates = LocalDate(now: .now, zone: .local)
            let table = Self.table(of: jobs, columns: columns, dates: dates)
            let isLate = { (job: Job) in
                job.state == .scheduled && job.held == nil && job.isOverdue(at: dates.now)
            }
            // try?: the list is whole without it.
            let status =
                jobs.contains(where: isLate)
                ? try? await daemon.ask(.status, for: StatusReply.self) : nil
            // Ahead of a pager that may be open for long: these runs belong to the jobs as they were listed.
            let note = await unfinishedNote(besides: jobs, daemon)
            try pager.write(table.text(for: .current))
            if let trouble = status?.value.unwritable {
                Output.tell("dates that have passed are as they were last stored: \(trouble)")
            }
            await SystemJobs.tell(beside: common.socketPath)
            if let note { Output.tell(note) }
        }
    }

    /// What is to be told of jobs that have ended and whose commands wait or run, where the list would have them if they
    /// had not; nil where there are none.
    private func unfinishedNote(besides jobs: [Job], _ daemon: Daemon) async -> String? {
        guard !common.json, jobs.count < number ?? .max, let request = filter.openRuns,
            // try?: the list is whole without it.
            let page = try? await daemon.runs(request, atMost: Limits.page).page
        else { return nil }
        let count = Atq.unfinished(page.runs, besides: jobs).count
        guard count > 0 else { return nil }
        return Self.unfinishedSentence(count, areMore: page.cursor != nil)
    }

    /// "2 jobs that have ended have commands that wait or run: 'timerctl atq' has those that fire once, 'top' all";
    /// `areMore`: there may be others.
    static func unfinishedSentence(_ count: Int, areMore: Bool) -> String {
        let jobs =
            count == 1
            ? "1 job that has ended has a command that waits or runs"
            : "\(count) jobs that have ended have commands that wait or run"
        return "\(areMore ? "at least " : "")\(jobs): "
            + "'timerctl atq' has those that fire once, 'top' all"
    }

    /// With `columns`, or the usual ones.
    static func table(
        of jobs: [Job],
        columns: [ListColumn]? = nil,
        dates: LocalDate
    ) -> Table {
        var shown = columns ?? ListColumn.standard
        // Whose they are is only worth a column where it differs.
        if columns == nil, Set(jobs.lazy.map(\.owner)).count > 1 { shown.insert(.owner, at: 1) }
        var table = Table(columns: shown.map(\.column))
        // What somebody has asked for is cut, and not left out.
        if columns == nil {
            for (index, column) in shown.enumerated() { table.columns[index].rank = column.rank }
        }
        table.rows = jobs.map { job in shown.map { $0.cell(job, dates) } }
        return table
    }

    static func next(_ job: Job, _ dates: LocalDate) -> Table.Cell {
        if job.held != nil { return .init("held", .red) }
        if job.maintenance { return .init("maintenance", .yellow) }
        guard job.state == .scheduled else { return .init(job.state.rawValue, job.state.style) }
        guard let date = job.nextFire else { return "at start-up" }
        return Table.Cell(dates.distance(date), job.isOverdue(at: dates.now) ? .red : nil)
    }

    static func last(_ job: Job, _ dates: LocalDate) -> Table.Cell {
        guard let run = job.last else { return "-" }
        let result = LastResult(run)
        return Table.Cell(result.text(dates), result.style)
    }
}

extension Job.State {
    /// Paused is yellow, ended is dim.
    var style: Terminal.Style? {
        switch self {
        case .scheduled: nil
        case .paused: .yellow
        case .finished, .invalidated: .dim
        }
    }
}
