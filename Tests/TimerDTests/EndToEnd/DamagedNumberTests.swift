// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerControl

@testable import TimerD

/// A daemon on a database in which a claimed fire is not where its job looks for it.
@Suite("Damaged numbers, a daemon's", .timeLimit(.minutes(5)))
struct DamagedNumberTests {
    @Test(
        "A claimed fire whose number or job is damaged keeps no job from firing, no request from being carried out and no daemon from starting",
        arguments: ["id = 9223372036854775807", "id = 4611686018427387905", "job_id = x'ff'"]
    )
    func claim(damage: String) async throws {
        try await DaemonProcess.with { daemon in
            let bad = try await DamagedRowTests.add(daemon, "--every", "2s")
            func restartDamaged() async throws {
                await daemon.end(SIGKILL)
                try DamagedRowTests.damage(
                    daemon,
                    "UPDATE fires SET \(damage) WHERE id = (SELECT claim_id FROM jobs WHERE id = JOB)",
                    bad
                )
                try await daemon.start()
            }
            try await restartDamaged()
            try await eventually("it is told", within: .seconds(60)) {
                daemon.log.contains("a row of the database is damaged")
            }
            let fires = try await DamagedRowTests.job(daemon, bad).fires
            while try await DamagedRowTests.job(daemon, bad).fires <= fires {
                try Task.checkCancellation()
            }
            try await restartDamaged()
            // Its claim goes with it.
            #expect(try await daemon.timerctl("invalidate", bad).status == 0)
            let next = try await DamagedRowTests.add(daemon, "--every", "2s")
            await daemon.end(SIGTERM)
            try await daemon.start()
            #expect(try await DamagedRowTests.job(daemon, next).state == .scheduled)
        }
    }
}
