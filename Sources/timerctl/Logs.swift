// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl logs`: what a run wrote.
struct Logs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Print what a command wrote: its standard output and standard error.",
        discussion: """
            Of the newest run of the job, or of all jobs, unless --run names one. The bytes come as \
            they were, the last 64 KiB of each stream, each on its own stream again.

            Of a run in progress, what it has written up to now; with -f, also what it writes from \
            now on, until it ends. A reader that is slower than the run misses bytes and is told \
            how many; the run waits for nobody.

            Examples:
              timerctl logs 2
              timerctl logs -f --name backup
              timerctl logs --run 17 --stderr
              timerctl logs --name backup 2>&1 | less
            """
    )

    @Argument(
        help: ArgumentHelp("The id of the job.", valueName: "id"),
        transform: { try jobID($0) }
    )
    var id: JobID?

    @Option(help: "The name of a live job, instead of an id.")
    var name: String?

    @Option(
        name: .customLong("run"),
        help: ArgumentHelp("The number of a run, from 'timerctl runs'.", valueName: "number")
    )
    var runNumber: Int64?

    @Flag(name: .shortAndLong, help: "Go on with what the run writes, until it ends.")
    var follow = false

    @Flag(help: "Standard output alone.")
    var stdout = false

    @Flag(help: "Standard error alone.")
    var stderr = false

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        guard [id != nil, name != nil, runNumber != nil].filter(\.self).count <= 1 else {
            throw ValidationError("an id, --name and --run exclude each other")
        }
    }

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        let run =
            if let runNumber { RunID(rawValue: runNumber) } else { try await newestRun(daemon) }
        var request = ReadOutput(id: run)
        request.wait = follow ? true : nil
        var reader = OutputReader()
        var isRunning: Bool
        repeat {
            request.after = reader.position
            let answer = try await daemon.ask(.readOutput(request), for: OutputReply.self)
            let lost = reader.read(answer.value)
            if common.json {
                try Output.write(answer.jsonLine)
            } else {
                try print(answer.value, lost)
            }
            isRunning = answer.value.running
        } while follow && isRunning
        if !isRunning, !common.json { try await tellOfSurvivors(run, daemon) }
    }

    /// Reports processes of the run that could not be ended.
    private func tellOfSurvivors(_ run: RunID, _ daemon: Daemon) async throws {
        let reply = try await daemon.ask(.getRun(RunReference(id: run)), for: RunReply.self)
        guard let count = reply.value.run.survivors else { return }
        Output.complain("run \(run): \(RunSentence.survivors(count))")
    }

    /// Writes each stream to the stream of the same name, and says how much of it is lost.
    private func print(_ output: OutputReply, _ lost: OutputPosition) throws(Failure) {
        for (stream, lost, name, isError) in [
            (output.stdout, lost.stdout, "standard output", false),
            (output.stderr, lost.stderr, "standard error", true),
        ] where isError ? stderr || !stdout : stdout || !stderr {
            if lost > 0 {
                Output.complain("\(lost) bytes of \(name) came before these; they are dropped")
            }
            try Output.write(stream.bytes, toError: isError)
        }
    }

    /// The newest run there is; fires that ran no command have none.
    private func newestRun(_ daemon: Daemon) async throws -> RunID {
        var request = ListRuns()
        request.job = id
        request.name = name
        request.limit = 100
        repeat {
            let page = try await daemon.ask(.listRuns(request), for: RunsReply.self).value
            // The command of `onFailure` is no run of the job's own.
            let own = page.runs.lazy.filter { $0.onFailure != true }
            if let run = own.compactMap(\.id).first { return run }
            request.cursor = page.cursor
        } while request.cursor != nil
        let job = id.map { "job \($0)" } ?? name.map { "job '\($0)'" } ?? "no job"
        throw Failure(
            .refused,
            "\(job) has run \(id == nil && name == nil ? "a" : "no") command yet"
        )
    }
}
