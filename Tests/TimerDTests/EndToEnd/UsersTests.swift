// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage
import Testing
import TimerControl

@testable import TimerD

/// A daemon that runs as root, and two users who have nothing to do with each other.
@Suite("Users", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct UsersTests {
    static let ann: UInt32 = 70_001
    static let ben: UInt32 = 70_002

    /// Everything of a job that its owner alone may know.
    private static let secrets = ["secret-name", "secret-payload", "secret-tag", "/secret/folder"]

    private func addSecretJob(_ daemon: DaemonProcess) async throws {
        let added = try await daemon.timerctl(
            as: Self.ann,
            [
                "add", "--every", "1h", "--name", "secret-name", "--tag", "secret-tag",
                "--user-info", #"{"a":"secret-payload"}"#, "--cwd", "/secret/folder", "--", "true",
            ]
        )
        #expect(added.output == "1\n", "\(added.errors)")
    }

    @Test("Another user sees nothing of a job, and can neither move nor end it")
    func crossings() async throws {
        try await DaemonProcess.with { daemon in
            let attributes = try FileManager.default.attributesOfItem(atPath: daemon.socket)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o666)
            try await addSecretJob(daemon)
            let before = try await daemon.timerctl(["show", "1", "--json"]).output
            #expect(Self.secrets.allSatisfy { before.contains($0) })
            let crossings = [
                ["show", "N"], ["invalidate", "N"], ["pause", "N"], ["resume", "N"], ["skip", "N"],
                ["fire", "N"], ["set-fire-date", "N", "+1h"], ["runs", "N"], ["logs", "N"],
            ]
            for words in crossings {
                func ask(_ id: String) async throws -> DaemonProcess.Answer {
                    try await daemon.timerctl(
                        as: Self.ben,
                        words.map { $0 == "N" ? id : $0 }
                    )
                }
                let hers = try await ask("1")
                let none = try await ask("9")
                #expect(hers.status == 1 && none.status == 1, "\(words)")
                #expect(hers.output.isEmpty && none.output.isEmpty, "\(words)")
                #expect(
                    hers.errors.replacing("1", with: "9") == none.errors.replacing("1", with: "9")
                )
            }
            for words in [["show", "--name", "secret-name"], ["fire", "--name", "secret-name"]] {
                #expect(try await daemon.timerctl(as: Self.ben, words).status == 1, "\(words)")
            }
            for words in [["list", "--all"], ["list", "--tag", "secret-tag"], ["runs"]] {
                let list = try await daemon.timerctl(as: Self.ben, words + ["--json"])
                #expect(list.output == "" && list.status == 0, "\(words): \(list.errors)")
            }
            let status = try await daemon.timerctl(as: Self.ben, ["status", "--json"])
            #expect(status.status == 0)
            #expect(!Self.secrets.contains { status.output.contains($0) })
            #expect(!status.output.contains("nextFireDate"))
            #expect(try await daemon.timerctl(["show", "1", "--json"]).output == before)

            let own = try await daemon.timerctl(
                as: Self.ben,
                ["add", "--in", "1h", "--name", "secret-name", "--replace"]
            )
            #expect(own.status == 0, "\(own.errors)")
            #expect(try await daemon.timerctl(["show", "1", "--json"]).output == before)
            #expect(try await daemon.timerctl(["list", "--json"]).output.contains("70002"))
            #expect(try await daemon.timerctl(["invalidate", "1"]).status == 0)
        }
    }

    @Test("A command runs as its owner, whose output nobody else reads")
    func runs() async throws {
        // Only who is in the user database has runs.
        let nobody = try #require(try UserDirectory.system.uid("nobody"))
        let groups = try UserDirectory.system.groups(nobody).map { "\($0)" }
        try await DaemonProcess.with { daemon in
            let add = ["add", "--in", "1h", "--cwd", "/", "--", "/bin/sh", "-c", "id -u; id -G"]
            let added = try await daemon.timerctl(as: nobody, add)
            #expect(added.status == 0, "\(added.errors)")
            let fired = try await daemon.timerctl(as: nobody, ["fire", "1"])
            #expect(fired.status == 0, "\(fired.errors)")
            var runs = ""
            while !runs.contains(#""state":"done""#) {
                try Task.checkCancellation()
                runs = try await daemon.timerctl(as: nobody, ["runs", "1", "--json"]).output
            }
            let output = try await daemon.timerctl(as: nobody, ["logs", "1"]).output
            #expect(output == "\(nobody)\n\(groups.joined(separator: " "))\n", "\(runs)")
            for words in [["logs", "--run", "1"], ["kill", "1"], ["runs", "1"]] {
                let answer = try await daemon.timerctl(as: Self.ben, words)
                #expect(answer.status == 1 && answer.output.isEmpty, "\(words)")
            }
            #expect(try await daemon.timerctl(["logs", "--run", "1"]).output == output)
        }
    }

    @Test("A watcher is sent the events of its own jobs, from the past as from now")
    func watching() async throws {
        try await DaemonProcess.with { daemon in
            try await addSecretJob(daemon)
            #expect(try await daemon.timerctl(as: Self.ann, ["fire", "1"]).status == 0)
            let mine = ["add", "--in", "1h", "--name", "mine"]
            #expect(try await daemon.timerctl(as: Self.ben, mine).status == 0)
            _ = try await run(
                .name("setpriv"),
                arguments: daemon.arguments(as: Self.ben, ["watch", "--since", "0", "--json"]),
                environment: daemon.userEnvironment,
                input: .none,
                output: .sequence,
                error: .discarded
            ) { execution in
                var lines: [String] = []
                for try await line in execution.standardOutput.strings() {
                    lines.append(line)
                    // The past was told: now something for each of them.
                    if lines.count == 1 {
                        _ = try await daemon.timerctl(as: Self.ann, ["pause", "1"])
                        _ = try await daemon.timerctl(as: Self.ben, ["pause", "2"])
                    }
                    if lines.count == 2 { break }
                }
                try execution.send(signal: .kill)
                #expect(lines.first?.contains("job.added") == true, "\(lines)")
                #expect(lines.last?.contains("job.paused") == true, "\(lines)")
                for line in lines {
                    #expect(line.contains(#""name":"mine""#))
                    #expect(!line.contains("owner"))
                }
            }
        }
    }

    @Test("allow and deny decide who comes in, and the configuration file says so")
    func lists() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try #"{"allow": [70001, 70002], "deny": ["70002"], "maxJobsPerUser": 2}"#
                .write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            #expect(try await daemon.timerctl(as: Self.ann, ["list"]).status == 0)
            for uid in [Self.ben, 70_003] {
                let refused = try await daemon.timerctl(as: uid, ["list"])
                #expect(refused.status == 77, "\(refused.errors)")
                #expect(refused.errors.contains("uid \(uid) may not use this daemon"))
            }
            #expect(try await daemon.timerctl(["list"]).status == 0)

            for _ in 1...2 {
                let added = try await daemon.timerctl(as: Self.ann, ["add", "--in", "1h"])
                #expect(added.status == 0)
            }
            let third = try await daemon.timerctl(as: Self.ann, ["add", "--in", "1h"])
            #expect(third.status == 1)
            #expect(third.errors.contains("maxJobsPerUser, which is 2"), "\(third.errors)")
            #expect(try await daemon.timerctl(["add", "--in", "1h"]).status == 0, "root may")
            #expect(try await daemon.timerctl(as: Self.ann, ["invalidate", "1"]).status == 0)
            #expect(try await daemon.timerctl(as: Self.ann, ["add", "--in", "1h"]).status == 0)
        }
    }

    @Test("A wrong setting keeps the daemon from starting, with one line")
    func wrongSetting() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try "{\n\"maxRuns\": 0\n}".write(toFile: file, atomically: false, encoding: .utf8)
            let error = await #expect(throws: DaemonProcess.NotReady.self) {
                try await daemon.start(["--config", file])
            }
            #expect(
                error?.log == "timerd: \(file):2: 'maxRuns' is 0, accepted is "
                    + "a whole number from 1 to 10000\n"
            )
        }
    }

    @Test("A name with control characters or terminal escapes is refused")
    func names() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["a\u{1b}[31m", "a\nb", "a\u{7f}", "\u{9b}2J"] {
                let answer = try await daemon.timerctl(
                    as: Self.ann,
                    ["add", "--in", "1h", "--name", name]
                )
                #expect(answer.status != 0, "\(name.debugDescription)")
                #expect(!answer.errors.dropLast().unicodeScalars.contains { $0.value < 0x20 })
            }
        }
    }
}
