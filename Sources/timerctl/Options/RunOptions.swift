// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// How the command of a job is run: the options of `add` that go with a command.
struct RunOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The command, as a line for /bin/sh -c; - reads a script from standard input.",
            valueName: "line"
        )
    )
    var shell: String?

    @Option(.timeout) var timeout: StatedOption?
    @Option(.killAfter) var killAfter: StatedOption?
    @Option(.overlap) var overlap: StatedOption?
    @Option(.retries) var retries: StatedOption?
    @Option(.backoff) var backoff: StatedOption?
    @Option(.successCodes) var successCodes: StatedOption?
    @Option(.onFailure) var onFailure: StatedOption?
    @Option(.onSuccess) var onSuccess: StatedOption?
    @Option(.keepRuns) var keepRuns: StatedOption?
    @Option(.on) var on: StatedOption?
    @Flag(.rerunInterrupted) var rerunInterrupted = false
    @Option(.output) var output: StatedOption?
    @Option(.outputKept) var outputKept: StatedOption?
    @Option(.nice) var nice: StatedOption?
    @Option(.memoryMax) var memoryMax: StatedOption?
    @Option(.memoryHigh) var memoryHigh: StatedOption?
    @Option(.cpuWeight) var cpuWeight: StatedOption?
    @Option(.cpuQuota) var cpuQuota: StatedOption?
    @Option(.tasksMax) var tasksMax: StatedOption?
    @Option(.ioWeight) var ioWeight: StatedOption?
    @Option(.cpuTime) var cpuTime: StatedOption?
    @Option(.umask) var umask: StatedOption?

    /// States what was given.
    func apply(to definition: inout JobDefinition) throws(OptionRefusal) {
        if let shell { definition.command = .shell(shell) }
        definition.rerunInterrupted = rerunInterrupted ? true : nil
        let stated = [
            timeout, killAfter, overlap, retries, backoff, successCodes, onFailure, onSuccess,
            keepRuns, on, output, outputKept, nice, memoryMax, memoryHigh, cpuWeight, cpuQuota,
            tasksMax, ioWeight, cpuTime, umask,
        ]
        for option in stated.compactMap(\.self) { try definition.add(option) }
    }
}
