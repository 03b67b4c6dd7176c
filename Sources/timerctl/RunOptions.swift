// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// How the command of a job is run: the options of `add` that go with a command.
struct RunOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The command, as a line for /bin/sh -c.", valueName: "line")
    )
    var shell: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End a run that takes longer.", valueName: "duration")
    )
    var timeout: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "SIGKILL that long after SIGTERM; default 5s.",
            valueName: "duration"
        )
    )
    var killAfter: String?

    @Option(
        help: ArgumentHelp(
            "A fire while a run is in progress: skip (default), queue, allow or replace.",
            valueName: "policy"
        ),
        completion: .list(JobDefinition.Overlap.allCases.map(\.rawValue)),
        transform: { argument in
            guard let policy = JobDefinition.Overlap(rawValue: argument) else {
                throw ValidationError(
                    "--overlap '\(argument)' is none of skip, queue, allow and replace"
                )
            }
            return policy
        }
    )
    var overlap: JobDefinition.Overlap?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Try a run that failed again, so often.", valueName: "n")
    )
    var retries: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "At most how long before the first retry, doubled up to MAX; default 1s..1h.",
            valueName: "d[..max]"
        )
    )
    var backoff: String?

    @Option(
        help: ArgumentHelp(
            "The exit statuses that are no failure; default 0.",
            valueName: "n,..."
        ),
        transform: { argument in
            try argument.split(separator: ",", omittingEmptySubsequences: false).map { part in
                guard let code = Int32(part), 0...255 ~= code else {
                    throw ValidationError(
                        "--success-codes '\(argument)': '\(part)' is no exit status, 0 to 255"
                    )
                }
                return code
            }
        }
    )
    var successCodes: [Int32]?

    @Option(
        help: ArgumentHelp(
            "A line for /bin/sh -c, run when a fire has failed for good; the run as JSON on stdin.",
            valueName: "line"
        )
    )
    var onFailure: String?

    @Flag(help: "Run again what the daemon's end interrupted.")
    var rerunInterrupted = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The niceness, -20 to 19.", valueName: "n")
    )
    var nice: Int?

    @Option(
        help: ArgumentHelp(
            "The address space of each process at most, such as 512M.",
            valueName: "bytes"
        )
    )
    var memoryMax: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The processor time of each process at most.", valueName: "duration")
    )
    var cpuTime: String?

    @Option(help: ArgumentHelp("The file mode creation mask; default 022.", valueName: "octal"))
    var umask: String?

    /// Sets the options that were given.
    func apply(to definition: inout JobDefinition) {
        if let shell { definition.command = ["/bin/sh", "-c", shell] }
        definition.timeout = timeout
        definition.killAfter = killAfter
        definition.overlap = overlap
        definition.retries = retries
        definition.backoff = backoff
        definition.successCodes = successCodes
        definition.onFailure = onFailure.map { ["/bin/sh", "-c", $0] }
        definition.rerunInterrupted = rerunInterrupted ? true : nil
        definition.nice = nice
        definition.memoryMax = memoryMax
        definition.cpuTime = cpuTime
        definition.umask = umask
    }
}
