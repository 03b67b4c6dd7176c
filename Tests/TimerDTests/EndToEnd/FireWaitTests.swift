// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("fire --wait", .timeLimit(.minutes(2)))
struct FireWaitTests {
    /// Adds a job that is not due for long, fires it and waits.
    private func fire(
        _ daemon: DaemonProcess,
        _ options: [String] = [],
        command: [String]
    ) async throws -> DaemonProcess.Answer {
        let words = ["add", "--every", "1h"] + options + (command.isEmpty ? [] : ["--"] + command)
        let id = try await daemon.timerctl(words).output.dropLast()
        return try await daemon.timerctl(["fire", "--wait", String(id)])
    }

    @Test("It ends as the command did, and says how")
    func ends() async throws {
        try await DaemonProcess.with { daemon in
            let well = try await fire(daemon, ["--name", "well"], command: ["true"])
            #expect(well.status == 0)
            #expect(well.output.hasPrefix("job 1 (well): exit 0 after "))
            #expect(try await fire(daemon, command: ["sh", "-c", "exit 3"]).status == 3)
            #expect(try await fire(daemon, command: ["sh", "-c", "kill -KILL $$"]).status == 137)
            let slow = try await fire(daemon, ["--timeout", "1ms"], command: ["sleep", "60"])
            #expect(slow.status == 124)
            let missing = try await fire(daemon, command: ["/no/such/program"])
            #expect(missing.status == 127)
            #expect(missing.output.contains("not started: "))
            let event = try await fire(daemon, command: [])
            #expect(event.status == 0)
            #expect(event.output.contains("it has no command to wait for"))
        }
    }

    @Test("Of a command that is tried again, each attempt is told, and the last one counts")
    func retries() async throws {
        try await DaemonProcess.with { daemon in
            let mark = daemon.folder + "/tried"
            let script = "test -e \(mark) && exit 0; touch \(mark); exit 5"
            let tried = try await fire(
                daemon,
                ["--retries", "2", "--backoff", "1ms..2ms", "--on-failure", "true"],
                command: ["sh", "-c", script]
            )
            #expect(tried.status == 0)
            #expect(tried.errors.contains("exit 5"))
            #expect(tried.output.contains("attempt 2"))
            let failed = try await fire(
                daemon,
                ["--retries", "1", "--backoff", "1ms..2ms", "--on-failure", "true"],
                command: ["sh", "-c", "exit 6"]
            )
            #expect(failed.status == 6)
        }
    }

    @Test("It is for one job that is there")
    func refusals() async throws {
        try await DaemonProcess.with { daemon in
            let two = try await daemon.timerctl(["fire", "--wait", "1", "2"])
            #expect(two.status == 64)
            #expect(two.errors.contains("--wait is for one job; 2 are named"))
            let none = try await daemon.timerctl(["fire", "--wait", "7"])
            #expect(none.status == 1)
            #expect(none.errors.contains("there is no job 7"))
        }
    }
}
