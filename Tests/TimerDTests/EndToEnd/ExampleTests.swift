// SPDX-License-Identifier: Apache-2.0

import Foundation
import JobModel
import Testing

/// The programs in examples/ against a real daemon.
@Suite("Examples", .timeLimit(.minutes(2)))
struct ExampleTests {
    private func example(_ path: String) -> String {
        Repository.folder.appending(path: "examples").appending(path: path).path()
    }

    private func shell(_ daemon: DaemonProcess) -> Shell {
        Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
    }

    /// Has a worker write something that contains `words`, kills it, and returns all it wrote.
    private func told(
        until words: String,
        by worker: String,
        _ shell: Shell
    ) async throws -> String {
        try await shell(
            """
            python3 '\(example("python"))'/\(worker) sequence >out & worker=$!
            until grep -q '\(words)' out; do sleep 0.05; done
            kill -KILL $worker
            cat out
            """
        ).output
    }

    @Test(
        "The client in Python calls methods, and says what was refused",
        .enabled(if: Shell.has("python3"))
    )
    func pythonClient() async throws {
        try await DaemonProcess.with { daemon in
            let (shell, client) = (shell(daemon), example("python/timerd.py"))
            let added = try await shell(
                #"python3 \#(client) job.add '{"schedule": {"every": "5s"}, "name": "x"}'"#
            )
            #expect(added.isDone && added.output.contains(#""name": "x""#), "\(added.errors)")
            let refused = try await shell("python3 \(client) job.get '{\"id\": 9}'")
            #expect(!refused.isDone)
            #expect(refused.errors.hasPrefix("timerd: there is no job 9"))
        }
    }

    @Test("The client in shell does so too", .enabled(if: Shell.has("nc")))
    func shellClient() async throws {
        try await DaemonProcess.with { daemon in
            let (shell, client) = (shell(daemon), example("shell/timerd.sh"))
            let status = try await shell("\(client) daemon.status")
            #expect(status.isDone && status.output.contains(#""pid":\#(daemon.pid)"#))
            let refused = try await shell("\(client) job.get '{\"id\":9}'")
            #expect(!refused.isDone && refused.output.contains("there is no job 9"))
        }
    }

    @Test(
        "The worker that was killed goes on where it was, and misses nothing",
        .enabled(if: Shell.has("python3"))
    )
    func worker() async throws {
        try await DaemonProcess.with { daemon in
            let shell = shell(daemon)
            for delay in ["10ms", "20ms", "30ms"] {
                try await daemon.timerctl("add", "--in", delay)
            }
            let first = try await told(until: "\"job\": 1", by: "worker.py", shell)
            try await daemon.timerctl("add", "--in", "10ms")
            let others = try await told(until: "\"job\": 4", by: "worker.py", shell)
            let jobs = (first + others).matches(of: #/"job": (\d+)/#).map { $0.output.1 }
            #expect(Set(jobs) == ["1", "2", "3", "4"])
            // What it wrote last, it may have been killed before it had noted that down.
            #expect(jobs == jobs.sorted() && jobs.count <= 5, "\(jobs)")
        }
    }

    @Test(
        "A delayed job is put off, taken back, and done by a worker",
        .enabled(if: Shell.has("python3"))
    )
    func delayedJobs() async throws {
        try await DaemonProcess.with { daemon in
            let (shell, jobs) = (shell(daemon), "python3 " + example("python/delayed_jobs.py"))
            let later = try await shell(#"\#(jobs) later 1h mail-1 '{"to": "ann"}'"#)
            #expect(later.isDone, "\(later.errors)")
            #expect(try await shell(#"\#(jobs) later 1h mail-2 '{"to": "eve"}'"#).isDone)
            #expect(try await shell(#"\#(jobs) later 10ms mail-1 '{"to": "ann"}'"#).isDone)
            #expect(try await shell("\(jobs) never mail-2").output == "taken back\n")
            let never = try await shell("\(jobs) never mail-2").output
            #expect(never == "it was done already, or never asked for\n")
            let done = try await told(until: "mail-1", by: "delayed_jobs.py work", shell)
            #expect(done.hasSuffix("mail-1 {\"to\": \"ann\"}\n"), "\(done)")
        }
    }
}
