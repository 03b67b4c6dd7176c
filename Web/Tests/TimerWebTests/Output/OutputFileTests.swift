// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerWeb

@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct OutputFileTests {
    /// The number of a run that is over.
    private func run(_ script: String, kept: String, _ daemon: TestDaemon) async throws -> RunID {
        try await daemon.connected { client in
            var definition = JobDefinition(schedule: ScheduleWords(cron: "30 2 29 2 *"))
            definition.outputKept = kept
            definition.command = ["/bin/sh", "-c", script]
            let job = try await client.addJob(definition).job
            try await client.subscribe()
            try await client.fireJob(.id(job.id))
            for try await event in client.events where event.type == .runFinished {
                return try #require(event.run)
            }
            throw CancellationError()
        }
    }

    @Test("The file of an output says where bytes are not kept, in the words of the page")
    func gap() async throws {
        let daemon = try await TestDaemon()
        let script = "echo BEGIN; head -c 300000 /dev/zero | tr '\\0' A; echo; echo END"
        let run = try await run(script, kept: "64K", daemon)
        try await TestServer.run(socket: daemon.socket) { server in
            let file = try await server.get("/runs/\(run)/output.txt").body
            let page = try await server.get("/runs/\(run)").body
            let start = try #require(file.firstRange(of: "\n[here ")).upperBound
            let gap = file[start...].prefix { $0 != "]" }
            #expect(gap.hasSuffix(" bytes of stdout are not kept"))
            #expect(page.contains("here \(gap)"))
            #expect(file.contains("BEGIN") && file.contains("END"))
            #expect(!page.contains("the whole is in the file"))
        }
    }

    @Test("The page and the file of an output say that its last bytes are not kept")
    func gapAtEnd() async throws {
        let daemon = try await TestDaemon()
        let run = try await run("printf 123456; printf 1234 >&2", kept: "0", daemon)
        try await TestServer.run(socket: daemon.socket) { server in
            let file = try await server.get("/runs/\(run)/output.txt").body
            #expect(file.contains("\n[here 6 bytes of stdout are not kept]\n"))
            #expect(file.contains("\n[here 4 bytes of stderr are not kept]\n"))
            let page = try await server.get("/runs/\(run)?stream=stderr").body
            #expect(page.contains("here 4 bytes of stderr are not kept"))
            #expect(!page.contains("of stdout are not kept"))
        }
    }
}
