// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

@Suite("One crontab by several ways", .timeLimit(.minutes(2)))
struct CrontabSourceTests {
    private func shell(_ daemon: DaemonProcess) -> Shell {
        Shell(
            variables: ["TIMERD_SOCKET": daemon.socket, "NO_COLOR": "1"],
            folder: daemon.folder
        )
    }

    private static let tab = "1 2 * * * echo a\\n@daily true\\n"

    @Test(
        "What one way has brought is not added by another, which warns of it; a copy adds it",
        arguments: ["crontab tab", "import crontab - <tab", "import crontab copy"]
    )
    func again(first: String) async throws {
        try await DaemonProcess.with { daemon in
            let shell = shell(daemon)
            let installed = try await shell(
                "printf '\(Self.tab)' >tab; cp tab copy; timerctl \(first)"
            )
            #expect(installed.isDone, "\(installed.errors)")
            let tag = first.contains("copy") ? "crontab:\(daemon.folder)/copy" : "crontab:-"
            let tried = try await shell("timerctl import crontab --dry-run tab")
            #expect(tried.errors.contains("0 to add, 2 there already"), "\(tried.errors)")
            #expect(tried.output.contains("there already as job 1 (echo) of '"), "\(tried.output)")
            let again = try await shell("echo '5 5 * * * date' >>tab; timerctl import crontab tab")
            #expect(again.isDone && again.output == "3\n", "\(again.errors)")
            let warning =
                "warning: line 1: there already as job 1 (echo) of '\(tag)'; it is not added once "
                + "more, which 'timerctl copy 1 NAME' does\n"
            #expect(again.errors.contains(warning), "\(again.errors)")
            #expect(again.errors.contains("warning: line 2: there already as job 2 (true) of"))
            #expect(try await shell("timerctl copy 1 more").output == "4\n")
            // Each line is one job, whatever its crontab: so the copy stays alone.
            let third = try await shell("timerctl import crontab - <tab")
            #expect(third.isDone && third.output == "", "\(third.errors)")
        }
    }

    @Test(
        "A line that another user's job has is added for its own user",
        .enabled(if: geteuid() == 0)
    )
    func otherUser() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let shell = shell(daemon)
            let user = "--user \(ann.name)"
            let first = try await shell(
                "echo '1 2 * * * true' >tab; cp tab copy; timerctl import crontab tab"
            )
            #expect(first.output == "1\n", "\(first.errors)")
            let hers = try await shell("timerctl import crontab \(user) copy")
            #expect(hers.output == "2\n", "\(hers.errors)")
            let again = try await shell("timerctl import crontab \(user) - <tab")
            #expect(again.isDone && again.output == "", "\(again.errors)")
            // As root's, her command would have root's rights.
            #expect(again.errors.contains("'timerctl copy 2 NAME \(user)'"), "\(again.errors)")
        }
    }
}
