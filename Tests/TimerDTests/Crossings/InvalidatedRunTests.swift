// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// What an invalidation reaches of jobs that have no date left, and are not over.
@Suite("Invalidation of what runs", .timeLimit(.minutes(3)))
struct InvalidatedRunTests {
    private func add(_ daemon: DaemonProcess, _ options: [String], _ command: [String]) async throws
        -> String
    {
        let added = try await daemon.timerctl(["add", "--in", "1ms"] + options + ["--"] + command)
        try #require(added.status == 0, "\(added.errors)")
        return added.output.trimmingCharacters(in: .newlines)
    }

    @Test(
        "A one-shot that has fired and still runs is ended with the others of its tag, or by its name",
        arguments: [["--tag", "net"], ["--name", "backup"]]
    )
    func runs(words: [String]) async throws {
        try await DaemonProcess.with { daemon in
            let job = try await add(daemon, words, ["sleep", "1000"])
            #expect(try await daemon.runningRun(job).state == .running)
            let shown = try await daemon.timerctl("show", job, "--json").output
            #expect(shown.contains(#""state":"finished""#), "\(shown)")
            let other = try await add(daemon, ["--tag", "other"], ["sleep", "1000"])

            let ended = try await daemon.timerctl(["invalidate", "--kill"] + words)
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(try await daemon.finishedRun(job).outcome == .signalled)
            #expect(try await daemon.runningRun(other).state == .running)
            _ = try await daemon.timerctl(["invalidate", "--kill", other])
            #expect(try await daemon.finishedRun(other).outcome == .signalled)
        }
    }

    @Test("No further attempt begins of a one-shot that was ended, by whatever it is named")
    func retries() async throws {
        try await DaemonProcess.with { daemon in
            for words in [["--tag", "net"], ["--name", "backup"], []] {
                let job = try await add(
                    daemon,
                    words + ["--retries", "5", "--backoff", "1s..1s"],
                    ["false"]
                )
                #expect(try await daemon.finishedRun(job).status == 1)
                let ended = try await daemon.timerctl(
                    ["invalidate"] + (words.isEmpty ? [job] : words)
                )
                #expect(ended.status == 0, "\(ended.errors)")
                let before = try await daemon.runs([job]).count
                // Fires when the next attempt would have begun.
                let later = try await daemon.timerctl("add", "--in", "1500ms", "--", "true")
                let clock = later.output.trimmingCharacters(in: .newlines)
                #expect(try await daemon.finishedRun(clock).status == 0)
                let runs = try await daemon.runs([job])
                #expect(runs.count == before, "\(runs)")
                #expect(runs.allSatisfy { $0.state == .done }, "\(runs)")
            }
        }
    }

    @Test("What waits for a place among the runs does not begin once its job was ended")
    func places() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try #"{"maxRuns": 1}"#.write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            let gate = FileGate(daemon, "gate")
            let first = try await add(daemon, [], ["sh", "-c", gate.wait])
            #expect(try await daemon.runningRun(first).state == .running)
            let mark = daemon.folder + "/ran"
            let second = try await add(daemon, ["--retries", "3"], ["touch", mark])
            while try await daemon.runs([second]).first?.waitsFor != .place {
                try Task.checkCancellation()
            }
            #expect(try await daemon.timerctl("invalidate", second).status == 0)
            let run = try #require(try await daemon.runs([second]).first)
            #expect(run.state == .skipped)
            #expect(run.reason == .invalidated)
            gate.open()
            #expect(try await daemon.finishedRun(first).status == 0)
            let third = try await add(daemon, [], ["true"])
            #expect(try await daemon.finishedRun(third).status == 0)
            #expect(!FileManager.default.fileExists(atPath: mark))
        }
    }
}
