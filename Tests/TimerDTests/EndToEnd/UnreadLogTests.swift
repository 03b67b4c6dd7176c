// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// A log that nobody reads for a while, as a container's whose reader hangs.
@Suite("A log that nobody reads", .timeLimit(.minutes(2))) struct UnreadLogTests {
    /// Has the test hear of the daemon until it is ready, and then of nothing before the gate, which is `$0`, is open.
    private static let reader = """
        export TIMERD_OUTPUT_ON_STDOUT=true
        "$@" 2>&1 | {
            while read -r line; do echo "$line" >&2; case $line in *ready*) break ;; esac; done
            while [ ! -e "$0" ] && [ -d "${0%/*}" ]; do sleep 0.02; done
            cat >&2
        }
        """

    private static func isRunning(_ pid: Int32) -> Bool {
        // try?: it is gone. A zombie has ended, too: its shell waits for the reader alone.
        let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return status.map { !$0.contains(") Z ") } ?? false
    }

    @Test("It delays neither a run, nor an answer, nor the end")
    func unread() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let gate = FileGate(daemon, "read")
            try await daemon.start(through: ["sh", "-c", Self.reader, gate.path])
            let words = daemon.log.split(whereSeparator: \.isWhitespace)
            let said = try #require(words.first { $0.hasPrefix("pid=") })
            let pid = try #require(Int32(said.dropFirst(4)))
            // More than a pipe has room for.
            let flood =
                "i=0; while [ $i -lt 4000 ]; do echo a line that nobody reads; i=$((i+1)); done"
            for script in [flood, "exit 1", "exit 1", "exit 0"] {
                let add = ["add", "--quiet", "--in", "1ms", "--", "sh", "-c", script]
                let added = try await daemon.timerctl(add)
                let job = added.output.trimmingCharacters(in: .whitespacesAndNewlines)
                var runs = ""
                while !runs.contains("\"outcome\":\"exited\"") {
                    runs = try await daemon.timerctl("runs", job, "--json").output
                }
            }
            kill(pid, SIGTERM)
            try await eventually("it ends though nobody reads") { !Self.isRunning(pid) }
            gate.open()
            await daemon.end(0)
        }
    }

    @Test("What was logged is there to its end, in order, before the process is gone")
    func end() async throws {
        try await DaemonProcess.with { daemon in
            #expect(await daemon.end(SIGTERM) == .exited(0))
            let places = ["ready", "stopping", "stopped"].map {
                daemon.log.range(of: $0)?.lowerBound
            }
            let found = places.compactMap(\.self)
            #expect(found.count == 3 && found == found.sorted(), "\(daemon.log)")
        }
    }
}
