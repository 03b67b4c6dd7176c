// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerWeb

@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct OutputFileTests {
    @Test("The file of an output says where bytes are not kept, in the words of the page")
    func gap() async throws {
        let daemon = try await TestDaemon()
        let run = try await daemon.connected { client -> RunID in
            var definition = JobDefinition(schedule: ScheduleWords(cron: "30 2 29 2 *"))
            definition.outputKept = "64K"
            definition.command = [
                "/bin/sh", "-c",
                "echo BEGIN; head -c 300000 /dev/zero | tr '\\0' A; echo; echo END",
            ]
            let job = try await client.addJob(definition).job
            try await client.subscribe()
            try await client.fireJob(.id(job.id))
            for try await event in client.events where event.type == .runFinished {
                return try #require(event.run)
            }
            throw CancellationError()
        }
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
}
