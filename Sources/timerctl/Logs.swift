// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import TimerControl

/// `timerctl logs`: what a run wrote.
struct Logs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print what a command wrote: its standard output and standard error.",
        discussion: """
            Of the newest run of the job, or of all jobs, unless --run names one. The bytes come as \
            they were, the last 64 KiB of each stream, each on its own stream again.

            Examples:
              timerctl logs 2
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
        let answer = try await daemon.ask(
            .readOutput(RunReference(id: run)),
            for: OutputReply.self
        )
        if common.json { return try Output.write(answer.jsonLine) }
        if stdout || !stderr { try print(answer.value.stdout, "standard output", toError: false) }
        if stderr || !stdout { try print(answer.value.stderr, "standard error", toError: true) }
    }

    private func print(
        _ stream: OutputReply.Stream,
        _ name: String,
        toError isError: Bool
    ) throws(Failure) {
        if stream.dropped > 0 {
            Output.complain(
                "\(stream.dropped) bytes of \(name) came before these; they are dropped"
            )
        }
        try Output.write(stream.bytes, toError: isError)
    }

    /// The newest run there is; fires that ran no command have none.
    private func newestRun(_ daemon: Daemon) async throws -> RunID {
        var request = ListRuns()
        request.job = id
        request.name = name
        request.limit = 100
        repeat {
            let page = try await daemon.ask(.listRuns(request), for: RunsReply.self).value
            if let run = page.runs.lazy.compactMap(\.id).first { return run }
            request.cursor = page.cursor
        } while request.cursor != nil
        let job = id.map { "job \($0)" } ?? name.map { "job '\($0)'" } ?? "no job"
        throw Failure(
            .refused,
            "\(job) has run \(id == nil && name == nil ? "a" : "no") command yet"
        )
    }
}

extension OutputReply.Stream {
    /// What the command wrote, as it was.
    var bytes: [UInt8] {
        if let text { return Array(text.utf8) }
        return base64.flatMap { Data(base64Encoded: $0) }.map(Array.init) ?? []
    }
}
