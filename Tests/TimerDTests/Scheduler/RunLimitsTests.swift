// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What becomes of a limit that nothing here carries out.
@Suite("Limits of runs") struct RunLimitsTests {
    @Test("A limit without effect is logged once, with the reason; the run goes on")
    func withoutEffect() async throws {
        let log = RecordedLog()
        let folder = "/tmp/timerd-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        // try?: what cannot be removed is in /tmp.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let test = try await TestScheduler(folder: folder, log: log.logger)
        test.runner.controlGroups = ControlGroups(
            areThere: true,
            controllers: .cpu,
            lack: "not in '/x': memory, pids, io"
        )
        _ = try await test.add(ScheduleWords(every: "10s"), command: ["limited"]) {
            $0.cpuQuota = "50%"
            $0.tasksMax = 9
            $0.memoryMax = "1G"
        }
        _ = try await test.add(ScheduleWords(in: "35s"), command: ["other"]) { $0.ioWeight = 7 }
        _ = try await test.add(ScheduleWords(in: "5s"), command: ["plain"])
        try await test.advance(by: .seconds(41))
        let told = log.all.filter { $0.contains("limits=") }
        #expect(told.count == 2)
        #expect(told.first?.contains("limits=memoryMax tasksMax") == true)
        #expect(told.last?.contains("limits=ioWeight") == true)
        #expect(told.allSatisfy { $0.contains("reason=not in '/x': memory, pids, io") })
        #expect(test.runner.requests.count { $0.limits.tasksMax == 9 } == 4)
        try await test.close()
    }
}
