// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl timeline`: the last runs and the next fires of all jobs, in a picture.
struct TimelineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Draw the last runs and the next fires of jobs: a line each, now in the middle.",
        discussion: """
            How long runs took, what failed, what was missed and what is to come; a legend says what \
            is what, and lines above it why jobs are held and for what fires wait. ASCII where the \
            locale is not UTF-8. --json prints an object a line for each job, with its owner, its \
            runs and its coming dates, at most 1000 each, and 'held' where it is.

            Examples:
              timerctl timeline
              timerctl timeline --past 7d --next 1d
              timerctl timeline --tag backup --width 120
            """
    )

    @OptionGroup var filter: JobFilter

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How far back, from 1min; default 6h.", valueName: "duration"),
        transform: { try span($0, "--past") }
    )
    var past = TimeSpan.seconds(6 * 3600)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How far ahead, from 1min; default 6h.", valueName: "duration"),
        transform: { try span($0, "--next") }
    )
    var next = TimeSpan.seconds(6 * 3600)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Columns; default the terminal's, else 80.", valueName: "columns"),
        transform: wholeNumber("--width", "from 40 to 1000")
    )
    var width: Int?

    @Option(
        name: .customShort("n"),
        parsing: .unconditional,
        help: ArgumentHelp("The jobs that fire next, so many; default 40.", valueName: "number"),
        transform: wholeNumber("-n", "from 1")
    )
    var number = 40

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if let width, !(40...1000 ~= width) {
            throw ValidationError("--width \(width) is not a number from 40 to 1000")
        }
        guard number > 0 else { throw ValidationError("-n \(number) is not a number from 1") }
    }

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        let dates = LocalDate(now: .now, zone: .local)
        let jobs = try await daemon.jobs(filter.request(), atMost: number + 1)
        if jobs.isEmpty {
            return try NothingFound.tell(filter.emptySentence, owner: filter.owner)
        }
        var rows: [TimelinePicture.Row] = []
        // Asked for once, and only where it is needed.
        var running: (page: RunsReply, json: [JSONValue])?
        var reserved: [[String]: [(fire: FireID, job: JobID)]] = [:]
        for job in jobs.prefix(number) {
            var request = ListRuns()
            request.job = job.id
            let runs = try await daemon.runs(request, atMost: 1000)
            var row = TimelinePicture.Row(job, runs.page, from: dates.now - past)
            var json = Array(runs.json.prefix(row.runs.count))
            if runs.page.cursor != nil {
                // What runs may be older than any number of dates that it kept from firing: such a command is told by itself.
                request.open = true
                let open = try await daemon.runs(request, atMost: Limits.page)
                if running == nil { running = try await daemon.inProgress() }
                var lists = [running, open].compactMap(\.self)
                // Nor are tasks among what is open.
                if let queue = job.definition.queue {
                    let place = [job.owner, queue]
                    if reserved[place] == nil {
                        // try?: the picture is whole without them, and a name that two users have had is refused.
                        reserved[place] =
                            (try? await daemon.reservedTasks(of: job.owner, in: queue)) ?? []
                    }
                    let known = Set(row.runs.map(\.fire))
                    let own = reserved[place, default: []].filter { $0.job == job.id }
                    let behind = own.map(\.fire).filter { !known.contains($0) }
                    lists += await daemon.lastRuns(of: behind)
                }
                for list in lists {
                    let own = zip(list.page.runs, list.json).filter { $0.0.job == job.id }
                    let added = row.add(open: own.map(\.0))
                    json += zip(own.map(\.1), added).filter(\.1).map(\.0)
                }
            }
            if common.json {
                try Output.write(try self.json(row, json, dates))
            } else {
                rows.append(row)
            }
        }
        if !common.json {
            let terminal = Terminal.current
            let picture = TimelinePicture(
                rows,
                past: past,
                next: next,
                dates: dates,
                width: width ?? terminal.width.map { max($0, 40) } ?? 80,
                isUnicode: Terminal.isUnicode
            )
            try Output.write(picture.text(for: terminal))
        }
        if jobs.count > number { Output.tell("more jobs are there; -n says how many are shown") }
    }

    /// `{"coming":[…],"held":…,"id":…,"name":…,"owner":…,"runs":[…]}`.
    private func json(
        _ row: TimelinePicture.Row,
        _ runs: [JSONValue],
        _ dates: LocalDate
    ) throws -> String {
        let coming = row.job.comingDates(
            dates,
            until: dates.now + next,
            atMost: 1000,
            without: row.runs
        )
        var members: [String: JSONValue] = [
            "id": .integer(row.job.id.rawValue), "owner": .string(row.job.owner),
            "coming": .array(coming.map { .string($0.rfc3339) }),
        ]
        members["name"] = row.job.definition.name.map { .string($0) }
        members["held"] = row.job.held.map { .string($0) }
        members["runs"] = .array(runs)
        return JSONValue.object(members).jsonLine
    }
}

extension TimelinePicture.Row {
    /// Keeps a job's newest fires, back to the last one that reaches into the time from `start` on.
    init(_ job: Job, _ page: RunsReply, from start: Timestamp) {
        self.job = job
        // They are sorted by date, the newest first: those after this one ended before `start`.
        let first = page.runs.lastIndex { run in
            run.isInProgress
                || (run.endedAt ?? run.through ?? run.firedAt ?? run.fireDate) >= start
        }
        runs = Array(page.runs.prefix((first ?? -1) + 1))
        let kept = page.runs.filter { $0.state != .done || $0.outcome != nil }
        let began = Set(kept.filter { $0.state != .skipped }.map(\.fire)).count
        let isCut = page.cursor != nil || began < job.fires
        if isCut, let oldest = kept.map(\.fireDate).min(), oldest > start {
            knownFrom = oldest
        }
    }

    /// Adds what is in progress, and is not among its fires; says which of `open` that is.
    mutating func add(open: [Run]) -> [Bool] {
        let known = Set(runs.map(\.fire))
        let isNew = open.map { $0.isInProgress && !known.contains($0.fire) }
        runs += zip(open, isNew).filter(\.1).map(\.0)
        return isNew
    }
}

extension Run {
    /// Whether its command runs, or a worker has its task.
    var isInProgress: Bool { state == .running || state == .reserved }
}

private func span(_ argument: String, _ option: String) throws -> TimeSpan {
    // try?: the error below says what is accepted.
    guard let span = try? TimeSpan(parsing: argument),
        (.seconds(60) ... .seconds(366 * 86_400)).contains(span)
    else { throw ValidationError("\(option) '\(argument)' is no duration from 1min to 366d") }
    return span
}
