// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// `timerctl list`: the jobs in a table.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List jobs: when each fires next, what became of its last date, what it does.",
        discussion: """
            Live jobs alone, scheduled or paused, those that fire next first; --all shows ended \
            ones too, which are kept for 30 days. A terminal's lines are cut to its width.

            Examples:
              timerctl list
              timerctl list -n 10
              timerctl list --all --tag work
              timerctl list --json | jq -r 'select(.fires == 0) | .id'
            """,
        aliases: ["ls"]
    )

    @OptionGroup var filter: JobFilter

    @Option(
        name: .customShort("n"),
        parsing: .unconditional,
        help: ArgumentHelp("The first so many; default all.", valueName: "number")
    )
    var number: Int?

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if let number, number < 1 { throw ValidationError("-n \(number) is not a number from 1") }
    }

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = filter.request()
        // The objects of --json are as on the wire; only the table needs `last`.
        request.last = common.json ? nil : true
        let jobs = try await daemon.jobs(
            request,
            atMost: number ?? .max,
            json: common.json ? { try Output.write($0) } : nil
        )
        if jobs.isEmpty { return Output.tell(filter.emptySentence) }
        if !common.json {
            let dates = LocalDate(now: .now, zone: .local)
            try Output.write(Self.table(of: jobs, dates: dates).text(for: .current))
        }
    }

    static func table(of jobs: [Job], dates: LocalDate) -> Table {
        // Whose they are is only worth a column where it differs.
        let hasOwners = Set(jobs.lazy.map(\.owner)).count > 1
        var table = Table(columns: [
            .init(title: "ID", isRightAligned: true), .init(title: "NAME", narrowest: 8),
            .init(title: "NEXT FIRE"), .init(title: "LAST"),
            .init(title: "SCHEDULE", narrowest: 8), .init(title: "COMMAND"),
        ])
        table.rows = jobs.map { job in
            [
                "\(job.id)", .init(job.definition.name ?? "-"), next(job, dates),
                last(job, dates),
                .init(job.isReadable ? job.definition.schedule.words(dates) : "-"),
                .init(job.action),
            ]
        }
        guard hasOwners else { return table }
        table.columns.insert(.init(title: "OWNER"), at: 1)
        for (index, job) in jobs.enumerated() { table.rows[index].insert(.init(job.owner), at: 1) }
        return table
    }

    private static func next(_ job: Job, _ dates: LocalDate) -> Table.Cell {
        if job.held != nil { return .init("held", .red) }
        if job.maintenance { return .init("maintenance", .yellow) }
        guard job.state == .scheduled else { return .init(job.state.rawValue, job.state.style) }
        guard let date = job.nextFire else { return "at start-up" }
        // A date that is overdue by a second or more is red: something is wrong then.
        let isOverdue = dates.now - date >= .seconds(1)
        return Table.Cell(dates.distance(date), isOverdue ? .red : nil)
    }

    private static func last(_ job: Job, _ dates: LocalDate) -> Table.Cell {
        guard let run = job.last else { return "-" }
        let result = LastResult(run, of: job.definition)
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
