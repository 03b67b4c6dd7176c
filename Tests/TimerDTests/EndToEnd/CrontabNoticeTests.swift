// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("crontab and notices", .timeLimit(.minutes(2)))
struct CrontabNoticeTests {
    private func shell(_ daemon: DaemonProcess) -> Shell {
        Shell(
            variables: ["TIMERD_SOCKET": daemon.socket, "NO_COLOR": "1"],
            folder: daemon.folder
        )
    }

    @Test("What an import advises for a line without a MAILTO stays with the next crontab")
    func advised() async throws {
        try await DaemonProcess.with { daemon in
            let shell = shell(daemon)
            let imported = try await shell(
                "echo '1 2 * * * echo a' >tab; timerctl import crontab tab"
            )
            let words = try #require(imported.errors.firstMatch(of: /'timerctl (change JOB .*?)'/))
            let advice = words.output.1.replacing("JOB", with: "1")
            #expect(try await shell("timerctl \(advice)").isDone, "\(advice)")
            let again = try await shell("timerctl crontab tab")
            #expect(again.isDone && again.errors.hasSuffix("no changes\n"), "\(again.errors)")
            #expect(try await daemon.job(1)["notifyOn"] == .array([.string("failed")]))
        }
    }

    @Test("What 'change' says of a MAILTO's notices stays until that is gone, which the plan says")
    func mailTo() async throws {
        try await DaemonProcess.with { daemon in
            let shell = shell(daemon)
            let first = try await shell(
                "printf 'MAILTO=ops\\n1 2 * * * echo a\\n' >tab; timerctl crontab tab"
            )
            #expect(first.isDone, "\(first.errors)")
            let changed = try await daemon.timerctl(
                "change",
                "1",
                "--notify-on",
                "failed,succeeded",
                "--notify-every",
                "0s"
            )
            #expect(changed.status == 0, "\(changed.errors)")
            let again = try await shell("timerctl crontab tab")
            #expect(again.isDone && again.errors.hasSuffix("no changes\n"), "\(again.errors)")
            let ended = try await shell("sed -i 1d tab; timerctl crontab tab")
            #expect(
                ended.output == "~ job 1 (echo): with another env; its notices to mail:ops end\n",
                "\(ended.errors)"
            )
            let job = try await daemon.job(1)
            #expect(job["notify"] == nil && job["notifyEvery"] == nil && job["notifyOn"] == nil)
            // An empty one keeps all mail away, whatever was said of it.
            let none = try await shell(
                """
                timerctl change 1 --notify mail:ann --notify-every 0s &&
                    sed -i 1iMAILTO= tab && timerctl crontab tab
                """
            )
            #expect(none.isDone, "\(none.errors)")
            #expect(try await daemon.job(1)["notify"] == .array([.string("none")]))
        }
    }
}
