// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import SystemPackage
import Testing

@testable import TimerD

@Suite("PipePump", .timeLimit(.minutes(1))) struct PipePumpTests {
    /// Always readable, and never at its end.
    private static func endless() throws -> FileDescriptor {
        try FileDescriptor.open("/dev/random", .readWrite)
    }

    private static func pump(
        until process: FileDescriptor,
        into output: RunOutput
    ) async throws -> PumpedEnd {
        let pipes = RunPipes(
            stdin: try endless(),
            stdout: try endless(),
            stderr: try endless(),
            input: try endless(),
            output: try endless(),
            error: try endless()
        )
        pipes.closeCommandEnds()
        let (status, other) = try FileDescriptor.closeOnExecPipe()
        other.closeForGood()
        return await PipePump.run(
            on: .test,
            pipes,
            input: [],
            output: output,
            until: process,
            status: status,
            alarm: nil,
            reports: PumpReports(started: {}, timedOut: {})
        )
    }

    @Test("A stream that never runs dry does not keep a run from ending")
    func endlessStream() async throws {
        // Readable, as a pidfd is once its process has ended.
        let written = RunOutput(limit: 100)
        let end = try await Self.pump(until: Self.endless(), into: written)
        let output = written.captured
        #expect(end.hasEnded)
        #expect(end.failure == nil)
        #expect(!end.isTimedOut)
        #expect(output.stdout.count == 100)
        #expect(output.stderr.count == 100)
        // A turn's reading before the end, and what a pipe holds at the end.
        for dropped in [output.stdoutDropped, output.stderrDropped] {
            #expect(((1 << 20) - 100...(1 << 20) + 65_536).contains(dropped))
        }
    }

    @Test("A process that the system has no room to watch is told of, not waited for")
    func unwatched() async throws {
        let file = try FileDescriptor.open("/proc/self/exe", .readOnly)
        let end = try await Self.pump(until: file, into: RunOutput())
        #expect(!end.hasEnded)
    }
}
