// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

@Suite("edit", .timeLimit(.minutes(2)))
struct EditTests {
    /// Runs `timerctl edit` with an editor that is a script: it gets the text's path, and a count of its calls.
    private func edit(
        _ job: String,
        _ script: String,
        _ daemon: DaemonProcess,
        behind prelude: String = ""
    ) async throws -> Shell.Answer {
        let editor = daemon.folder + "/editor"
        let count = daemon.folder + "/calls"
        try "#!/bin/sh\necho x >>\(count); calls=$(wc -l <\(count)); page=$1\n\(script)\n"
            .write(toFile: editor, atomically: false, encoding: .utf8)
        chmod(editor, 0o755)
        try? FileManager.default.removeItem(atPath: count)
        let shell = Shell(variables: [
            "TIMERD_SOCKET": daemon.socket, "VISUAL": editor, "TMPDIR": daemon.folder,
        ])
        return try await shell("\(prelude) timerctl edit \(job)")
    }

    /// All files that an edit has left.
    private func editing(_ daemon: DaemonProcess) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: daemon.folder)
            .filter { $0.hasPrefix("timerctl-") }
    }

    private func kept(_ daemon: DaemonProcess) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: daemon.folder)
            .filter { $0.hasSuffix(".yaml") }
    }

    @Test("What is saved is what the job is from then on; it keeps its id and its history")
    func saved() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "tick",
                "--timeout",
                "5s",
                "--",
                "echo",
                "old"
            )
            #expect(try await daemon.timerctl("fire", "--wait", "tick").status == 0)
            let script = """
                [ "$(stat -c %a "$page")" = 600 ] || exit 9
                sed -i 's/^timeout: .*/timeout: 9s/; s/old/new/; s/^name: .*/name: tock/' "$page"
                """
            let edited = try await edit("tick", script, daemon)
            #expect(edited.isDone, "\(edited.errors)")
            #expect(edited.output == "job 1 (tock): changed\n")
            #expect(edited.errors.contains("    name: tick -> tock\n"))
            #expect(edited.errors.contains("    timeout: 5s -> 9s\n"))
            #expect(edited.errors.contains("    command: echo old -> echo new\n"))
            #expect(edited.errors.contains("next fire in "))
            let job = try await daemon.job(1)
            #expect(job["name"] == .string("tock") && job["timeout"] == .string("9s"))
            #expect(job["revision"] == .integer(2))
            #expect(try await daemon.timerctl("logs", "tock").output == "old\n")
            #expect(try kept(daemon).isEmpty)
            let same = try await edit("tock", "true", daemon)
            #expect(same.isDone && same.errors == "job 1 (tock): no changes\n")
            #expect(try await daemon.job(1)["revision"] == .integer(2))
        }
    }

    @Test("An editor has descriptors 0, 1 and 2 alone, and so has a crontab's")
    func descriptors() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "tick", "--", "true")
            // ls(1) has the folder open beside them.
            let edited = try await edit("tick", "ls -m /proc/self/fd >\(daemon.folder)/fds", daemon)
            #expect(edited.isDone, "\(edited.errors)")
            let fds = { try String(contentsOfFile: daemon.folder + "/fds", encoding: .utf8) }
            #expect(try fds() == "0, 1, 2, 3\n")
            try "".write(toFile: daemon.folder + "/fds", atomically: false, encoding: .utf8)
            let shell = Shell(variables: [
                "TIMERD_SOCKET": daemon.socket, "VISUAL": daemon.folder + "/editor",
                "TMPDIR": daemon.folder,
            ])
            #expect(try await shell("timerctl crontab -e").isDone)
            #expect(try fds() == "0, 1, 2, 3\n")
        }
    }

    /// For timerctl a file of more than so many blocks of 512 bytes is as a full disk.
    private func limit(_ blocks: Int) -> String { "trap '' XFSZ; ulimit -S -f \(blocks);" }

    @Test("Where the text cannot be written, no file is left of it")
    func noRoom() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "tick", "--", "true")
            let edited = try await edit("tick", "exit 9", daemon, behind: limit(0))
            #expect(edited.status == 74)
            let words = " cannot be written: file too large\n"
            #expect(edited.errors.hasSuffix(words), "\(edited.errors)")
            #expect(try kept(daemon).isEmpty)
            #expect(try editing(daemon).isEmpty)
        }
    }

    @Test("Where there is no room for its mistakes, a text is kept as it was saved")
    func noRoomForMistakes() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "tick", "--", "true")
            let script = """
                ulimit -S -f unlimited
                sed -i 's/^every: .*/every: soon/' "$page"
                for number in $(seq 2000); do echo "# remark $number" >>"$page"; done
                """
            let edited = try await edit("tick", script, daemon, behind: limit(16))
            #expect(edited.status == 74, "\(edited.errors)")
            let words = " cannot be written: file too large; "
            #expect(edited.errors.contains(words), "\(edited.errors)")
            let name = try #require(try kept(daemon).first)
            let text = try String(contentsOfFile: daemon.folder + "/" + name, encoding: .utf8)
            #expect(text.contains("\nevery: soon\n") && text.hasSuffix("# remark 2000\n"))
            #expect(try editing(daemon) == [name])
        }
    }

    @Test("A mistake opens the editor again, with the reason and the line of it above the text")
    func mistaken() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "tick", "--", "true")
            let script = """
                case $calls in
                1) sed -i 's/^every: .*/every: soon/' "$page" ;;
                2) grep "^#: line" "$page" >\(daemon.folder)/said
                   line=$(sed -n 's/^#: line \\([0-9]*\\):.*/\\1/p' "$page")
                   sed -n "${line}p" "$page" >>\(daemon.folder)/said
                   sed -i 's/^every: .*/every: 2h/' "$page" ;;
                esac
                """
            let edited = try await edit("tick", script, daemon)
            #expect(edited.isDone, "\(edited.errors)")
            let said = try String(contentsOfFile: daemon.folder + "/said", encoding: .utf8)
            #expect(said.contains("'every' is 'soon'") || said.contains("'soon'"), "\(said)")
            #expect(said.hasSuffix("\nevery: soon\n"), "\(said)")
            #expect(try await daemon.job(1)["schedule"]?["every"] == .string("2h"))
            // What the daemon alone can know opens it again, too.
            try await daemon.timerctl("add", "--every", "1h", "--name", "taken", "--", "true")
            let refused = """
                case $calls in
                1) sed -i 's/^name: .*/name: taken/' "$page" ;;
                2) grep -q "^#: job 2 has the name 'taken'" "$page" || exit 7
                   sed -i 's/^name: .*/name: free/' "$page" ;;
                esac
                """
            let renamed = try await edit("tick", refused, daemon)
            #expect(renamed.isDone, "\(renamed.errors)")
            #expect(try await daemon.job(1)["name"] == .string("free"))
            #expect(try kept(daemon).isEmpty)
        }
    }

    @Test("Who gives up, or whose editor fails, has changed nothing and keeps the text")
    func givenUp() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "tick", "--", "true")
            let stuck = try await edit(
                "tick",
                #"sed -i 's/^every: .*/every: soon/' "$page""#,
                daemon
            )
            #expect(stuck.status == 65)
            #expect(
                stuck.errors.contains("nothing was changed; the text is kept in \(daemon.folder)/")
            )
            #expect(try kept(daemon).count == 1)
            let failed = try await edit("tick", "exit 3", daemon)
            #expect(failed.status == 74)
            #expect(failed.errors.contains("ended with status 3; nothing was changed"))
            #expect(!failed.errors.contains("is kept in"), "\(failed.errors)")
            #expect(try kept(daemon).count == 1, "the text was as it had been written")
            let half = try await edit("tick", #"echo '# x' >>"$page"; exit 3"#, daemon)
            #expect(half.errors.contains("; nothing was changed, and the text is kept in "))
            #expect(try kept(daemon).count == 2)
            let removed = try await edit("tick", #"rm "$page""#, daemon)
            #expect(removed.status == 74)
            #expect(removed.errors.contains("has removed the text"))
            #expect(!removed.errors.contains("is kept in"), "\(removed.errors)")
            #expect(try await daemon.job(1)["revision"] == nil)
            try await daemon.timerctl("invalidate", "tick")
            let ended = try await edit("1", "true", daemon)
            #expect(ended.status == 1 && ended.errors.contains("it is invalidated"))
        }
    }

    @Test("A daemon that another one follows while the editor is open has the change all the same")
    func restarted() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "tick", "--", "true")
            let (begun, gate) = (FileGate(daemon, "begun"), FileGate(daemon, "gate"))
            async let edited = edit(
                "tick",
                "touch \(begun.path); \(gate.wait); sed -i 's/^every: .*/every: 2h/' \"$page\"",
                daemon
            )
            try await eventually("the editor is open") {
                FileManager.default.fileExists(atPath: begun.path)
            }
            await daemon.end(SIGKILL)
            try await daemon.start()
            gate.open()
            let answer = try await edited
            #expect(answer.isDone, "\(answer.errors)")
            #expect(try await daemon.job(1)["schedule"]?["every"] == .string("2h"))
        }
    }

    @Test("What is no map of fields is told with what it is", arguments: ["", "5", "[a]"])
    func shapeless(text: String) async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "tick", "--", "true")
            let answer = try await edit("tick", "printf '%s' '\(text)' >\"$page\"", daemon)
            #expect(answer.status == 65)
            let kind = ["": "empty", "5": "'5'", "[a]": "a list"][text] ?? ""
            #expect(
                answer.errors.contains("the text is \(kind), accepted is a map of a job's fields"),
                "\(answer.errors)"
            )
        }
    }

    @Test("Two who edit a job at once do not overwrite each other")
    func together() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "tick", "--", "true")
            let script = """
                timerctl change tick --timeout 7s >/dev/null || exit 8
                sed -i 's/^every: .*/every: 2h/' "$page"
                """
            let edited = try await edit("tick", script, daemon)
            #expect(edited.status == 1)
            #expect(
                edited.errors.contains(
                    "job 1 (tick) was changed by another request: it has revision 2, and this change "
                        + "was made of 1; nothing was done"
                ),
                "\(edited.errors)"
            )
            #expect(edited.errors.contains("; the text is kept in \(daemon.folder)/"))
            let job = try await daemon.job(1)
            #expect(job["timeout"] == .string("7s"))
            #expect(job["schedule"]?["every"] == .string("1h"))
        }
    }

    @Test("A job without a name, a paused one and one with a label stay what they are")
    func special() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--", "true")
            try await daemon.timerctl("pause", "1")
            let edited = try await edit("1", #"echo 'nice: 3' >>"$page""#, daemon)
            #expect(edited.isDone, "\(edited.errors)")
            #expect(edited.errors == "    nice: (none) -> 3\nit is paused\n")
            let job = try await daemon.job(1)
            #expect(job["name"] == nil && job["state"] == .string("paused"))
            let file = daemon.folder + "/web.yml"
            try "label: web\njobs:\n  ping: {every: 1h, command: [ping], tags: [net]}\n"
                .write(toFile: file, atomically: false, encoding: .utf8)
            #expect(try await daemon.timerctl("apply", "-f", file).status == 0)
            let script = """
                grep -q "^#: It has the label 'web'" "$page" || exit 7
                echo 'nice: 3' >>"$page"
                """
            #expect(try await edit("ping", script, daemon).isDone)
            let ping = try await daemon.job(2)
            #expect(ping["tags"] == .array([.string("net"), .string("applied:web")]))
        }
    }
}
