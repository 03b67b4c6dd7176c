// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// A user is removed, and another one is given the uid.
@Suite(
    "A uid that is used again, with real users",
    .timeLimit(.minutes(5)),
    .enabled(if: geteuid() == 0)
)
struct UsedUIDCrossings {
    private static func shown(_ daemon: DaemonProcess, _ job: String) async throws -> Job {
        let text = try await daemon.timerctl("show", job, "--json").output
        return try JSONDecoder().decode(Job.self, from: Data(text.utf8))
    }

    /// Waits until the job is held, or is not any more.
    ///
    /// A look comes once a minute, which `HeldOwnersTests` shows; and with each reload, as here.
    private static func wait(_ daemon: DaemonProcess, _ job: String, held: Bool) async throws {
        try await wait(daemon, job) { ($0 != nil) == held }
    }

    private static func wait(
        _ daemon: DaemonProcess,
        _ job: String,
        until isRight: (String?) -> Bool
    ) async throws {
        while try await !isRight(shown(daemon, job).held) {
            try Task.checkCancellation()
            kill(daemon.pid, SIGHUP)
        }
    }

    @Test("Its new user sees and runs nothing of the old one's, who finds all of it again")
    func again() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let file = "\(ann.home)/ran"
            #expect(
                try await daemon.timerctl(
                    as: ann.uid,
                    [
                        "add", "--every", "1s", "--name", "backup", "--tag", "net", "--", "sh",
                        "-c", "id -un >>ran",
                    ]
                ).output == "1\n"
            )
            let event = try await daemon.timerctl(as: ann, "add", "--every", "1s", "--name", "tick")
            #expect(event.output == "2\n")
            while !FileManager.default.fileExists(atPath: file) { try Task.checkCancellation() }
            try await ann.remove()
            // A run may begin by what the user database said a second ago, not later.
            try await Self.wait(daemon, "1", held: true)
            let bob = "\(ann.name)-b"
            try await Tool.run(["useradd", "--uid", "\(ann.uid)", "--home-dir", ann.home, bob])
            do {
                try await seesNothing(daemon, ann, bob, file)
            } catch {
                try await Tool.run(["userdel", "--force", bob])
                throw error
            }
            try await Tool.run(["userdel", "--force", bob])
            try await Tool.run([
                "useradd", "--uid", "\(ann.uid)", "--home-dir", ann.home, ann.name,
            ])
            try await Self.wait(daemon, "1", held: false)
            try await Self.wait(daemon, "2", held: false)
            let runs = try await daemon.runs(["2", "-n", "1000"])
            #expect(runs.contains { $0.reason == .held })
            #expect(try await daemon.timerctl(as: ann, "list").output.contains("backup"))
        }
    }

    private func seesNothing(
        _ daemon: DaemonProcess,
        _ ann: TestUser,
        _ bob: String,
        _ file: String
    ) async throws {
        // For a second the daemon knows nobody of that uid: whoever asks then goes by the number, and what
        // he adds is another's than what he ends later.
        let reason = "'\(ann.name)' (uid \(ann.uid)), who is gone: uid \(ann.uid) is '\(bob)' now"
        try await Self.wait(daemon, "1") { $0 == reason }
        try await Self.wait(daemon, "2") { $0 == reason }
        for words in [["list", "--all"], ["runs"], ["list", "--tag", "net"], ["list", "--held"]] {
            let answer = try await daemon.timerctl(as: ann.uid, words)
            for secret in ["backup", "tick", "ran"] {
                #expect(!answer.output.contains(secret), "\(words): \(answer.output)")
            }
        }
        for words in [["show", "1"], ["logs", "1"], ["invalidate", "1"], ["fire", "2"]] {
            let answer = try await daemon.timerctl(as: ann.uid, words)
            #expect(answer.status != 0, "\(words): \(answer.output)")
        }
        let lines = [
            #"{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"since":0}}"#,
            #"{"jsonrpc":"2.0","id":2,"method":"job.list","params":{"all":true}}"#,
        ]
        let replies = try await daemon.ask(as: ann, lines)
        #expect(replies.allSatisfy { !$0.contains("backup") && !$0.contains("fire.fired") })
        let own = try await daemon.timerctl(
            as: ann,
            "add",
            "--every",
            "1h",
            "--name",
            "backup",
            "--tag",
            "net"
        )
        #expect(own.output == "3\n", "\(own.errors)")
        #expect(try await daemon.timerctl(as: ann, "invalidate", "--tag", "net").status == 0)
        let ran = try String(contentsOfFile: file, encoding: .utf8)
        #expect(!ran.contains(bob))
        #expect(try await daemon.timerctl("show", "2").output.contains(reason))
        #expect(try await daemon.timerctl("list").output.contains("held"))
        #expect(try await daemon.timerctl("doctor").output.contains("who is gone"))
        let status = try await daemon.timerctl("status").output
        #expect(status.contains("2 held"), "\(status)")
    }
}
