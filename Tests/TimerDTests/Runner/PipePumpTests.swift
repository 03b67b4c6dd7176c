// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemPackage
import Testing

@testable import TimerD

@Suite("PipePump", .timeLimit(.minutes(1))) struct PipePumpTests {
    @Test("A stream that never runs dry does not keep a run from ending")
    func endlessStream() async throws {
        func zeros() throws -> FileDescriptor { try FileDescriptor.open("/dev/zero", .readWrite) }
        // Always readable, as a pidfd is once its process has ended.
        let process = try zeros()
        defer { process.closeForGood() }
        let pipes = RunPipes(
            stdin: try zeros(),
            stdout: try zeros(),
            stderr: try zeros(),
            input: try zeros(),
            output: try zeros(),
            error: try zeros()
        )
        pipes.closeCommandEnds()
        let written = RunOutput(limit: 100)
        let end = try await PipePump().run(
            pipes,
            input: [],
            output: written,
            until: process.rawValue,
            status: try FileDescriptor.open("/dev/null", .readOnly),
            alarm: nil,
            reports: PumpReports(started: {}, timedOut: {})
        )
        let output = written.captured
        #expect(end.failure == nil)
        #expect(!end.isTimedOut)
        #expect(output.stdout == Array(repeating: 0, count: 100))
        #expect(output.stdoutDropped == (1 << 20) - 100)
        #expect(output.stderrDropped == (1 << 20) - 100)
    }
}
