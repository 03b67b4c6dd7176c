// SPDX-License-Identifier: Apache-2.0

import Logging
import Schedules

extension SystemClock {
    /// The clock for a daemon that starts now: elapsed time goes on from where the store left it.
    ///
    /// Says if the wall clock was stepped meanwhile; after a start of the machine, makes what waits
    /// for that due. `bootID`: the kernel's name of this boot.
    static func resumed(
        _ store: Store,
        bootID: String,
        read: @escaping @Sendable () -> Reading = SystemClock.read,
        log: Logger
    ) async throws -> SystemClock {
        let reading = read()
        let before = store.state.anchor
        let (anchor, step) = before.resumed(
            bootID: bootID,
            sinceBoot: reading.sinceBoot,
            wall: reading.wall
        )
        if step != .zero {
            log.notice(
                "the wall clock was stepped while no daemon ran",
                metadata: ["step": "\(step)"]
            )
        }
        let clock = SystemClock(anchor: anchor, read: read)
        let hasStarted = before.hasStarted(bootID)
        // One transaction: a crash leaves the boot unknown, or what it made due stored.
        try await store.writer.write { database in
            try DaemonState.write(anchor, to: database)
            var writer = JobWriter(database, at: clock.now(), horizon: .distantPast)
            if hasStarted || step < .zero { try writer.doubtClaims() }
            if hasStarted { try writer.machineStarted() }
        }
        return clock
    }
}
