// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

/// What tests of crossings do with runs of several users.
extension DaemonProcess {
    /// Adds a job of a user's and fires it; the job's number, as text.
    func begin(_ command: [String], as uid: UInt32, options: [String] = []) async throws -> String {
        let words = ["add", "--in", "1h"] + options + ["--"] + command
        let added = try await timerctl(as: uid, words)
        try #require(added.status == 0, "\(added.errors)")
        let id = added.output.trimmingCharacters(in: .newlines)
        let fired = try await timerctl(as: uid, ["fire", id])
        try #require(fired.status == 0, "\(fired.errors)")
        return id
    }

    /// The newest run of a job, once its command has begun.
    func runningRun(_ job: String) async throws -> Run {
        while true {
            try Task.checkCancellation()
            if let run = try await runs([job, "-n", "1"]).first, run.state == .running {
                return run
            }
        }
    }

    /// Runs a command once as a user; its fire, when the run is over.
    func finish(_ command: [String], as uid: UInt32, options: [String] = []) async throws -> Run {
        try await finishedRun(begin(command, as: uid, options: options))
    }

    /// What a run wrote, both streams, line by line.
    func written(by run: Run) async throws -> [String] {
        let id = try #require(run.id, "\(run)")
        let lines = try await timerctl("logs", "--run", "\(id)").output
        return lines.split(separator: "\n").map(String.init)
    }

    /// Waits until a command has written a whole line into a file of the daemon's folder.
    func line(in file: String) async throws -> String {
        let path = "\(folder)/\(file)"
        try await eventually("a command writes a line to \(path)") {
            readFile(path)?.hasSuffix("\n") == true
        }
        return String(try #require(readFile(path)).dropLast())
    }
}
