// SPDX-License-Identifier: Apache-2.0

// `timespec` is CoreFoundation's if any module of the program imports that, else Glibc's.
import CLinux
import Glibc
package import JobModel
import Locks
package import Schedules

/// The clock seam: whoever needs to know the time is given one of these.
package protocol WallClock: Sendable {
    /// Both clocks, read at once.
    func now() -> ClockReading
    /// Notes and returns how far the wall clock was stepped since the last call.
    func noteStep() -> ClockStep
}

/// The sum of the steps of the wall clock since they were last noted.
package struct ClockStep: Hashable, Sendable {
    /// How far it went in all; zero if there was no step, or if the steps cancel out.
    package var size: TimeSpan
    /// True if the clock is behind a value read since the last step.
    package var isBack: Bool
}

/// The machine's clocks: CLOCK_REALTIME, and CLOCK_BOOTTIME, which counts suspend and never steps.
package final class SystemClock: WallClock {
    /// Elapsed time = CLOCK_BOOTTIME + this, while the machine is up.
    let elapsedBase: TimeSpan
    private let state: Locked<State>
    private let read: @Sendable () -> Reading

    private struct State {
        var wallOffset: TimeSpan
        /// The largest offset that was read since the last step was noted.
        var furthest: TimeSpan
        var skipped: ClosedRange<Timestamp>?

        /// Makes `measured` the offset if it differs by a step; returns the step, zero for none.
        mutating func note(_ measured: TimeSpan, wall: Timestamp) -> TimeSpan {
            let step = measured - wallOffset
            guard step.magnitude >= SystemClock.noise else { return .zero }
            wallOffset = measured
            skipped = step > .zero ? (wall - step)...wall : nil
            return step
        }
    }

    /// A difference below this is the distance between two readings, not a step of the clock.
    private static let noise = TimeSpan(microseconds: 500)

    /// `read`: the machine's clocks, unless a test has others.
    package init(anchor: ClockAnchor, read: @escaping @Sendable () -> Reading = SystemClock.read) {
        elapsedBase = anchor.elapsedBase
        state = Locked(State(wallOffset: anchor.wallOffset, furthest: anchor.wallOffset))
        self.read = read
    }

    package func now() -> ClockReading {
        let reading = read()
        let elapsed = reading.sinceBoot + elapsedBase
        return state.withLock { noted in
            // A step that is not noted yet counts already.
            var state = noted
            _ = state.note(reading.wall - elapsed, wall: reading.wall)
            noted.furthest = max(noted.furthest, state.wallOffset)
            return ClockReading(
                elapsed: elapsed,
                wallOffset: state.wallOffset,
                skipped: state.skipped
            )
        }
    }

    package func noteStep() -> ClockStep {
        let reading = read()
        let measured = reading.wall - (reading.sinceBoot + elapsedBase)
        return state.withLock { state in
            let size = state.note(measured, wall: reading.wall)
            defer { state.furthest = state.wallOffset }
            return ClockStep(size: size, isBack: state.furthest > state.wallOffset)
        }
    }

    /// The kernel's name of this boot, random(4), and when the first process began; see `ClockAnchor.bootID`.
    package static func bootID(
        in file: String = "/proc/sys/kernel/random/boot_id"
    ) throws(SystemError) -> String {
        let doing = "cannot read the id of this boot from '\(file)'"
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(doing) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 36)
        guard Glibc.read(descriptor, &bytes, bytes.count) == bytes.count else {
            throw SystemError(doing)
        }
        let kernel = String(decoding: bytes, as: UTF8.self)
        // Nil where /proc shows a user nothing of others.
        return ProcessIdentity.ticks(of: 1).map { "\(kernel)/\($0)" } ?? kernel
    }

    /// CLOCK_REALTIME, and CLOCK_BOOTTIME as if the machine had been started in 1970.
    package struct Reading: Sendable {
        package var wall: Timestamp
        package var sinceBoot: Timestamp
    }

    /// Reads both clocks within 100 µs of each other; after ten attempts without that bound.
    @Sendable package static func read() -> Reading {
        var wall = read(CLOCK_REALTIME)
        for _ in 0..<10 {
            let sinceBoot = read(CLOCK_BOOTTIME)
            let after = read(CLOCK_REALTIME)
            let gap = after - wall
            if gap >= .zero, gap.microseconds < 100 {
                return Reading(
                    wall: wall + TimeSpan(microseconds: gap.microseconds / 2),
                    sinceBoot: sinceBoot
                )
            }
            wall = after
        }
        return Reading(wall: wall, sinceBoot: read(CLOCK_BOOTTIME))
    }

    private static func read(_ clock: clockid_t) -> Timestamp {
        var time = timespec()
        clock_gettime(clock, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}
