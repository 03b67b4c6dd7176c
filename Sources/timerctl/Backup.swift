// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl backup`: a copy of the database while the daemon uses it.
struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the daemon's database to a file, while it is in use.",
        discussion: """
            The daemon writes the copy, complete as of now, one file that only its user can read; \
            it takes its name once it is checked and on disk. 'timerd --restore FILE' puts it back. \
            Of several hosts the one that leads writes it; another refuses, and says which does.

            Examples:
              timerctl backup /var/backups/timerd.db
              timerctl backup --replace ~/timerd.db
            """
    )

    @Argument(
        help: ArgumentHelp("The copy, on the daemon's machine.", valueName: "file"),
        completion: .file()
    )
    var file: String

    @Flag(help: "Replace an earlier backup of that name, or an empty file.")
    var replace = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if file.isEmpty { throw ValidationError("the file's name is empty, accepted is a path") }
    }

    func run() async throws {
        let request = BackUp(file: InputFile.absolutePath(file), replace: replace ? true : nil)
        let answer = try await Progress.show("copying the database") { _ in
            try await Daemon.ask(common, .backUp(request), for: BackUpReply.self)
        }
        let file = Printable.escaped(answer.value.file)
        try Output.write(
            common.json ? answer.jsonLine : "\(file): \(answer.value.bytes) bytes\n",
            done: "\(file) was written"
        )
    }
}
