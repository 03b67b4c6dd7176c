// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// Jobs that root adds for others: `--user`.
@Suite("Jobs for another user", .timeLimit(.minutes(2)), .enabled(if: geteuid() == 0))
struct ForUserTests {
    @Test("Root's jobs for a user belong to that user and run as that user, however they are added")
    func root() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let out = ann.home + "/out"
            let shell = ["--shell", "id -un >> '\(out)'"]
            let user = ["--user", ann.name]
            for words in [
                ["add", "--every", "1h", "--name", "one"] + user + shell,
                ["every", "1h", "--name", "two"] + user + shell,
                ["at", "now + 1 hour", "--name", "three"] + user + shell,
                ["copy", "1", "four"] + user,
            ] {
                let added = try await daemon.timerctl(words)
                #expect(added.status == 0, "\(words): \(added.errors)")
            }
            let listed = try await daemon.timerctl(as: ann, "list", "--json")
            for name in ["one", "two", "three", "four"] {
                #expect(listed.output.contains(#""name":"\#(name)""#))
                let fired = try await daemon.timerctl(as: ann, "fire", "--wait", name)
                #expect(fired.status == 0, "\(fired.errors)")
            }
            let text = try String(contentsOfFile: out, encoding: .utf8)
            #expect(text == String(repeating: ann.name + "\n", count: 4))
            let tab = daemon.folder + "/tab"
            try "0 3 * * * true nightly\n".write(toFile: tab, atomically: true, encoding: .utf8)
            let imported = try await daemon.timerctl(["import", "crontab", tab] + user)
            #expect(imported.status == 0, "\(imported.errors)")
            #expect(try await daemon.timerctl(as: ann, "list", "--json").output.contains("nightly"))
            #expect(try await daemon.timerctl("list", "--owner", "root", "--json").output == "")
            let tried = try await daemon.timerctl(
                ["add", "--in", "1h", "--dry-run"] + user + shell
            )
            #expect(tried.status == 0, "\(tried.errors)")
        }
    }

    @Test(
        "Nothing of an owner who is no user here is an error, of any other an empty list",
        arguments: [["runs", "--failed"], ["list"], ["agenda"], ["timeline"]]
    )
    func misspeltOwner(words: [String]) async throws {
        try await DaemonProcess.with { daemon in
            let misspelt = try await daemon.timerctl(words + ["--owner", "rooot"])
            #expect(misspelt.status == 1 && misspelt.output == "")
            #expect(
                misspelt.errors.hasSuffix("and no user is called 'rooot' here\n"),
                "\(misspelt.errors)"
            )
            let idle = try await daemon.timerctl(words + ["--owner", "daemon"])
            #expect(idle.status == 0 && idle.output == "", "\(idle.errors)")
            #expect(try await daemon.timerctl(words + ["--owner", "54321"]).status == 0)
        }
    }

    @Test(
        "Anybody else is refused with 77, as is a user whom the daemon does not serve; one who is not there with 65"
    )
    func refused() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            for words in [["add", "--in", "1h"], ["every", "1h"], ["at", "now + 1 hour"]] {
                let added = try await daemon.timerctl(
                    as: ann.uid,
                    words + ["--user", ben.name, "--", "true"]
                )
                #expect(added.status == 77, "\(added)")
                #expect(
                    added.errors == "timerctl: --user is for root; without it the job is yours\n"
                )
            }
            let unknown = try await daemon.timerctl(
                "add",
                "--in",
                "1h",
                "--user",
                "nobody-here",
                "--",
                "true"
            )
            #expect(unknown.status == 65)
            #expect(unknown.errors == "timerctl: --user 'nobody-here': there is no such user\n")
            _ = await daemon.end(SIGTERM)
            let settings = daemon.folder + "/timerd.json"
            try #"{"deny": ["\#(ben.name)"]}"#.write(
                toFile: settings,
                atomically: true,
                encoding: .utf8
            )
            try await daemon.start(["--config", settings])
            let denied = try await daemon.timerctl(
                "add",
                "--in",
                "1h",
                "--user",
                ben.name,
                "--",
                "true"
            )
            #expect(denied.status == 77, "\(denied)")
            _ = await daemon.end(SIGTERM)
            #expect(try await daemon.timerctl("list", "--json").status == 69)
            daemon.endRunner()
            // Her own daemon serves her alone.
            let own = DaemonProcess(folder: ann.home)
            try await own.start(
                through: [
                    "setpriv", "--reuid=\(ann.uid)", "--regid=\(ann.gid)", "--clear-groups", "--",
                ]
                    + ["env", "HOME=\(ann.home)"]
            )
            let other = try await own.timerctl(
                "add",
                "--in",
                "1h",
                "--user",
                ben.name,
                "--",
                "true"
            )
            #expect(other.status == 77 && other.errors.contains("--user '\(ben.name)'"), "\(other)")
            let hers = try await own.timerctl("add", "--in", "1h", "--user", ann.name, "--", "true")
            #expect(hers.status == 0, "\(hers)")
            _ = await own.end(SIGTERM)
            own.endRunner()
            try await daemon.start()
        }
    }
}
