// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TimerD

@Suite("timerctl web", .timeLimit(.minutes(2)))
struct WebCommandTests {
    @Test(
        "It becomes the timerd-web of PATH, with the words that this takes, or says what to install"
    )
    func becomes() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/timerd-web"
        let missing = try await run(["web"], path: folder.path)
        #expect(missing.status == 1)
        #expect(missing.errors.contains("there is no timerd-web in '"), "\(missing.errors)")
        try Data("#!/bin/sh\necho \"$0\" \"$@\"\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o755) == 0)
        let opened = try await run(["web", "--port", "8080"], path: folder.path)
        #expect(opened.output == "\(path) --open --port 8080\n", "\(opened.errors)")
        let plain = try await run(["web", "--no-open", "--socket", "/s"], path: folder.path)
        #expect(plain.output == "\(path) --socket /s\n")
    }

    @Test("timerd-web has descriptors 0, 1 and 2 alone")
    func descriptors() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/timerd-web"
        // ls(1) has the folder open beside them.
        try Data("#!/bin/sh\nls -m /proc/self/fd\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o755) == 0)
        let shell = Shell(variables: ["TIMERD_WEB_FOLDER": folder.path])
        let web = try await shell("PATH=$TIMERD_WEB_FOLDER:$PATH timerctl web 9</dev/null")
        #expect(web.output == "0, 1, 2, 3\n", "\(web.errors)")
    }

    private func run(_ words: [String], path: String) async throws -> (
        status: Int32, output: String, errors: String
    ) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: DaemonProcess.programs + "/timerctl")
        process.arguments = words
        process.environment = ["PATH": "\(path):/usr/bin:/bin"]
        let (output, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, errors)
        try process.run()
        // Little is written: both fit their pipes.
        process.waitUntilExit()
        return (
            process.terminationStatus,
            String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self),
            String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        )
    }
}
