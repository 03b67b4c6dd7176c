// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Platform
import SystemPackage
import TimerControl

/// `timerctl web`: becomes `timerd-web`, a program of its own, so that this one carries no HTTP.
struct Web: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Serve the page of jobs, runs and dates to this user's browser.",
        discussion: """
            Prints the page's address, which has a token, and opens it. The page listens on 127.0.0.1 \
            alone, may do what you may, and ends with Ctrl-C. timerd-web is a program of its own.

            Examples:
              timerctl web
              timerctl web --port 8080 --no-open
            """
    )

    @Option(
        parsing: .unconditional,
        help: "The port of 127.0.0.1 to listen on; any that is free unless said.",
        transform: wholeNumber("--port", "from 1 to 65535")
    )
    var port: UInt16?

    @Flag(help: "Print the address alone, without opening it.")
    var noOpen = false

    @Option(
        help: ArgumentHelp("The daemon's socket, as of the other commands.", valueName: "path"),
        completion: .file()
    )
    var socket: String?

    /// What timerd-web is started with.
    var words: [String] {
        var words = ["timerd-web"]
        if !noOpen { words.append("--open") }
        if let port { words += ["--port", "\(port)"] }
        if let socket { words += ["--socket", socket] }
        return words
    }

    func run() throws {
        var arguments = words.map { strdup($0) } + [nil]
        defer { for word in arguments { free(word) } }
        let beside = Self.folder.map { $0 + "/timerd-web" }
        Spawn.closeOthers()
        // Each returns only where it fails.
        if let beside { execv(beside, &arguments) }
        if beside == nil || errno == ENOENT { execvp("timerd-web", &arguments) }
        let error = Errno(rawValue: errno)
        guard error == .noSuchFileOrDirectory else {
            throw Failure(.inputOutput, "cannot start timerd-web: \(error.text)")
        }
        throw Failure(
            .refused,
            "there is no timerd-web \(Self.folder.map { "in '\($0)', nor " } ?? "")in PATH; it is the "
                + "package timerd-web, and 'make web' builds it"
        )
    }

    /// Where this program is; nil where /proc does not say.
    private static var folder: String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        guard count > 0 else { return nil }
        let path = String(decoding: bytes[..<count], as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }
}
