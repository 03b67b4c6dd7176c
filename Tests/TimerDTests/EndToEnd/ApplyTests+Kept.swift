// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

/// What an apply leaves as it is: keys of jobs that are over, and userInfo.
extension ApplyTests {
    @Test("A job with a key is added again where it was ended, and not where it is over")
    func keys() async throws {
        try await DaemonProcess.with { daemon in
            let job = "{every: 1h, key: K, command: [\"true\"]"
            let file = try write("label: a\njobs: {nightly: \(job)}}", "a.yaml", daemon)
            let none = try write("label: a\njobs: {}", "none.yaml", daemon)
            for id in [1, 2] {
                let added = try await daemon.timerctl("apply", "-f", file)
                #expect(added.errors == "a: 1 added, 0 changed, 0 removed, 0 unchanged\n")
                #expect(try await daemon.job(id)["state"] == .string("scheduled"))
                try await daemon.timerctl("apply", "-f", none, "--allow-empty")
            }

            // A live job of another name is in the way: nothing is done.
            try await daemon.timerctl("add", "--every", "1h", "--key", "L", "--name", "mine")
            let taken = try write(
                "label: a\njobs: {nightly: {every: 1h, key: L}, b: {every: 1h}}",
                "taken.yaml",
                daemon
            )
            for arguments in [["--dry-run"], [], ["--json"]] {
                let refused = try await daemon.timerctl(["apply", "-f", taken] + arguments)
                #expect(refused.status == 1 && refused.output == "", "\(refused.output)")
                #expect(
                    refused.errors
                        == "timerctl: \(taken):2:8: job 3 (mine) has the key 'L', which stands for one job; "
                        + "'nightly' cannot be added\n"
                )
            }

            // One that is over has done what the key stands for.
            let over = try write("label: a\njobs: {nightly: \(job), count: 1}}", "o.yaml", daemon)
            try await daemon.timerctl("apply", "-f", over)
            #expect(try await daemon.timerctl("fire", "--wait", "nightly").status == 0)
            let other = try write("label: a\njobs: {nightly: \(job), count: 2}}", "p.yaml", daemon)
            let note =
                "note: \(other):2:8: job 4 (nightly) had the key 'K' and is over; "
                + "'nightly' is not added\n"
            let tried = try await daemon.timerctl("apply", "-f", other, "--dry-run", "--exit-code")
            #expect(tried.status == 0 && tried.errors == note, "\(tried)")
            #expect(tried.output == "a: 0 to add, 0 to change, 0 to remove, 1 unchanged\n")
            let done = try await daemon.timerctl("apply", "-f", other, "--json")
            #expect(done.status == 0 && done.errors == note && done.output == "", "\(done)")
            let both = try write(
                "label: a\njobs: {nightly: \(job), count: 2}, b: {every: 1h, key: M}}",
                "q.yaml",
                daemon
            )
            let one = try await daemon.timerctl("apply", "-f", both)
            #expect(one.status == 0, "\(one)")
            #expect(one.errors.hasSuffix("a: 1 added, 0 changed, 0 removed, 1 unchanged\n"))
        }
    }

    @Test("A file of export, applied or edited, leaves userInfo as it was written")
    func userInfo() async throws {
        try await DaemonProcess.with { daemon in
            let text = #"{"z":12345678901234567890,"a":1.0,"n":-0,"price":19.90,"t":"\n"}"#
            try await daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "a",
                "--user-info",
                text,
                "--",
                "cat"
            )
            func stored() async throws -> String {
                try await daemon.timerctl("show", "a", "--json").output
            }
            for options in [[], ["--json"]] {
                let export = try await daemon.timerctl(["export"] + options)
                let file = try write(export.output, "e.yaml", daemon)
                let arguments = [
                    "apply", "-f", file, "--label", options.isEmpty ? "x" : "y", "--adopt",
                ]
                let applied = try await daemon.timerctl(arguments)
                #expect(applied.status == 0 && !applied.output.contains("userInfo"), "\(applied)")
                #expect(applied.errors.contains("1 changed"), "the label")
                #expect(try await stored().contains("\"userInfo\":\(text)"))
            }
            let editor = try write(
                "#!/bin/sh\nsed -i 's/^every: .*/every: 2h/' \"$1\"\n",
                "ed",
                daemon
            )
            chmod(editor, 0o755)
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket, "VISUAL": editor])
            let edited = try await shell("timerctl edit a")
            #expect(edited.isDone && edited.errors.contains("every: 1h -> 2h"), "\(edited.errors)")
            #expect(try await stored().contains("\"userInfo\":\(text)"))
        }
    }

    @Test("A one-shot that was moved has its new date in a file; what no file can say is told")
    func moved() async throws {
        try await DaemonProcess.with { daemon in
            let date = "2099-01-01T00:00:00.000000Z"
            try await daemon.timerctl("at", "+1h", "--name", "once", "--event")
            try await daemon.timerctl("set-fire-date", "once", date)
            for words in [
                ["five", "--cron", "0 5 * * *"],
                ["hours", "--every", "1h", "--from", "2026-01-01"],
            ] {
                let added = try await daemon.timerctl(["add", "--event", "--name"] + words)
                #expect(added.status == 0, "\(added.errors)")
            }
            try await daemon.timerctl("skip", "2", "-n", "3")
            try await daemon.timerctl("set-fire-date", "3", date)
            let exported = try await daemon.timerctl("export")
            #expect(exported.output.contains(#"at: "\#(date)""#), "\(exported.output)")
            #expect(
                exported.errors
                    == "note: the file does not say that the next date was moved, or dates ahead were "
                    + "dropped: jobs 2, 3\n"
            )
            let file = try write(exported.output, "moved.yaml", daemon)
            let adopted = try await daemon.timerctl(
                "apply",
                "-f",
                file,
                "--label",
                "web",
                "--adopt"
            )
            #expect(adopted.status == 0, "\(adopted.errors)")
            #expect(try await daemon.job(1)["fireDate"] == .string(date))
            let again = try await daemon.timerctl(
                "apply",
                "-f",
                file,
                "--label",
                "web",
                "--dry-run",
                "--exit-code"
            )
            #expect(again.status == 0, "\(again.output)\(again.errors)")
            try await daemon.timerctl("invalidate", "once")
            #expect(
                try await daemon.timerctl("apply", "-f", file, "--label", "web").status == 0
            )
            #expect(try await daemon.job(4)["fireDate"] == .string(date))
        }
    }
}
