// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import timerctl

/// What is read of a folder of files for `apply`.
@Suite("Folders of jobs", .timeLimit(.minutes(1))) struct JobFolderTests {
    /// Calls `body` with a folder that has these files, each with a job of the file's name.
    private func withFolder(_ files: [String], _ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "timerctl-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false
        )
        // try?: a folder that stays is no fault of what is tested.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for file in files {
            try "jobs: {'\(file)': {every: 5s}}".write(
                toFile: "\(folder)/\(file)",
                atomically: false,
                encoding: .utf8
            )
        }
        try body(folder)
    }

    @Test("A pipe in a folder is refused, and not waited at")
    func pipe() throws {
        try withFolder(["a.yaml"]) { folder in
            #expect(mkfifo("\(folder)/b.yaml", 0o600) == 0)
            let failure = #expect(throws: Failure.self) {
                try JobFiles.read([folder], label: "web")
            }
            #expect(failure?.status == .badData)
            #expect(
                failure?.message
                    == "'\(folder)/b.yaml' is a pipe, accepted in a folder are files"
            )
            try FileManager.default.removeItem(atPath: "\(folder)/b.yaml")
            let jobs = try JobFiles.read([folder], label: "web").jobs
            #expect(jobs.map(\.name) == ["a.yaml"])
        }
    }

    @Test("Files that look as if they were meant, and are passed over, are told")
    func passed() throws {
        try withFolder(["a.yaml", "B.YAML", ".c.json", "d.txt"]) { folder in
            let files = try JobFiles.read([folder], label: "web")
            #expect(files.jobs.map(\.name) == ["a.yaml"])
            #expect(files.passed == ["\(folder)/.c.json", "\(folder)/B.YAML"])
        }
        try withFolder(["B.YAML"]) { folder in
            let failure = #expect(throws: Failure.self) {
                try JobFiles.read([folder], label: "web")
            }
            #expect(
                failure?.message == "the folder '\(folder)' has no *.yaml, *.yml or *.json"
                    + "; '\(folder)/B.YAML' is passed over"
            )
        }
    }

    @Test("A pipe among the drop-ins of a unit is refused, and not waited at")
    func dropIn() throws {
        try withFolder([]) { folder in
            try "[Timer]\nOnCalendar=daily\n".write(
                toFile: "\(folder)/x.timer",
                atomically: false,
                encoding: .utf8
            )
            try FileManager.default.createDirectory(
                atPath: "\(folder)/x.timer.d",
                withIntermediateDirectories: false
            )
            #expect(mkfifo("\(folder)/x.timer.d/b.conf", 0o600) == 0)
            var units = UnitFolders(isUser: false, home: "/")
            units.paths = [folder]
            let failure = #expect(throws: Failure.self) { try units.unit("x.timer") }
            #expect(failure?.status == .badData)
        }
    }
}
