// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl agenda`: what will fire, of all jobs, in the order of time.
struct Agenda: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agenda",
        abstract: "List what will fire, of all jobs, in the order of time.",
        discussion: """
            A job that fires often has one line, at its first date, with how often; --each says from \
            how many dates on. Dates follow from the schedules, without those that were dropped: what \
            a job's overlap, its window or a full machine will make of them is not known yet. The \
            next date of a job with jitter is when it is due; those behind it are without jitter. \
            Standard error tells how many jobs are left out as they are paused or held. \
            --json prints an object a line; of a job that has one line for many dates it has 'times' \
            and 'last', and 'isCut' where there are more than \(AgendaLine.mostDates), which were not \
            counted.

            Examples:
              timerctl agenda
              timerctl agenda --next 7d --tag backup
              timerctl agenda --each 1000 --json | jq -r .fireDate
            """
    )

    @Option(
        help: ArgumentHelp("How far ahead, up to 366d; default 24h.", valueName: "duration"),
        transform: { try ahead($0) }
    )
    var next = TimeSpan.seconds(86_400)

    @Option(help: "Only jobs with this tag.", completion: .tags)
    var tag: String?

    @Option(help: ArgumentHelp("Only jobs of this user, a name or a uid.", valueName: "user"))
    var owner: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The most dates of one job that have a line each; default 6.",
            valueName: "number"
        ),
        transform: wholeNumber("--each", "from 0 to \(AgendaLine.mostDates)")
    )
    var each = 6

    @OptionGroup var pager: PagerOptions

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        guard 0...AgendaLine.mostDates ~= each else {
            throw ValidationError(
                "--each \(each) is not a number from 0 to \(AgendaLine.mostDates)"
            )
        }
    }

    func run() async throws {
        let dates = LocalDate(now: .now, zone: .local)
        let end = dates.now + next
        let daemon = try await Daemon.connect(common)
        let jobs = try await daemon.jobs(request(), until: end)
        // Behind a next date that was moved back there may be such.
        let dropped = jobs.isEmpty ? [:] : try await daemon.datesDropped(tag: tag, owner: owner)
        let lines = AgendaLine.lines(
            of: jobs,
            dates,
            until: end,
            each: each,
            without: dropped
        )
        // try?: the list is whole without it. Ahead of a pager that may be open for long.
        let silence = common.json ? nil : try? await daemon.silence(request(), until: end)
        defer { if let sentence = silence?.sentence { Output.tell(sentence) } }
        if lines.isEmpty {
            return try NothingFound.tell("nothing fires up to \(dates.full(end))", owner: owner)
        }
        if common.json {
            return try Output.write(lines.map { $0.json.jsonLine }.joined())
        }
        try pager.write(Self.table(of: lines, dates: dates).text(for: .current))
    }

    /// The first page, in the order of the next fires.
    func request() -> ListJobs {
        var request = ListJobs()
        (request.tag, request.owner) = (tag, owner)
        request.order = .nextFire
        request.limit = Limits.page
        return request
    }

    static func table(of lines: [AgendaLine], dates: LocalDate) -> Table {
        let hasMany = lines.contains { $0.many != nil }
        // Whose they are is only worth a column where it differs.
        let showsOwner = Set(lines.lazy.map(\.owner)).count > 1
        var columns: [Table.Column] = [
            .init(title: "DATE", rank: 3), .init(title: ""),
            .init(title: "JOB", isRightAligned: true, rank: 1),
        ]
        if showsOwner { columns.append(.init(title: "OWNER", narrowest: 8, rank: 4)) }
        columns.append(.init(title: "NAME", narrowest: 8))
        if hasMany { columns.append(.init(title: "TIMES", rank: 5)) }
        columns.append(.init(title: "COMMAND", rank: 2))
        var table = Table(columns: columns)
        table.rows = lines.map { line in
            var cells: [Table.Cell] = [
                .init("\(dates.weekday(line.date)) \(dates.dayAndTime(line.date))"),
                .init(dates.distance(line.date)), "\(line.job)",
            ]
            if showsOwner { cells.append(.init(line.owner)) }
            cells.append(.init(line.name ?? "-"))
            if hasMany { cells.append(.init(line.times(dates))) }
            return cells + [.init(line.action)]
        }
        return table
    }
}

extension Daemon {
    /// The jobs that fire up to `end`, page by page; `request` asks in the order of the next fires.
    fileprivate func jobs(_ request: ListJobs, until end: Timestamp) async throws -> [Job] {
        var request = request
        var jobs: [Job] = []
        // A job that fires between two pages comes once more, with its next date.
        var seen: Set<JobID> = []
        repeat {
            let page = try await ask(.listJobs(request), for: JobsReply.self).value
            jobs += page.jobs.filter { seen.insert($0.id).inserted }
            request.cursor = page.cursor
            // Those without a date come last.
            if page.jobs.last.map({ $0.nextFire ?? .distantFuture > end }) ?? false { break }
        } while request.cursor != nil
        return jobs
    }
}

private func ahead(_ argument: String) throws -> TimeSpan {
    // try?: the error below says what is accepted.
    guard let span = try? TimeSpan(parsing: argument),
        (.seconds(1) ... .seconds(366 * 86_400)).contains(span)
    else { throw ValidationError("--next '\(argument)' is no duration from 1s to 366d") }
    return span
}
