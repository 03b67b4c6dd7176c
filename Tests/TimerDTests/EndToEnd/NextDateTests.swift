// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

@Suite("Next date", .timeLimit(.minutes(2)))
struct NextDateTests {
    @Test("status names the first date of the jobs that fire, and of none that is paused or ended")
    func status() async throws {
        try await DaemonProcess.with { daemon in
            func next() async throws -> String? {
                let json = Data(try await daemon.timerctl("status", "--json").output.utf8)
                let object = try JSONSerialization.jsonObject(with: json) as? [String: Any]
                let status = try #require(object)
                return (status["nextFireDate"] as? String).map { String($0.prefix(10)) }
            }
            func add(_ name: String, _ day: String) async throws {
                let words = ["add", "--at", "\(day) 12:00", "--name", name]
                #expect(try await daemon.timerctl(words).status == 0)
            }
            #expect(try await next() == nil)
            try await add("tea", "2098-03-01")
            #expect(try await next() == "2098-03-01")
            #expect(try await daemon.timerctl("pause", "tea").status == 0)
            #expect(try await next() == nil)
            let words = try await daemon.timerctl("status").output
            #expect(words.contains("jobs      0 scheduled, 1 paused, 0 armed\n"), "\(words)")
            try await add("soup", "2099-03-01")
            try await add("bread", "2097-03-01")
            #expect(try await next() == "2097-03-01")
            #expect(try await daemon.timerctl("invalidate", "bread").status == 0)
            #expect(try await next() == "2099-03-01")
        }
    }

    @Test("What runs is shown behind newer dates, and no dropped date is told as one to come")
    func dropped() async throws {
        try await DaemonProcess.with { daemon in
            // On 13 days.
            let words = ["--cron", "0 0 1-13 \(farMonth) *", "--tz", "UTC", "--", "sleep", "600"]
            #expect(try await daemon.timerctl(["add"] + words).status == 0)
            guard case .string(let first)? = try await daemon.job(1)["fireDate"] else {
                Issue.record("the job has no date")
                return
            }
            #expect(try await daemon.timerctl("fire", "1").status == 0)
            _ = try await daemon.runningRun("1")
            // Each has a row of its own; back on the first of them, the others stay dropped.
            for _ in 0..<12 { #expect(try await daemon.timerctl("skip", "1").status == 0) }
            #expect(try await daemon.timerctl("set-fire-date", "1", first).status == 0)
            let page = try await daemon.timerctl("show", "1").output
            #expect(page.contains("(run 1)\n"), "\(page)")
            let agenda = try await daemon.timerctl(
                ["agenda", "--next", "366d", "--each", "20", "--json"]
            )
            let lines = agenda.output.split(separator: "\n")
            #expect(lines.first?.contains(first) == true, "\(agenda.output)")
            // A year has the first date and the last.
            #expect(lines.count == 2, "\(agenda.output)")
        }
    }

    @Test("doctor tells of what has failed behind any number of dates ahead that were dropped")
    func doctor() async throws {
        try await DaemonProcess.with { daemon in
            let words = ["--cron", "0 0 1 \(farMonth) *", "--tz", "UTC", "--", "false"]
            #expect(try await daemon.timerctl(["add"] + words).status == 0)
            #expect(try await daemon.timerctl("fire", "--wait", "1").status == 1)
            let client = try await ControlClient.connect(to: daemon.socket)
            let job = JobSelection.ids([JobID(rawValue: 1)])
            for _ in 0..<101 { try await client.skipJobs(SkipJobs(jobs: job)) }
            await client.close()
            let doctor = try await daemon.timerctl("doctor").output
            #expect(doctor.contains("of the last 1, some failed: job 1"), "\(doctor)")
        }
    }
}
