// SPDX-License-Identifier: Apache-2.0

import JobModel
import Locks
import Logging
import Schedules

@testable import LinuxSystem
@testable import TimerD

/// The clocks of a machine, which stand still until a test moves them, and the daemon's own clock as
/// it reads them.
final class VirtualClock: WallClock {
    struct Machine: Sendable {
        var boot = 1
        /// What CLOCK_BOOTTIME shows.
        var sinceBoot = Timestamp(microseconds: 1_000_000_000)
        /// What CLOCK_REALTIME shows.
        var wall: Timestamp

        var bootID: String { "boot \(boot)" }

        mutating func pass(_ time: TimeSpan) {
            sinceBoot = sinceBoot + time
            wall = wall + time
        }
    }

    private final class Box: Sendable {
        let machine: Locked<Machine>

        init(_ machine: Machine) { self.machine = Locked(machine) }

        func read() -> SystemClock.Reading {
            machine.withLock { SystemClock.Reading(wall: $0.wall, sinceBoot: $0.sinceBoot) }
        }
    }

    private let box: Box
    private let clock: SystemClock

    /// The clock of a daemon that starts on `machine` with what `store` kept; `othersClock`: see `ClockResumption`.
    init(
        _ machine: Machine,
        _ store: Store,
        othersClock: TimeSpan? = nil,
        notices: NoticePolicy.Defaults = NoticePolicy.Defaults(),
        log: Logger
    ) async throws {
        let box = Box(machine)
        self.box = box
        let resumption = ClockResumption(
            store.state,
            bootID: machine.bootID,
            othersClock: othersClock
        ) { box.read() }
        try await resumption.write(to: store.writer, notices: notices, log: log)
        clock = resumption.clock
    }

    func now() -> ClockReading { clock.now() }
    func noteStep() -> ClockStep { clock.noteStep() }

    /// The machine as it stands.
    var machine: Machine { box.machine.withLock { $0 } }

    func advance(to elapsed: Timestamp) {
        let time = elapsed - now().elapsed
        if time > .zero { box.machine.withLock { $0.pass(time) } }
    }

    /// Sets the wall clock forward, or back, and elapsed time not at all.
    func step(by span: TimeSpan) {
        box.machine.withLock { $0.wall = $0.wall + span }
    }
}
