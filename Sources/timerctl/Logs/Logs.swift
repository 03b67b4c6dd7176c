// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl logs`: what a run wrote.
struct Logs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Print what a command wrote: its standard output and standard error.",
        discussion: """
            Of the newest run of the job, or of all jobs, unless --run names one. The bytes come as \
            they were and in the order in which they came, each on its own stream again. Of a run \
            that wrote more than is kept (64 KiB of each stream; --output-kept of the job) the \
            beginning and the end are there, and standard error says between them how many bytes \
            are left out. Of a run that wrote nothing, or of whose output nothing is known, it says \
            what became of it, and of a job's newest run whether a newer date was skipped, or waits; \
            --on-failure shows what the job's on-failure command wrote as well.

            -t shows both streams as lines on standard output, each behind the date at which it \
            came and 'out' or 'err'.

            On a terminal colours are colours; other control characters, and what turns the \
            direction of text, are spelled out (^[, \\u{202e}), unless --raw is given.

            Of a run in progress, what it has written up to now; with -f, also what it writes from \
            now on, until it ends; where the daemon is restarted, or another node takes over, it \
            goes on with the next one. A reader that is slower than the run misses bytes and is told \
            how many; the run waits for nobody.

            Examples:
              timerctl logs 2
              timerctl logs -f backup
              timerctl logs -t backup
              timerctl logs --run 17 --stderr
              timerctl logs backup 2>&1 | less
            """,
        aliases: ["log"]
    )

    @Argument(
        help: ArgumentHelp("The id or name of the job.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var job: JobReference?

    @Option(help: "The name of a job, also of one that looks like an id.", completion: .jobs)
    var name: String?

    @Option(
        name: .customLong("run"),
        parsing: .unconditional,
        help: ArgumentHelp("The number of a run, from 'timerctl runs'.", valueName: "number"),
        transform: wholeNumber("--run", "from 1")
    )
    var runNumber: Int64?

    @Flag(name: .shortAndLong, help: "Go on with what the run writes, until it ends.")
    var follow = false

    @Flag(
        name: [.customShort("t"), .long],
        help: "Put the date, and out or err, in front of each line."
    )
    var timestamps = false

    @Flag(help: "Behind it, what the on-failure command wrote.")
    var onFailure = false

    @Flag(help: "Standard output alone.")
    var stdout = false

    @Flag(help: "Standard error alone.")
    var stderr = false

    @Flag(help: "The bytes as they are on a terminal, too.")
    var raw = false

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        guard [job != nil, name != nil, runNumber != nil].filter(\.self).count <= 1 else {
            throw ValidationError("a job, --name and --run exclude each other")
        }
        if stdout, stderr {
            throw ValidationError(
                "--stdout and --stderr exclude each other; without them both are shown"
            )
        }
        if common.json, timestamps || stdout || stderr || raw {
            throw ValidationError(
                "--json and -t, --stdout, --stderr or --raw exclude each other: each chunk has its date, stream and "
                    + "bytes"
            )
        }
    }

    func run() async throws {
        var daemon = try await Daemon.connect(common)
        let silence = follow ? daemon.watchSilence() : nil
        defer { silence?.cancel() }
        let run =
            if let runNumber { RunID(rawValue: runNumber) } else { try await newestRun(daemon) }
        guard let end = try await show(run, &daemon) else { return }
        if !common.json { tell(of: end.run, wroteNothing: end.wroteNothing) }
        guard onFailure || !common.json else { return }
        let attempts = try await attempts(beside: end.run, &daemon)
        guard let alert = attempts?.first(where: { $0.onFailure == true }) else {
            if onFailure, !common.json { await tellNoAlert(of: end.run, attempts, daemon) }
            return
        }
        guard let id = alert.id else {
            // It waits, or could not be started.
            if onFailure, !common.json {
                let dates = LocalDate(now: .now, zone: .local)
                Output.tell("on-failure command: \(RunSentence(alert, dates: dates).text)")
            }
            return
        }
        guard onFailure else {
            return Output.tell("the on-failure command was run \(id); --on-failure shows it too")
        }
        if !common.json { Output.tell("on-failure command, run \(id):") }
        if let end = try await show(id, &daemon), !common.json {
            tell(of: end.run, wroteNothing: end.wroteNothing)
        }
    }

    /// Writes what a run wrote; nil of one that is still in progress, and of one that was no longer kept as it
    /// ended.
    private func show(
        _ run: RunID,
        _ daemon: inout Daemon
    ) async throws -> (run: Run, wroteNothing: Bool)? {
        var output = LogsOutput(timestamps: timestamps, isRaw: raw)
        guard follow else { return try await read(run, &output, &daemon) }
        let known = try await ask(.getRun(RunReference(id: run)), for: RunReply.self, &daemon)
        do {
            return try await read(run, &output, &daemon)
        } catch let error as Failure where error.status == .refused {
            // It was there a moment ago; where it still is, something else was refused.
            if await isKept(run, &daemon) { throw error }
            try output.end()
            try await tellEnd(ofGone: known.value.run)
            return nil
        }
    }

    private func read(
        _ run: RunID,
        _ output: inout LogsOutput,
        _ daemon: inout Daemon
    ) async throws -> (run: Run, wroteNothing: Bool)? {
        var request = ReadOutput(id: run)
        request.wait = follow ? true : nil
        var reader = OutputReader()
        var first: OutputReply?
        var last: OutputReply
        repeat {
            request.after = reader.position
            let answer = try await ask(.readOutput(request), for: OutputReply.self, &daemon)
            last = answer.value
            let items = reader.read(last)
            if common.json {
                try Output.write(answer.jsonLine)
            } else {
                try print(items, to: &output)
            }
            first = first ?? last
            // Of a run that writes on and on, what it had written.
        } while follow
            ? last.running || last.more == true : first.map { !reader.isBehind($0) } == true
        try output.end()
        if last.running { return nil }
        let reply = try await ask(.getRun(RunReference(id: run)), for: RunReply.self, &daemon)
        return (reply.value.run, reader.position == OutputPosition())
    }

    private func isKept(_ run: RunID, _ daemon: inout Daemon) async -> Bool {
        do {
            _ = try await ask(.getRun(RunReference(id: run)), for: RunReply.self, &daemon)
            return true
        } catch {
            return false
        }
    }

    /// Says how a run ended that was no longer kept as it did, as its job has newer ones.
    ///
    /// - Throws: 1 where that is not known.
    private func tellEnd(ofGone run: Run) async throws {
        let number = run.id.map { "run \($0)" } ?? "the run"
        let loss = "it is no longer kept, and what it wrote last may be missing"
        guard let end = try await ToldEnd.find(run, common) else {
            throw Failure(.refused, "\(number) is over, how is not known: \(loss)")
        }
        let dates = LocalDate(now: .now, zone: .local)
        Output.complain("\(number): \(RunSentence(end, dates: dates).text); \(loss)")
    }

    /// Asks; where the daemon goes away meanwhile and the run is followed, the next one, whose runs are the same.
    private func ask<Value: Decodable & Sendable>(
        _ request: Request,
        for type: Value.Type,
        _ daemon: inout Daemon
    ) async throws(Failure) -> Answer<Value> {
        do throws(Failure) {
            return try await daemon.ask(request, for: type)
        } catch {
            guard follow, error.status == .unavailable else { throw error }
            let reconnection = Reconnection()
            let seconds = reconnection.limit.components.seconds
            Output.complain("\(error.message); looking for it for \(seconds) s, the run goes on")
            let common = common
            let next = try await reconnection.answer(after: error) { () async throws(Failure) in
                let next = try await Daemon.connect(common)
                return (next, try await next.ask(request, for: type))
            }
            daemon = next.0
            return next.1
        }
    }

    /// Says why there is nothing to show, and of processes of the run that could not be ended.
    private func tell(of run: Run, wroteNothing: Bool) {
        if wroteNothing, let id = run.id {
            let dates = LocalDate(now: .now, zone: .local)
            let subject = "run \(id) of job \(run.job), \(dates.distance(run.fireDate)),"
            let words = RunSentence(run, dates: dates).text
            Output.tell(Self.silence(of: subject, run.outcome) + ": " + words)
        }
        guard let count = run.survivors, let id = run.id else { return }
        Output.complain("run \(id): \(RunWords.survivors(count))")
    }

    /// That there is nothing of a run; timerd-runner may have ended with what an interrupted one had written.
    static func silence(of subject: String, _ outcome: Run.Outcome?) -> String {
        outcome == .interrupted
            ? "nothing is known of what \(subject) wrote" : "\(subject) wrote nothing"
    }

    /// Says why there is nothing of an on-failure command, which was asked for.
    private func tellNoAlert(of run: Run, _ attempts: [Run]?, _ daemon: Daemon) async {
        // try?: without them less is said.
        let job = try? await daemon.ask(.getJob(.id(run.job)), for: JobReply.self).value.job
        let status = try? await daemon.ask(.status, for: StatusReply.self).value
        Output.tell(NoAlert(run: run, attempts: attempts, job: job, status: status).sentence)
    }

    /// All that is kept of a failed run's fire, its on-failure command with it; empty of any other run, nil where it is not
    /// known.
    private func attempts(beside run: Run, _ daemon: inout Daemon) async throws -> [Run]? {
        guard run.failed == true, run.handler == nil else { return [] }
        var request = ListRuns()
        (request.fire, request.limit) = (run.fire, 100)
        do throws(Failure) {
            return try await ask(.listRuns(request), for: RunsReply.self, &daemon).value.runs
        } catch {
            // Meanwhile it may be no longer kept.
            guard error.isRefusal else { throw error }
            return nil
        }
    }

    /// Writes each stream that is wanted, and says how much of it is missing.
    private func print(
        _ items: [OutputReader.Item],
        to output: inout LogsOutput
    ) throws(Failure) {
        var date: Timestamp?
        for (index, item) in items.enumerated() {
            switch item {
            case .chunk(let chunk) where isWanted(chunk.stream):
                date = chunk.at
                try output.write(chunk)
            case .gap(let stream, let count) where isWanted(stream):
                if case .chunk(let next)? = items.dropFirst(index + 1).first { date = next.at }
                try output.writeGap(count, of: stream, at: date ?? .now)
            case .chunk, .gap: break
            }
        }
    }

    private func isWanted(_ stream: StandardStream) -> Bool {
        stream == .stdout ? stdout || !stderr : stderr || !stdout
    }
}
