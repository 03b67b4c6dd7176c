// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

/// What somebody puts into a job neither commands the terminal of who looks at it, nor a shell or
/// the database on its way.
@Suite("Words of others", .timeLimit(.minutes(2)))
struct HarmlessTests {
    /// Sets a title, clears the screen, colours (twice, once in a single character), turns the text
    /// around, overwrites the line, begins a new one.
    private static let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}txet\r\n\u{7f}\u{8}"

    private static func isHarmless(_ text: String) -> Bool {
        !text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x0a: false
            case ..<0x20, 0x7f...0x9f, 0x2028...0x202e, 0x2066...0x2069: true
            default: false
            }
        }
    }

    @Test("No output of timerctl has a control character of somebody else's in it")
    func escapes() async throws {
        try await DaemonProcess.with { daemon in
            let evil = Self.evil
            let payload = JSONValue.string(evil).jsonText
            let added = try await daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "a\u{202e}b",
                "--env",
                "X=\(evil)",
                "--user-info",
                payload,
                "--on-failure",
                evil,
                "--",
                "/no/such\(evil)",
                evil
            )
            #expect(added.status == 0, "\(added.errors)")
            let places = ["add", "--in", "1ms", "--cwd", "/\(evil)", "--", "true"]
            #expect(try await daemon.timerctl(places).status == 0)
            #expect(
                try await daemon.timerctl("add", "--in", "1ms", "--user-info", payload).status == 0
            )
            try await daemon.timerctl("fire", "1")
            // Both commands, and what is run when the first has failed.
            let finished = try await daemon.timerctl(
                "watch",
                "--since",
                "0",
                "-n",
                "3",
                "--type",
                "run.finished"
            )
            #expect(finished.status == 0)

            let commands = [
                ["list"], ["list", "--all"], ["show", "1"], ["show", "2"], ["show", "3"], ["runs"],
                ["runs", "1"], ["watch", "--since", "0", "-n", "8"], ["status"], ["fire", "1"],
                ["pause", "1"], ["resume", "1"], ["skip", "1"], ["set-fire-date", "1", "+2h"],
                ["set-fire-date", "1", evil], ["show", "--name", evil], ["logs", "--name", evil],
                ["fire", "--name", evil], ["pause", "--tag", evil], ["runs", "--name", evil],
                ["kill", evil], ["show", evil], ["list", "--state", evil], [evil],
                ["list", "--\(evil)"],
                ["add", "--every", evil], ["add", "--cron", evil], ["add", "--calendar", evil],
                ["add", "--in", "1h", "--name", evil], ["add", "--in", "1h", "--tag", evil],
                ["add", "--in", "1h", "--user-info", evil], ["add", "--in", "1h", "--cwd", evil],
                ["add", "--at", evil], ["add", "--cron", "@daily", "--tz", evil], ["next", evil],
                ["explain", evil], ["list", "--socket", "/\(evil)"], ["invalidate", "1"],
            ]
            for command in commands {
                let answer = try await daemon.timerctl(command)
                let name = command.joined(separator: " ").debugDescription
                #expect(
                    Self.isHarmless(answer.output),
                    "\(name): \(answer.output.debugDescription)"
                )
                #expect(
                    Self.isHarmless(answer.errors),
                    "\(name): \(answer.errors.debugDescription)"
                )
                #expect(!(answer.output + answer.errors).isEmpty, "\(name)")
            }
        }
    }

    @Test(
        "What is SQL or shell arrives as it was, and is neither",
        arguments: [
            "'); DROP TABLE jobs; --", "\"; DELETE FROM runs; --", "$(touch FILE)", "`touch FILE`",
            "; touch FILE;", "| touch FILE", "> FILE", "%s%n\\x00\\", "\n\t\u{1b}[2J", "é日\u{202e}",
        ]
    )
    func verbatim(text: String) async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/touched"
            let text = text.replacing("FILE", with: file)
            let payload = JSONValue.string(text)
            try await daemon.timerctl(
                "add",
                "--in",
                "1ms",
                "--user-info",
                payload.jsonText,
                "--env",
                "X=\(text)",
                "--",
                "/bin/sh",
                "-c",
                #"cat; printf '|%s|%s' "$1" "$X""#,
                "sh",
                text
            )
            _ = try await daemon.event(.runFinished)
            let output = try await daemon.timerctl("logs", "1").output
            #expect(output == "\(payload.jsonText)|\(text)|\(text)")
            let job = try await daemon.job(1)
            #expect(job["userInfo"] == payload)
            #expect(job["env"] == .object(["X": .string(text)]))
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }
}
