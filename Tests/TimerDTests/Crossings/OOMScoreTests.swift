// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerControl

@testable import TimerD

/// Whom the kernel ends first where memory runs out.
@Suite("OOM score", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct OOMScoreTests {
    /// Whether root may protect a process here: containers often take CAP_SYS_RESOURCE away.
    private static var mayProtect: Bool {
        let lines = readFile("/proc/self/status")?.split(separator: "\n") ?? []
        let words = lines.first { $0.hasPrefix("CapEff:") }?.split(separator: "\t") ?? []
        return words.count == 2 && UInt64(words[1], radix: 16).map { $0 >> 24 & 1 } == 1
    }

    @Test(
        "What protects the daemon protects no run, and its owner cannot take it back",
        .enabled(if: mayProtect, "needs CAP_SYS_RESOURCE")
    )
    func protection() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            await daemon.end(SIGTERM)
            try await daemon.start(through: ["choom", "-n", "-100", "--"])
            let file = "/proc/self/oom_score_adj"
            let script = "cat \(file); echo -1 2>&1 >\(file) | cat; cat \(file)"
            for uid in [ann.uid, 0] {
                let run = try await daemon.finish(["bash", "-c", "cat \(file)"], as: uid)
                #expect(try await daemon.written(by: run) == ["0"], "\(uid)")
            }
            let back = try await daemon.finish(["bash", "-c", script], as: ann.uid)
            let lines = try await daemon.written(by: back)
            #expect(lines.first == "0" && lines.last == "0", "\(lines)")
            #expect(readFile("/proc/\(daemon.pid)/oom_score_adj") == "-100\n", "it keeps its own")
        }
    }

    @Test("What makes the daemon a likelier choice goes for its runs too")
    func exposure() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            await daemon.end(SIGTERM)
            try await daemon.start(through: ["choom", "-n", "200", "--"])
            for uid in [ann.uid, 0] {
                let run = try await daemon.finish(["cat", "/proc/self/oom_score_adj"], as: uid)
                #expect(try await daemon.written(by: run) == ["200"], "\(uid)")
            }
        }
    }
}
