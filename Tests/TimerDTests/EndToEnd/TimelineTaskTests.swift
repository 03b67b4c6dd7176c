// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// Tasks in the picture of what jobs did.
@Suite("Timeline, tasks", .timeLimit(.minutes(3))) struct TimelineTaskTests {
    @Test("A task that a worker has is drawn, however many of its job's rows are newer")
    func behindPage() async throws {
        try await DaemonProcess.with { daemon in
            let job = try await DamagedRowTests.add(daemon, "--every", "1h", "--queue", "mails")
            #expect(try await daemon.timerctl("fire", job).status == 0)
            let client = try await ControlClient.connect(to: daemon.socket)
            var request = ReserveTasks(queues: ["mails"])
            (request.lease, request.wait) = ("1d", "60s")
            let task = try #require(try await client.reserveTasks(request).first)
            await client.close()
            await daemon.end(SIGKILL)
            try DamagedRowTests.damage(
                daemon,
                """
                WITH RECURSIVE more (number) AS (
                    SELECT 1 UNION ALL SELECT number + 1 FROM more WHERE number < 1100)
                INSERT INTO fires
                    (id, job_id, owner_id, fire_date_us, wall_date_us, state, reason, missed, dates)
                SELECT 10000 + number, job_id, owner_id, fire_date_us + number,
                    wall_date_us + number, 'skipped', 'paused', 0, 1
                FROM fires JOIN more WHERE state = 'reserved'
                """
            )
            try await daemon.start()
            let line = try await daemon.timerctl("timeline", "--json").output
            let runs = try #require(
                try JSONValue(parsing: line.trimmingCharacters(in: .newlines))["runs"]
            )
            let drawn = try runs.decoded(as: [Run].self)
            #expect(
                drawn.filter { $0.state == .reserved }.map(\.fire) == [task.fire],
                "\(drawn.count) rows"
            )
            // A name that two users have had is refused as that of whose tasks are asked for.
            await daemon.end(SIGKILL)
            let other = "INSERT INTO owners (uid, name, live) SELECT 54321, name, 0 FROM owners"
            try DamagedRowTests.damage(daemon, "\(other) WHERE uid = \(geteuid())")
            try await daemon.start()
            let picture = try await daemon.timerctl("timeline", "--json")
            #expect(picture.status == 0 && picture.output != "", "\(picture.errors)")
        }
    }
}
