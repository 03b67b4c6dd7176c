// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// `timerctl runs`: what became of each fire.
struct Runs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "runs",
        abstract: "Tell what became of fires, the newest first.",
        discussion: """
            Every date has its line: a run with its outcome, an event, or why it was skipped. Dates \
            that are still ahead, and are skipped already, come last.

            Examples:
              timerctl runs
              timerctl runs 2 -n 100
              timerctl runs backup --json | jq -r .outcome
            """,
        aliases: ["history"]
    )

    @Argument(
        help: ArgumentHelp("The id or name of one job.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var job: JobReference?

    @Option(help: "The name of a job, also of one that looks like an id.", completion: .jobs)
    var name: String?

    @Option(
        name: .customShort("n"),
        parsing: .unconditional,
        help: ArgumentHelp("How many; default 20.", valueName: "number")
    )
    var number = 20

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if job != nil, name != nil { throw ValidationError("a job and --name exclude each other") }
        guard number > 0 else { throw ValidationError("-n \(number) is not a number from 1") }
    }

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = request()
        var runs: [Run] = []
        var left = number
        repeat {
            request.limit = min(left, 1000)
            let page = try await daemon.ask(.listRuns(request), for: RunsReply.self)
            left -= page.value.runs.count
            if common.json {
                try Output.write(page.jsonLines("runs"))
            } else {
                runs += page.value.runs
            }
            request.cursor = page.value.cursor
        } while request.cursor != nil && left > 0
        if left == number { return Output.tell("no fires yet") }
        if common.json { return }
        let dates = LocalDate(now: .now, zone: .local)
        let table = Self.table(
            of: Self.aheadLast(runs, dates),
            isOfOneJob: job != nil || name != nil,
            dates: dates
        )
        try Output.write(table.text(for: .current))
    }

    /// What took place, the newest first, then the dates ahead that will not fire.
    static func aheadLast(_ runs: [Run], _ dates: LocalDate) -> [Run] {
        let isAhead = { (run: Run) in run.state == .skipped && run.fireDate > dates.now }
        return runs.filter { !isAhead($0) } + runs.filter(isAhead)
    }

    func request() -> ListRuns {
        var request = ListRuns()
        switch job {
        case .id(let id): request.job = id
        case .name(let name): request.name = name
        case nil: request.name = name
        }
        return request
    }

    static func table(of runs: [Run], isOfOneJob: Bool, dates: LocalDate) -> Table {
        var columns: [Table.Column] = [
            .init(title: "RUN", isRightAligned: true), .init(title: "JOB", isRightAligned: true),
            .init(title: "FIRE DATE"), .init(title: ""), .init(title: "OUTCOME"),
        ]
        if isOfOneJob { columns.remove(at: 1) }
        var table = Table(columns: columns)
        table.rows = runs.map { run in
            let sentence = RunSentence(run, dates: dates)
            var cells: [Table.Cell] = [
                .init(run.id.map { "\($0)" } ?? "-"), "\(run.job)",
                .init(dates.dayAndTime(run.fireDate)), .init(dates.distance(run.fireDate)),
                .init(sentence.text, sentence.style),
            ]
            if isOfOneJob { cells.remove(at: 1) }
            return cells
        }
        return table
    }
}
