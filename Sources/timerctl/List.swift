// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// `timerctl list`: the jobs in a table.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List jobs: when each fires next, how often it has, what it does.",
        discussion: """
            Live jobs alone, scheduled or paused, by growing id; --all shows ended ones too, \
            which are kept for 30 days.

            Examples:
              timerctl list
              timerctl list --all --tag work
              timerctl list --json | jq -r 'select(.fires == 0) | .id'
            """
    )

    @Flag(name: .shortAndLong, help: "Ended jobs as well.")
    var all = false

    @Option(help: "Only jobs with this tag.")
    var tag: String?

    @Option(
        help: ArgumentHelp(
            "Only jobs in this state: scheduled, paused, finished, invalidated.",
            valueName: "state"
        ),
        completion: .list(Job.State.allCases.map(\.rawValue)),
        transform: { try jobState($0) }
    )
    var state: Job.State?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = request()
        var jobs: [Job] = []
        var isEmpty = true
        repeat {
            let page = try await daemon.ask(.listJobs(request), for: JobsReply.self)
            isEmpty = isEmpty && page.value.jobs.isEmpty
            if common.json {
                try Output.write(page.jsonLines("jobs"))
            } else {
                jobs += page.value.jobs
            }
            request.cursor = page.value.cursor
        } while request.cursor != nil
        if isEmpty { return Output.tell(emptySentence) }
        if !common.json {
            let dates = LocalDate(now: .now, zone: .local)
            try Output.write(Self.table(of: jobs, dates: dates).text(for: .current))
        }
    }

    func request() -> ListJobs {
        var request = ListJobs()
        // Asking for a state that only ended jobs have means them.
        request.all = all || state?.isLive == false ? true : nil
        request.state = state
        request.tag = tag
        request.limit = 1000
        return request
    }

    /// What is said instead of an empty table.
    var emptySentence: String {
        if tag != nil || state != nil { return "no such jobs" }
        return all ? "no jobs" : "no live jobs; --all shows ended ones"
    }

    static func table(of jobs: [Job], dates: LocalDate) -> Table {
        var table = Table(columns: [
            .init(title: "ID", isRightAligned: true), .init(title: "NAME"), .init(title: "STATE"),
            .init(title: "NEXT FIRE"), .init(title: "SCHEDULE"),
            .init(title: "FIRES", isRightAligned: true), .init(title: "COMMAND"),
        ])
        table.rows = jobs.map { job in
            [
                "\(job.id)", .init(job.definition.name ?? "-"),
                .init(job.state.rawValue, job.state.style), next(job, dates),
                .init(job.definition.schedule.words(dates)), "\(job.fires)", .init(job.action),
            ]
        }
        return table
    }

    private static func next(_ job: Job, _ dates: LocalDate) -> Table.Cell {
        guard job.state == .scheduled else { return "-" }
        guard let date = job.nextFire else { return "at start-up" }
        // Overdue by a second or more is what a reader has to see: nothing should be.
        let isOverdue = dates.now - date >= .seconds(1)
        return Table.Cell(dates.distance(date), isOverdue ? .red : nil)
    }
}

extension Job.State {
    /// What is not in the ordinary way of things stands out; what is over stands back.
    var style: Terminal.Style? {
        switch self {
        case .scheduled: nil
        case .paused: .yellow
        case .finished, .invalidated: .dim
        }
    }
}

private func jobState(_ argument: String) throws -> Job.State {
    guard let state = Job.State(rawValue: argument) else {
        let states = Job.State.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("--state '\(argument)' is none of \(states)")
    }
    return state
}
