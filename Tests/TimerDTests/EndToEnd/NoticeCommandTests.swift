// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// Notices by the real programs, from the command line to the place.
@Suite("Notices on the command line", .timeLimit(.minutes(2)))
struct NoticeCommandTests {
    @Test("A failed run is told by the runner, as its owner; one that is not taken is listed")
    func told() async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/told"
            let added = try await daemon.timerctl(
                ["add", "--in", "1ms", "--name", "backup", "--notify", "command:cat > '\(file)'"]
                    + [
                        "--notify", "command:echo busy >&2; exit 75", "--", "sh", "-c",
                        "echo out; exit 3",
                    ]
            )
            #expect(added.status == 0, "\(added.errors)")
            // A line each: the other may be under way still.
            let tried = try await awaited {
                try await daemon.timerctl("notices", "--json").output.split(separator: "\n").first {
                    $0.contains("exit status 75: busy")
                }
            }
            let notice = try JSONValue(parsing: String(tried))
            #expect(notice["attempts"] == .integer(1) && notice["reason"] == .string("failed"))
            let table = try await daemon.timerctl("notices").output
            #expect(table.contains("exit status 75: busy") && table.contains("backup"))
            let document = try await awaited { () -> NoticeDocument? in
                // try?: it may not be there yet, or not whole.
                (try? String(contentsOfFile: file, encoding: .utf8)).flatMap {
                    try? NoticeDocument(stored: $0)
                }
            }
            #expect(document.status == 3 && document.stdout == "out\n")
            #expect(daemon.log.contains("a notice was not handed over; it is tried again"))
        }
    }

    @Test("A command hears of a run that could not begin for want of its files, without these")
    func withoutFiles() async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/told"
            let added = try await daemon.timerctl(
                ["add", "--in", "1ms", "--env-file", "/nonexistent/variables"]
                    + ["--credential", "key:/nonexistent/key"]
                    + ["--notify", "command:cat > '\(file)'", "--", "true"]
            )
            #expect(added.status == 0, "\(added.errors)")
            let document = try await awaited { () -> NoticeDocument? in
                // try?: it may not be there yet, or not whole.
                (try? String(contentsOfFile: file, encoding: .utf8)).flatMap {
                    try? NoticeDocument(stored: $0)
                }
            }
            #expect(document.outcome == .notStarted && document.error?.contains("'key'") == true)
        }
    }

    @Test("A URL is shown nowhere, kept by a change, and refused where nothing is known of it")
    func secrets() async throws {
        try await DaemonProcess.with { daemon in
            let url = "http://ann:secret@127.0.0.1:1/secret?secret"
            _ = try await daemon.timerctl(
                "add",
                "--in",
                "1h",
                "--name",
                "probe",
                "--notify",
                url,
                "--ping",
                url,
                "--",
                "false"
            )
            _ = try await daemon.timerctl("fire", "probe")
            let tried = try await awaited {
                let text = try await daemon.timerctl("notices", "--json").output
                return text.contains("exit status") ? text : nil
            }
            _ = try await daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "hook",
                "--notify",
                url,
                "--",
                "true"
            )
            let changed = try await daemon.timerctl("change", "hook", "--every", "2h")
            #expect(changed.status == 0, "\(changed.errors)")
            let database = try Database(path: daemon.database, mode: .readOnly)
            defer { database.close() }
            let stored = try #require(
                try database.prepare("SELECT definition FROM job_definitions WHERE name = 'hook'")
                    .value(as: String.self)
            )
            #expect(stored.contains("secret?secret") && stored.contains("2h"), "\(stored)")
            let export = try await daemon.timerctl("export")
            for text in [
                tried, export.output, daemon.log,
                try await daemon.timerctl("list", "--all", "--json").output,
                try await daemon.timerctl("show", "probe").output,
                try await daemon.timerctl("watch", "--since", "0", "-n", "3").output,
            ] { #expect(!text.contains("secret"), "\(text)") }
            #expect(export.output.contains("http://127.0.0.1:1/…#"))

            let copied = try await daemon.timerctl("copy", "hook", "other")
            #expect(copied.status == 1)
            #expect(
                copied.errors.contains(
                    "the URLs of its notify are not shown; state them with 'timerctl add'"
                )
            )
        }
    }

    /// Waits until `body` has a value: the test's limit ends it.
    private func awaited<T>(_ body: () async throws -> T?) async throws -> T {
        while true {
            if let value = try await body() { return value }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
