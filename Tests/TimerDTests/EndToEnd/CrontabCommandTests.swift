// SPDX-License-Identifier: Apache-2.0

import Foundation
import Subprocess
import Testing

@testable import TimerD

@Suite("crontab", .timeLimit(.minutes(5)))
struct CrontabCommandTests {
    /// `timerctl crontab -e` with an editor that is a script, which gets the file as `$1`.
    private func edit(_ daemon: DaemonProcess, _ script: String) async throws -> Shell.Answer {
        let editor = daemon.folder + "/editor"
        try script.write(toFile: editor, atomically: false, encoding: .utf8)
        return try await shell(daemon, "timerctl crontab -e", ["EDITOR": "sh \(editor)"])
    }

    private func shell(
        _ daemon: DaemonProcess,
        _ command: String,
        _ variables: [Environment.Key: String] = [:]
    ) async throws -> Shell.Answer {
        let own: [Environment.Key: String] = [
            "TIMERD_SOCKET": daemon.socket, "TMPDIR": daemon.folder, "NO_COLOR": "1",
        ]
        let all = own.merging(variables) { $1 }
        return try await Shell(variables: all, folder: daemon.folder)(command)
    }

    @Test("A comment that is not UTF-8 keeps no crontab out, and a line that is not is named")
    func notUTF8() async throws {
        try await DaemonProcess.with { daemon in
            let file = URL(filePath: daemon.folder + "/tab")
            let comment = Array("# caf".utf8) + [0xe9, 0x0a]
            try Data(comment + Array("1 2 * * * true\n".utf8)).write(to: file)
            let installed = try await shell(daemon, "timerctl crontab tab")
            #expect(installed.status == 0, "\(installed.errors)")
            #expect(installed.errors.contains("1 comment is not kept"), "\(installed.errors)")
            #expect(try await daemon.job(1)["name"] == .string("true"))
            try Data(comment + Array("1 3 * * * echo ".utf8) + [0xe9, 0x0a]).write(to: file)
            let refused = try await shell(daemon, "timerctl crontab tab")
            #expect(refused.status == 65)
            #expect(
                refused.errors.contains("line 2, ") && refused.errors.contains("it is not UTF-8")
            )
            #expect(try await daemon.job(1)["state"] == .string("scheduled"))
        }
    }

    @Test("A daemon that another one follows while the editor is open has the changes all the same")
    func restarted() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--cron", "1 2 * * *", "--name", "one", "--", "true")
            let (begun, gate) = (FileGate(daemon, "begun"), FileGate(daemon, "gate"))
            async let edited = edit(
                daemon,
                "touch \(begun.path); \(gate.wait); sed -i 's/^1 2 /1 3 /' \"$1\""
            )
            try await eventually("the editor is open") {
                FileManager.default.fileExists(atPath: begun.path)
            }
            await daemon.end(SIGKILL)
            try await daemon.start()
            gate.open()
            let answer = try await edited
            #expect(answer.status == 0, "\(answer.errors)")
            #expect(try await daemon.timerctl("show", "one").output.contains("cron 1 3 * * *"))
        }
    }

    @Test("A line that is taken out does not end a job that was changed while the editor was open")
    func changedMeanwhile() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--cron", "1 2 * * *", "--name", "one", "--", "true")
            let (begun, gate) = (FileGate(daemon, "begun"), FileGate(daemon, "gate"))
            async let edited = edit(
                daemon,
                "touch \(begun.path); \(gate.wait); sed -i '/^1 2 /d; /^#: /d' \"$1\""
            )
            try await eventually("the editor is open") {
                FileManager.default.fileExists(atPath: begun.path)
            }
            let changed = try await daemon.timerctl("change", "one", "--cron", "1 4 * * *")
            #expect(changed.status == 0, "\(changed.errors)")
            gate.open()
            let answer = try await edited
            #expect(answer.status == 1)
            #expect(answer.errors.contains("was changed by another request"), "\(answer.errors)")
            #expect(answer.errors.contains("the text is kept in "))
            #expect(try await daemon.timerctl("show", "one").output.contains("cron 1 4 * * *"))
        }
    }

    @Test("Edited, it adds, changes and ends, all or nothing, and undo brings back what was ended")
    func edit() async throws {
        try await DaemonProcess.with { daemon in
            for (name, minute) in [("one", "1"), ("two", "2")] {
                let added = try await daemon.timerctl(
                    "add",
                    "--cron",
                    "\(minute) 2 * * *",
                    "--name",
                    name,
                    "--timeout",
                    "5min",
                    "--",
                    "true",
                    name
                )
                #expect(added.status == 0)
            }
            let list = try await daemon.timerctl("crontab", "-l")
            #expect(list.output.contains("#: 1 one; UTC; also timeout\n1 2 * * * true one\n"))
            let edited = try await edit(
                daemon,
                "sed -i 's/^1 2 /1 3 /; /^2 2 /d; 1i 5 5 * * * echo new' \"$1\""
            )
            #expect(edited.status == 0, "\(edited.errors)")
            for line in [
                "+ 5 5 * * * echo new", "~ job 1 (one)", " -> 1 3 * * * true one", "- job 2 (two)",
            ] { #expect(edited.output.split(separator: "\n").contains(Substring(line)), "\(line)") }
            #expect(edited.errors.contains("1 added, 1 changed, 1 ended; 'timerctl undo' brings"))
            let one = try await daemon.timerctl("show", "one").output
            #expect(one.contains("cron 1 3 * * * UTC") && one.contains("5min"), "\(one)")
            #expect(try await daemon.timerctl("undo").output.hasPrefix("job 2 (two): next fire"))
            // What is not accepted is asked for again, and the text is kept.
            let wrong = try await edit(daemon, "sed -i 's/^1 3 /61 3 /; /^2 2 /d' \"$1\"")
            #expect(wrong.status == 65)
            #expect(wrong.errors.contains("job 1 (one), '61 3 * * * true one': "))
            #expect(wrong.errors.contains("nothing was changed; the text is kept in "))
            #expect(try await daemon.timerctl("show", "two").output.contains("scheduled"))
            // Each time another mistake, and nobody at a terminal who could give up.
            let endless = try await edit(daemon, "echo '61 * * * * bad' >>\"$1\"")
            #expect(endless.status == 65)
            #expect(endless.errors.contains("was asked 5 times, and the text still has mistakes"))
            let same = try await edit(daemon, "true")
            #expect(same.status == 0 && same.errors == "no changes\n")
        }
    }

    @Test("A crontab from a file takes the place of the one before, and of no other job")
    func file() async throws {
        try await DaemonProcess.with { daemon in
            let other = try await daemon.timerctl("add", "--cron", "9 9 * * *", "--", "mine")
            #expect(other.status == 0)
            func install(_ text: String, _ options: String = "") async throws -> Shell.Answer {
                try await shell(
                    daemon,
                    "printf '%s\\n' \"$TEXT\" | timerctl crontab \(options) -",
                    ["TEXT": text]
                )
            }
            let first = try await install("# mine\nMAILTO=ann\n1 2 * * * echo a\n2 2 * * * echo b")
            #expect(first.status == 0, "\(first.errors)")
            #expect(first.errors.contains("note: 1 comment is not kept"))
            #expect(first.errors.contains("2 added, 0 changed, 0 ended"))
            let second = try await install("2 2 * * * echo b\n3 2 * * * echo c", "--dry-run")
            // The MAILTO of the one before is gone.
            #expect(
                second.errors.contains("1 would be added, 1 would be changed, 1 would be ended")
            )
            #expect(
                try await daemon.timerctl("list", "--json").output.split(separator: "\n").count == 3
            )
            let third = try await install("2 2 * * * echo b\n3 2 * * * echo c")
            #expect(third.errors.contains("1 added, 1 changed, 1 ended"))
            let list = try await shell(
                daemon,
                "timerctl crontab -l > mine; timerctl crontab mine; sed -i '/mine/d' mine; timerctl crontab mine"
            )
            #expect(list.errors.hasPrefix("no changes\n"))
            #expect(list.errors.contains("0 added, 0 changed, 1 ended"), "it is of the list")
            let none = try await daemon.timerctl("crontab", "-r")
            #expect(none.errors.contains("0 added, 0 changed, 2 ended"))
            #expect(try await daemon.timerctl("crontab", "-l").errors.hasPrefix("no job of"))
            #expect(try await daemon.timerctl("crontab").status == 64)
        }
    }

    @Test(
        "A crontab that is installed by several at once has each line once",
        arguments: ["crontab", "import crontab"]
    )
    func atOnce(command: String) async throws {
        try await DaemonProcess.with { daemon in
            // Without a name, which two jobs could not have.
            let lines = "0 5 * * * : >/dev/null\n0 6 * * * test -e /x\n0 7 * * * echo a\n"
            let file = daemon.folder + "/lines"
            try lines.write(toFile: file, atomically: false, encoding: .utf8)
            let answer = try await shell(
                daemon,
                "for i in 1 2 3 4; do (timerctl \(command) lines || echo failed) & done; wait"
            )
            #expect(answer.isDone && !answer.output.contains("failed"), "\(answer.errors)")
            let list = try await daemon.timerctl("list", "--json")
            #expect(list.output.split(separator: "\n").count == 3, "\(answer.errors)")
        }
    }

    @Test("A crontab that is longer than a request is taken, all of it or nothing")
    func large() async throws {
        try await DaemonProcess.with { daemon in
            let long = String(repeating: "x", count: 4000)
            let lines = (0..<300).map { "\($0 % 60) 4 * * * echo \($0) \(long)\n" }.joined()
            let file = daemon.folder + "/large"
            try lines.write(toFile: file, atomically: false, encoding: .utf8)
            let tried = try await daemon.timerctl("crontab", file, "--dry-run")
            #expect(tried.errors.contains("300 would be added, 0 would be changed"))
            #expect(try await daemon.timerctl("list", "--json").output == "")
            let added = try await daemon.timerctl("crontab", file)
            #expect(added.status == 0, "\(added.errors)")
            #expect(added.errors.hasSuffix("300 added, 0 changed, 0 ended\n"))
            #expect(try await daemon.timerctl("crontab", file).errors.hasSuffix("no changes\n"))
            try (lines + "61 4 * * * a\n").write(toFile: file, atomically: false, encoding: .utf8)
            #expect(try await daemon.timerctl("crontab", file).status == 65)
            let ended = try await daemon.timerctl("crontab", "-r", "--json")
            #expect(ended.status == 0 && ended.output.split(separator: "\n").count == 300)
        }
    }

    @Test("Root edits another user's, whose jobs they stay", .enabled(if: geteuid() == 0))
    func user() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            let added = try await shell(
                daemon,
                "echo '1 2 * * * echo a' | timerctl crontab -u \(ann.name) -"
            )
            #expect(added.status == 0, "\(added.errors)")
            let list = try await daemon.timerctl(as: ann.uid, ["crontab", "-l"])
            #expect(list.output.contains("1 2 * * * echo a"))
            let hers = try await daemon.timerctl(as: ben.uid, ["crontab", "-u", ann.name, "-l"])
            #expect(hers.status == 77 && hers.errors.contains("only root"))
            #expect(try await daemon.timerctl(as: ben.uid, ["crontab", "-l"]).output == "")
            // What is ended for her is hers to bring back.
            let ended = try await daemon.timerctl("crontab", "-u", ann.name, "-r")
            #expect(ended.errors.contains("'timerctl undo -u \(ann.name)' brings back"))
            let others = try await daemon.timerctl(as: ben.uid, ["undo", "-u", ann.name])
            #expect(others.status == 77 && others.errors.contains("only root"))
            let undone = try await daemon.timerctl("undo", "-u", ann.name)
            #expect(undone.status == 0, "\(undone.errors)")
            let again = try await daemon.timerctl(as: ann.uid, ["crontab", "-l"])
            #expect(again.output.contains("1 2 * * * echo a"))
        }
    }
}
