// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// Whether a long answer goes through a pager.
struct PagerOptions: ParsableArguments {
    @Flag(help: "Print a long answer at once, not in a pager.")
    var noPager = false

    /// Writes text to standard output: on a terminal in the user's pager, as git(1) does.
    func write(_ text: String) throws(Failure) {
        guard !noPager, isatty(STDOUT_FILENO) == 1,
            let pager = Pager(environment: Pager.variable, isThere: Pager.isThere),
            pager.show(text)
        else { return try Output.write(text) }
    }
}

/// A program that shows text page by page.
struct Pager: Hashable {
    /// A line for the shell.
    let command: String

    /// The first that is set of TIMERD_PAGER and PAGER, else less(1) where it is there; nil for none, which an empty
    /// one and `cat` mean as well.
    ///
    /// On a dumb terminal, such as a window of Emacs, less would ask for a key before it shows anything.
    init?(environment: (String) -> String?, isThere: (String) -> Bool) {
        let stated = ["TIMERD_PAGER", "PAGER"].lazy.compactMap(environment).first
        let isDumb = Terminal.isDumb(environment("TERM"))
        guard let command = stated ?? (!isDumb && isThere("less") ? "less" : nil),
            !["", "cat"].contains(command)
        else { return nil }
        self.command = command
    }

    static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    static func isThere(_ program: String) -> Bool {
        let folders = (variable("PATH") ?? "/usr/bin:/bin").split(separator: ":")
        return folders.contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    /// Returns once it has ended; false where it could not be run, and has shown nothing.
    func show(_ text: String) -> Bool {
        // What fits on the screen is left there, colours are colours, and the screen is not cleared: git's choice.
        setenv("LESS", "FRX", 0)
        // try?: without a shell the text is written as it is.
        guard let status = try? Spawn.shell(command, reading: text) else { return false }
        // As sh(1) says that it has not found it, or may not run it.
        return ![126, 127].contains(status >> 8 & 0xFF)
    }
}
