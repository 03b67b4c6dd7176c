// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl queue work`: a worker that runs a command for each task.
struct QueueWork: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "work",
        abstract: "Run a command for each task of some queues, until stopped.",
        usage: "timerctl queue work <queue> ... [<options>] -- <command> ...",
        discussion: """
            The command has the task's userInfo on standard input, and TIMERD_QUEUE, \
            TIMERD_FIRE_ID, TIMERD_FIRE_DATE, TIMERD_ATTEMPT, TIMERD_JOB_ID and TIMERD_JOB_NAME in \
            its environment. With exit status 0 the task is done, with 75 it goes back for 5 s, with \
            any other it has failed, and the last line of standard error is the reason. Where it \
            cannot be started its task goes back, and the worker ends with exit status 1.

            SIGTERM, SIGINT (Ctrl-C) and SIGHUP (a terminal that goes) let what runs come to its end, \
            and the daemon be told; where it does not answer that is tried for 30 s at most. A second \
            SIGTERM or SIGINT, or SIGQUIT (Ctrl-\\), ends the commands, and their tasks go back.

            Examples:
              timerctl queue work mails -- ./send-mail
              timerctl queue work mails reports --concurrency 4 --lease 10min -- ./work
              timerctl queue work mails --once -- jq .
            """
    )

    @Argument(
        help: ArgumentHelp("The queues, and behind '--' the command.", valueName: "queue"),
        completion: .queues
    )
    var queues: [String]

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many commands at a time, 1 to 1000; default 1.",
            valueName: "number"
        ),
        transform: wholeNumber("--concurrency", "from 1 to \(Limits.tasks)")
    )
    var concurrency = 1

    @Option(
        help: ArgumentHelp(
            "How soon another worker has a task of one that hangs; it is extended while the command runs.",
            valueName: "duration"
        )
    )
    var lease = "1min"

    @Flag(help: "End once no task is ready.")
    var once = false

    /// What stands behind `--`: the parser has no such place behind a list, see `words(_:)`.
    ///
    /// Each after a colon, since an empty value would be none.
    @Option(
        name: .customLong("command"),
        parsing: .singleValue,
        help: .hidden,
        transform: { String($0.dropFirst()) }
    )
    var command: [String] = []

    @OptionGroup var common: CommonOptions

    /// The words of a command line of this command, with those behind `--` as values of a hidden option.
    static func words(_ words: [String]) -> [String] {
        guard words.starts(with: ["queue", "work"]), let end = words.firstIndex(of: "--") else {
            return words
        }
        return words[..<end] + words[(end + 1)...].map { "--command=:\($0)" }
    }

    /// Whether `words(_:)` has found a command among them.
    static func haveCommand(_ words: [String]) -> Bool {
        words.contains { $0.hasPrefix("--command=:") }
    }

    mutating func validate() throws {
        guard !queues.isEmpty else { throw ValidationError("say which queue") }
        try checkQueues(queues)
        guard !command.isEmpty else {
            let words = ["timerctl", "queue", "work", queues[0], "--", "COMMAND"]
            throw ValidationError("say what to run for each task: \(ShellWords.command(words))")
        }
        try checkCount(concurrency, 1...Limits.tasks, "--concurrency")
        let span: TimeSpan
        do throws(ScheduleError) {
            span = try TimeSpan(parsing: lease)
        } catch {
            throw ValidationError("--lease: \(error.message)")
        }
        guard TimerWorker.leases.contains(span) else {
            throw ValidationError("--lease is '\(lease)', accepted is 100ms to 7 days")
        }
    }

    func run() async throws {
        // A daemon that is not there at the beginning is an error; later ones are waited for.
        let daemon = try await Daemon.connect(common)
        await daemon.client.close()
        let silence = daemon.watchSilence()
        defer { silence.cancel() }
        let (reasons, unstartable) = AsyncStream<String>.makeStream()
        let runner = TaskCommand(command) { unstartable.yield($0) }
        var settings = TimerWorker.Settings(socket: common.socketPath, queues: queues)
        settings.concurrency = concurrency
        settings.lease = lease
        settings.endsWhenIdle = once
        let worker = TimerWorker(
            settings,
            report: { Output.complain($0) },
            handler: { await runner.run($0) }
        )
        let signals = WorkerSignals(worker)
        // A command that is misspelt would have all tasks of the queue come back again and again.
        let stopping = Task { () -> String? in
            for await reason in reasons {
                worker.stop()
                return reason
            }
            return nil
        }
        do {
            try await worker.run()
        } catch {
            throw Failure(answering: error)
        }
        withExtendedLifetime(signals) {}
        unstartable.finish()
        if let reason = await stopping.value { throw Failure(.refused, reason) }
    }
}
