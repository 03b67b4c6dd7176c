// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// What a job does that fires once, on the command line: a command, or a file.
struct ScriptArguments: ParsableArguments {
    @Option(
        name: .customShort("f"),
        help: ArgumentHelp("A file with the script, not standard input.", valueName: "path"),
        completion: .file()
    )
    var file: String?

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after '--'.", valueName: "command")
    )
    var command: [String] = []
}
