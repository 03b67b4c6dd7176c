// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Tolerance", .timeLimit(.minutes(2)))
struct ToleranceTests {
    /// What the fires of 200 dates, 10 ms from each other, came to.
    private struct Fires {
        /// Moments at which the daemon woke: fires within 2 ms of each other share one.
        var wakeUps = 0
        var earliest = TimeSpan.longestInterval
    }

    /// How many share one, and how late they may be, is in `RhythmTests`.
    @Test("With a tolerance, fires share wake-ups, and none is early")
    func sharing() async throws {
        try await DaemonProcess.with { daemon in
            let exact = try await fires(of: daemon, tolerance: nil)
            let tolerant = try await fires(of: daemon, tolerance: "400ms")
            #expect(exact.earliest >= .zero)
            #expect(tolerant.earliest >= .zero)
            // About 200, unless the host is so busy that fires wait for it together.
            #expect(exact.wakeUps > tolerant.wakeUps)
        }
    }

    private func fires(of daemon: DaemonProcess, tolerance: String?) async throws -> Fires {
        let client = try await ControlClient.connect(to: daemon.socket)
        var subscribe = Subscribe()
        subscribe.types = [.fireFired]
        _ = try await client.subscribe(subscribe)
        let other = try await ControlClient.connect(to: daemon.socket)
        // By then all are added, on any machine.
        let start = Timestamp(Date()) + .seconds(5)
        let definitions = (0..<200).map { index in
            let date = start + .milliseconds(Int64(index) * 10)
            var definition = JobDefinition(schedule: ScheduleWords(at: date.rfc3339))
            definition.tolerance = tolerance
            return definition
        }
        let _: JobsReply = try await other.call(.addJobs(AddJobs(definitions)))
        var fires = Fires()
        var last = Timestamp.distantPast
        var count = 0
        for try await event in client.events {
            let firedAt = try #require(event.firedAt)
            let lateness = firedAt - (try #require(event.fireDate))
            fires.earliest = min(fires.earliest, lateness)
            if firedAt - last > .milliseconds(2) { fires.wakeUps += 1 }
            last = firedAt
            count += 1
            if count == definitions.count { break }
        }
        await client.close()
        await other.close()
        return fires
    }
}
