// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl

/// `timerctl metrics`: the daemon in numbers, for a monitoring system.
struct Metrics: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Print the daemon's metrics as OpenMetrics text.",
        discussion: """
            Totals of all users, which anybody may ask for; docs/metrics.md tells each. 'timerd \
            --listen' serves the same over HTTP. Counters begin at 0 when the daemon is started, and when its node takes over.

            Examples:
              timerctl metrics
              timerctl metrics | grep skipped
              timerctl metrics --json | jq .runs.ended
            """
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let answer = try await Daemon.ask(common, .metrics, for: MetricsReply.self)
        try Output.write(
            common.json
                ? answer.jsonLine
                : Self.text(answer.value.openMetrics, isForTerminal: isatty(STDOUT_FILENO) == 1)
        )
    }

    /// The text as it is for a program; for a terminal without what would act on it, such as in a queue's name.
    static func text(_ metrics: String, isForTerminal: Bool) -> String {
        guard isForTerminal else { return metrics }
        return metrics.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Printable.escaped(String($0)) }
            .joined(separator: "\n")
    }
}
