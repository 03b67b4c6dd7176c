// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
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
        try Output.write(common.json ? answer.jsonLine : answer.value.openMetrics)
    }
}
