// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TimerD

/// What `timerctl` does where another request comes first.
@Suite("Conflicts of commands", .timeLimit(.minutes(3))) struct ConflictCommandTests {
    /// An answer as the daemon's to a change that the jobs do not allow.
    private static let conflict =
        #"{"jsonrpc":"2.0","id":ID,"error":{"code":-32003,"data":{"reason":"conflict"},"#
        + #""message":"no change now"}}"#

    private func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private func jobs(_ daemon: DaemonProcess, _ options: String...) async throws -> Int {
        let list = try await daemon.timerctl(["list", "--json"] + options)
        #expect(list.status == 0, "\(list.errors)")
        return list.output.split(separator: "\n").count
    }

    @Test("A crontab is not tried again on a conflict of jobs that are as they were")
    func lasting() async throws {
        try await DaemonProcess.with { daemon in
            try write("1 2 * * * echo a\n", to: daemon.folder + "/tab")
            let proxy = try ApplyProxy(daemon, ahead: "echo '\(Self.conflict)'")
            let answer = try await proxy("timerctl crontab tab")
            #expect(answer.status == 1)
            #expect(answer.errors.contains("no change now"), "\(answer.errors)")
            #expect(try proxy.askers().count == 1)
            #expect(try await jobs(daemon) == 0)
        }
    }

    @Test("A crontab that begins anew, for the jobs are others, tells each note once, and new ones")
    func notes() async throws {
        try await DaemonProcess.with { daemon in
            try write("# mine\n1 2 * * * echo a\n", to: daemon.folder + "/tab")
            let proxy = try ApplyProxy(
                daemon,
                ahead: """
                    mkdir once 2>&- || exit 0
                    timerctl add --cron '9 9 * * *' --tag crontab:/etc/crontab -- true >&2
                    echo '\(Self.conflict)'
                    """
            )
            let answer = try await proxy("timerctl crontab tab")
            #expect(answer.status == 0, "\(answer.errors)")
            #expect(try proxy.askers().count == 2)
            let notes = answer.errors.split(separator: "\n").filter { $0.contains("note: ") }
            #expect(notes.count { $0.contains("1 comment is not kept") } == 1, "\(notes)")
            #expect(notes.count { $0.contains("1 job that ends came from") } == 1, "\(notes)")
            #expect(answer.errors.contains("1 added, 0 changed, 1 ended"), "\(answer.errors)")
        }
    }

    @Test(
        "Of two that install the same crontab in parts at once each succeeds, and each line is there once",
        arguments: ["crontab", "import crontab"]
    )
    func inParts(command: String) async throws {
        try await DaemonProcess.with { daemon in
            let long = String(repeating: "x", count: 100_000)
            let lines = String(repeating: "0 4 * * * true\n", count: 15)
            try write("A=\(long)\n\(lines)", to: daemon.folder + "/tab")
            // The other finds the parts of this one, and applies them.
            let proxy = try ApplyProxy(
                daemon,
                ahead: "mkdir once 2>&- && timerctl \(command) tab >&2; exit 0"
            )
            let answer = try await proxy("timerctl \(command) tab")
            #expect(answer.status == 0, "\(answer.errors)")
            #expect(try proxy.askers().count == 1, "nothing was left to do")
            #expect(try await jobs(daemon) == 15)
        }
    }

    @Test(
        "An import for several users begins anew for that one whose jobs another has added, and removes nothing",
        .enabled(if: geteuid() == 0)
    )
    func severalUsers() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            let tab = daemon.folder + "/tab"
            try write("0 0 * * * \(ann.name) true\n0 1 * * * \(ben.name) true\n", to: tab)
            let command = "timerctl import crontab --system \(tab)"
            let proxy = try ApplyProxy(
                daemon,
                ahead: "[ $1 = \(ben.uid) ] && mkdir once 2>&- && \(command) >&2; exit 0"
            )
            let answer = try await proxy(command)
            #expect(answer.status == 0, "\(answer.errors)")
            #expect(answer.output == "1\n", "\(answer.errors)")
            #expect(answer.errors.contains("line 2: there already as job 2"), "\(answer.errors)")
            #expect(try proxy.askers() == ["\(ann.uid)", "\(ben.uid)"])
            #expect(try await jobs(daemon, "--all") == 2, "none was removed and added again")
        }
    }
}
