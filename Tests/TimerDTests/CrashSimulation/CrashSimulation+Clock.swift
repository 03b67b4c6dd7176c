// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules

@testable import TimerD

/// A wall clock that is put wrong, and right again, while the daemon runs and while it does not.
extension CrashSimulation {
    private static let mostWrong = TimeSpan.minutes(10)

    /// Whether it is off by so little that people go on with what they do; they do not in 1970.
    var isClockNearlyRight: Bool { clockError.magnitude <= Self.mostWrong + Self.mostWrong }

    /// Somebody sets the clock; the daemon is told.
    func stepClock() { setClock(by: step()) }

    /// Somebody sets the clock while no daemon runs.
    func stepUnnoticed() {
        guard stepsClock, conductor.dice.isTrue(0.3) else { return }
        setClock(by: clockError == .zero ? step() : -clockError)
    }

    func setClockRight() { setClock(by: -clockError) }

    func step() -> TimeSpan {
        let span = conductor.dice.span(.milliseconds(1), Self.mostWrong)
        return conductor.dice.isTrue(0.5) ? span : -span
    }

    /// The machine starts without a battery: its clock stands at 1970.
    func forgetClock() {
        let wall = machine.sinceBoot
        tell("the clock is forgotten")
        note(wall - machine.wall)
        machine.wall = wall
    }

    private func setClock(by step: TimeSpan) {
        guard step != .zero else { return }
        tell("the clock is set, by \(step)")
        note(step)
        guard let life, let clock = life.clock, let scheduler = life.scheduler else {
            machine.wall = machine.wall + step
            return
        }
        clock.step(by: step)
        life.timers.perform { scheduler.assumeIsolated { _ = $0.clockStepped() } }
    }

    func note(_ step: TimeSpan) {
        if let moment { mostShift = max(mostShift, moment.wallOffset) }
        clockError = clockError + step
        mostAhead = max(mostAhead, clockError)
    }
}
