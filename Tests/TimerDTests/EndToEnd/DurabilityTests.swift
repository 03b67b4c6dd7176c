// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage
import Testing

@testable import TimerD

@Suite("Durability", .timeLimit(.minutes(2)))
struct DurabilityTests {
    static let strace = "/usr/bin/strace"
    /// Whether this machine has strace and lets it attach: not every container does.
    static let canTrace: Bool = {
        guard FileManager.default.isExecutableFile(atPath: strace) else { return false }
        let traced = Process()
        traced.executableURL = URL(fileURLWithPath: "/bin/sleep")
        traced.arguments = ["1"]
        let tracer = Process()
        tracer.executableURL = URL(fileURLWithPath: strace)
        tracer.standardError = FileHandle.nullDevice
        do {
            try traced.run()
            tracer.arguments = ["-o", "/dev/null", "-p", "\(traced.processIdentifier)"]
            try tracer.run()
        } catch {
            return false
        }
        tracer.waitUntilExit()
        return tracer.terminationStatus == 0
    }()

    @Test(
        "The reply to a mutation leaves after the fdatasync that covers it, as the kernel saw it",
        .enabled(if: canTrace, "needs strace, which .ci/run installs, and leave to attach")
    )
    func replyAfterSync() async throws {
        try await DaemonProcess.with { daemon in
            let trace = daemon.folder + "/trace"
            let attached = Latch()
            let arguments = [
                // A commit is one write, in which the name may stand anywhere.
                "-f", "-y", "-s", "1048576", "-o", trace, "-p", "\(daemon.pid)",
                "-e", "trace=pwrite64,fdatasync,write,writev,sendmsg,sendto",
            ]
            let tracer = Task {
                _ = try await run(
                    .path(FilePath(Self.strace)),
                    arguments: Arguments(arguments),
                    input: .none,
                    output: .discarded,
                    error: .sequence
                ) { execution in
                    for try await line in execution.standardError.strings() {
                        if line.contains("attached") { attached.open() }
                    }
                }
                attached.open()
            }
            await attached.wait()
            let names = (1...20).map { "durable-\($0)-" }
            for name in names {
                try await daemon.timerctl("add", "--in", "1h", "--name", name)
            }
            // The tracer ends with what it traces, and its file is whole then.
            await daemon.end(SIGTERM)
            try await tracer.value
            let lines = try String(contentsOfFile: trace, encoding: .utf8)
                .split(separator: "\n").map(String.init)
            for name in names {
                try Self.check(name, in: lines)
            }
        }
    }

    /// Of the lines that name the job: its row is written, then synced, then the reply goes out.
    private static func check(_ name: String, in lines: [String]) throws {
        let written = try #require(
            lines.firstIndex { $0.contains("pwrite64") && $0.contains(name) },
            "\(name) is written"
        )
        let reply = try #require(
            lines.firstIndex {
                $0.contains(name) && $0.contains("jsonrpc") && !$0.contains("pwrite64")
            },
            "\(name) is answered"
        )
        let synced = lines[written...].firstIndex {
            $0.contains("fdatasync") && $0.hasSuffix("= 0")
        }
        #expect(written < reply)
        #expect(try #require(synced, "\(name) is synced") < reply, "\(name) is synced first")
    }
}
