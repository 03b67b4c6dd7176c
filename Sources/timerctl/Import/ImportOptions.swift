// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The options of both kinds of import.
struct ImportOptions: ParsableArguments {
    @Flag(help: "Add nothing: show old and new, with the next five dates of both.")
    var dryRun = false

    @Flag(help: "Add the rest where something cannot be taken over; else nothing is added.")
    var skipRefused = false

    @OptionGroup var common: CommonOptions
}

/// `timerctl import`: takes over a crontab or a systemd timer.
struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take over a crontab or a systemd timer; --dry-run shows what it would become.",
        subcommands: [ImportCrontab.self, ImportSystemd.self]
    )
}
