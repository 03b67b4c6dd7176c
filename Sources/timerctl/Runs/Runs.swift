// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl runs`: what became of each fire.
struct Runs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "runs",
        abstract: "Tell what became of fires, the newest first.",
        discussion: """
            Every date has its line: a run with its outcome, an event, or why it was skipped. Dates \
            that are still ahead, and are skipped already, come last, and -n counts them apart. \
            With --failed only runs that failed and are still kept, the last to end first. NODE is \
            the host that a run was on, where several share their jobs. Of one job standard error says \
            whether it is paused or held, or its queue is paused.

            Examples:
              timerctl runs
              timerctl runs --failed --since 8h
              timerctl runs --outcome skipped --tag backup --since yesterday
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

    @Flag(
        help: "Only runs that failed, and are kept, by their jobs' own rules; --since: ended since."
    )
    var failed = false

    @Option(
        help: ArgumentHelp(
            "Only what was due since: 8h for eight hours ago, 22:00, yesterday, a date.",
            valueName: "when"
        )
    )
    var since: String?

    @Option(
        help: ArgumentHelp(
            """
            Only with this outcome: \(RunWord.allCases.map(\.rawValue).joined(separator: ", ")).
            """,
            valueName: "outcome"
        ),
        completion: .list(RunWord.allCases.map(\.rawValue)),
        transform: { try runWord($0) }
    )
    var outcome: RunWord?

    @Option(help: "Only of jobs with this tag.", completion: .tags)
    var tag: String?

    @Option(help: ArgumentHelp("Only of this user's jobs, a name or a uid.", valueName: "user"))
    var owner: String?

    @Option(
        name: .customShort("n"),
        parsing: .unconditional,
        help: ArgumentHelp("How many; default 20.", valueName: "number"),
        transform: wholeNumber("-n", "from 1")
    )
    var number = 20

    @OptionGroup var pager: PagerOptions

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if job != nil, name != nil { throw ValidationError("a job and --name exclude each other") }
        guard number > 0 else { throw ValidationError("-n \(number) is not a number from 1") }
    }

    func run() async throws {
        let dates = LocalDate(now: .now, zone: .local)
        var request = try request(dates)
        let daemon = try await Daemon.connect(common)
        var runs: [Run] = []
        var found = RunsFound(number, now: dates.now)
        var firstPage: [Run]?
        repeat {
            request.limit = found.limit
            let page = try await daemon.ask(.listRuns(request), for: RunsReply.self)
            let rows =
                common.json
                ? zip(page.value.runs, page.lines("runs")).map { RunsFound.Row(run: $0, line: $1) }
                : page.value.runs.map { RunsFound.Row(run: $0) }
            firstPage = firstPage ?? page.value.runs
            let come = found.take(rows)
            if common.json {
                try Output.write(come.map(\.line).joined())
            } else {
                runs += come.map(\.run)
            }
            request.cursor = page.value.cursor
        } while request.cursor != nil && !found.isFull
        if found.isEmpty {
            return try NothingFound.tell(await emptySentence(request, daemon), owner: owner)
        }
        if common.json { return try Output.write(found.ahead.map(\.line).joined()) }
        let all = runs + found.ahead.map(\.run)
        let one = await oneJob(of: all, daemon)
        // try?: the list is whole without the defaults that it may have.
        let status =
            one == nil ? nil : try? await daemon.ask(.status, for: StatusReply.self).value
        let table = Self.table(
            of: all,
            isOfOneJob: job != nil || name != nil,
            dates: dates,
            one: one,
            attempts: await attempts(of: all, of: one, firstPage: firstPage ?? [], status, daemon),
            status: status
        )
        // Ahead of a pager that may be open for long.
        let standstill = await one?.standstill(of: all, daemon, dates)
        try pager.write(table.text(for: .current))
        if let standstill { Output.tell(standstill) }
    }

    /// The one job that is listed; nil where there are several.
    private func oneJob(of runs: [Run], _ daemon: Daemon) async -> Job? {
        guard job != nil || name != nil, let first = runs.first else { return nil }
        // By its id: the name may be that of another user's job. try?: the list is whole without what it is asked for.
        return try? await daemon.ask(.getJob(.id(first.job)), for: JobReply.self).value.job
    }

    private func attempts(
        of runs: [Run],
        of one: Job?,
        firstPage: [Run],
        _ status: StatusReply?,
        _ daemon: Daemon
    ) async -> [FireID: [Run]] {
        guard let one else { return [:] }
        let isWhole = !failed && outcome == nil
        var attempts = FireAttempts(runs, firstPage: isWhole ? firstPage : [], of: one, status)
        for fire in attempts.toAsk {
            var request = ListRuns()
            request.fire = fire
            // try?: it may be kept no longer by now.
            guard let rows = try? await daemon.runs(request, atMost: .max) else { continue }
            attempts.learn(rows.page.runs, of: fire)
        }
        return attempts.known
    }

    /// What is said in place of an empty list.
    private func emptySentence(
        _ request: ListRuns,
        _ daemon: Daemon
    ) async throws(Failure) -> String {
        if request.isNarrowed { return "no such runs" }
        guard let reference = job ?? name.map({ .name($0) }) else {
            return "no fires yet, or none is kept any more"
        }
        let job = try await daemon.ask(.getJob(reference), for: JobReply.self).value.job
        guard job.state.isLive else { return job.goneSentence ?? "no fires; it is \(job.state)" }
        let sentence = job.goneSentence ?? "no fires yet"
        return job.standstill.map { "\(sentence); it is \($0)" } ?? sentence
    }

    func request(_ dates: LocalDate) throws -> ListRuns {
        var request = ListRuns()
        switch job {
        case .id(let id): request.job = id
        case .name(let name): request.name = name
        case nil: request.name = name
        }
        request.failed = failed ? true : nil
        request.since = try since.map { words in
            do throws(ScheduleError) {
                return try PastDate.parse(words, dates)
            } catch {
                throw ValidationError("--since: \(error.message)")
            }
        }
        (request.outcome, request.tag, request.owner) = (outcome, tag, owner)
        return request
    }

    /// `one`: the job that is listed, which may say why its runs failed; those of others that had its name are none of its.
    ///
    /// `attempts`: of its fires, all that there are; without those of which that is not known.
    static func table(
        of runs: [Run],
        isOfOneJob: Bool,
        dates: LocalDate,
        one: Job? = nil,
        attempts: [FireID: [Run]] = [:],
        status: StatusReply? = nil
    ) -> Table {
        var columns: [Table.Column] = [
            .init(title: "RUN", isRightAligned: true),
            .init(title: "JOB", isRightAligned: true, rank: 3),
            .init(title: "NAME", narrowest: 8), .init(title: "FIRE DATE", rank: 2),
            .init(title: "", rank: 1),
        ]
        // A daemon alone has no name for its host.
        let showsNode = runs.contains { $0.node != nil }
        if showsNode { columns.append(.init(title: "NODE", narrowest: 8, rank: 4)) }
        columns.append(.init(title: "OUTCOME"))
        if isOfOneJob { columns.removeSubrange(1...2) }
        // Whose they are is only worth a column where it differs.
        let showsOwner = Set(runs.lazy.compactMap(\.owner)).count > 1
        if showsOwner { columns.insert(.init(title: "OWNER", narrowest: 8, rank: 4), at: 2) }
        var table = Table(columns: columns)
        let inTheWay = RunsInTheWay(runs)
        table.rows = runs.map { run in
            var sentence = RunSentence(run, dates: dates, besides: inTheWay[run])
            if let one, one.id == run.job {
                sentence.add(RunHint(run, of: one.definition))
                if let attempts = attempts[run.fire],
                    one.hasDroppedAttempts(after: run, among: attempts, status)
                {
                    sentence.text += "; not tried again"
                }
            }
            var cells: [Table.Cell] = [
                .init(run.id.map { "\($0)" } ?? "-"), "\(run.job)", .init(run.name ?? "-"),
                .init(dates.dayAndTime(run.fireDate)), .init(dates.distance(run.fireDate)),
            ]
            if showsNode { cells.append(.init(run.node ?? "-")) }
            cells.append(.init(sentence.text, sentence.style))
            if isOfOneJob { cells.removeSubrange(1...2) }
            if showsOwner { cells.insert(.init(run.owner ?? "-"), at: 2) }
            return cells
        }
        return table
    }
}

extension ListRuns {
    /// Whether it asks for a part of what there is.
    fileprivate var isNarrowed: Bool {
        failed != nil || since != nil || outcome != nil || tag != nil || owner != nil
    }
}

private func runWord(_ argument: String) throws -> RunWord {
    guard let outcome = RunWord(rawValue: argument) else {
        let words = RunWord.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("--outcome '\(argument)' is none of \(words)")
    }
    return outcome
}
