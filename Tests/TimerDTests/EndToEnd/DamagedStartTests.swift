// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// What one damaged row does to all others as a daemon starts.
@Suite("Damaged start", .timeLimit(.minutes(5))) struct DamagedStartTests {
    /// Returns once the job has fired more often.
    private static func goesOn(_ daemon: DaemonProcess, _ id: String) async throws {
        let fires = try await DamagedRowTests.job(daemon, id).fires
        while try await DamagedRowTests.job(daemon, id).fires <= fires + 2 {
            try Task.checkCancellation()
        }
    }

    @Test(
        "A job whose tie to a process cannot be read is held, and goes on once it can be",
        arguments: [
            ("pid = pid + 1099511627776", "pid = pid - 1099511627776"),
            ("pid = -pid", "pid = -pid"),
            ("pid_ticks = pid_ticks + 0.5", "pid_ticks = CAST(pid_ticks AS INTEGER)"),
            ("boot_id = CAST(boot_id AS BLOB)", "boot_id = CAST(boot_id AS TEXT)"),
        ]
    )
    func tie(damage: String, repair: String) async throws {
        try await DaemonProcess.with { daemon in
            let pid = "\(getpid())"
            let bad = try await DamagedRowTests.add(
                daemon,
                "--every",
                "1h",
                "--while-pid",
                pid,
                "--event"
            )
            let good = try await DamagedRowTests.add(
                daemon,
                "--every",
                "50ms",
                "--while-pid",
                pid,
                "--event"
            )
            await daemon.end(SIGKILL)
            try DamagedRowTests.damage(
                daemon,
                "UPDATE job_targets SET \(damage) WHERE job_id = JOB",
                bad
            )
            try await daemon.start()
            let held = try #require(try await DamagedRowTests.job(daemon, bad).held)
            #expect(held.contains("what its life is tied to cannot be read"), "\(held)")
            try await eventually("it is told", within: .seconds(60)) {
                daemon.log.contains("a job is held")
            }
            let doctor = try await daemon.timerctl("doctor").output
            #expect(doctor.contains("tied to"), "\(doctor)")
            try await Self.goesOn(daemon, good)

            await daemon.end(SIGKILL)
            try DamagedRowTests.damage(
                daemon,
                "UPDATE job_targets SET \(repair) WHERE job_id = JOB",
                bad
            )
            try await daemon.start()
            while try await DamagedRowTests.job(daemon, bad).held != nil {
                try Task.checkCancellation()
                kill(daemon.pid, SIGHUP)
            }
            #expect(try await DamagedRowTests.job(daemon, bad).state == .scheduled)
        }
    }

    @Test(
        "A value of another type keeps no other job from going on, and is told",
        arguments: [
            ("UPDATE jobs SET fires = 1.5 WHERE id = JOB", "a job is held"),
            ("UPDATE jobs SET revision = 'one' WHERE id = JOB", "a job is held"),
            ("UPDATE jobs SET owner_id = x'00', claim_id = 'x' WHERE id = JOB", "a job is held"),
            ("UPDATE tasks SET priority = 'high'", "a row of the database is damaged"),
            ("UPDATE owners SET live = 'many', held = x'00'", "a row of the database is damaged"),
            (
                """
                INSERT INTO outbox (live, bytes, reasons, scheduled, paused, events)
                VALUES ('one', 0, 0, 0, 0, '[]')
                """, "a row of the database is damaged"
            ),
        ]
    )
    func type(damage: String, told: String) async throws {
        try await DaemonProcess.with { daemon in
            let bad = try await DamagedRowTests.add(daemon, "--every", "1h", "--", "sleep", "1000")
            try await daemon.timerctl("fire", bad)
            _ = try await daemon.runningRun(bad)
            _ = try await DamagedRowTests.add(daemon, "--in", "0s", "--queue", "mails")
            let reserved = try await daemon.timerctl("queue", "reserve", "mails")
            #expect(reserved.status == 0, "\(reserved.errors)")
            let good = try await DamagedRowTests.add(daemon, "--every", "50ms")
            await daemon.end(SIGKILL)
            try DamagedRowTests.damage(daemon, damage, bad)
            try await daemon.start()
            try await eventually("it is told", within: .seconds(60)) { daemon.log.contains(told) }
            try await Self.goesOn(daemon, good)
            _ = try await DamagedRowTests.add(daemon, "--every", "1h", "--event")
            let queues = try await daemon.timerctl("queue", "list")
            #expect(queues.status == 0, "\(queues.errors)")
            try await daemon.timerctl("invalidate", "--kill", bad)
        }
    }
}
