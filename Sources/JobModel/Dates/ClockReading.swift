// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// One reading of both clocks.
///
/// Jobs of `--in` and `--every` go by elapsed time: it goes on through suspend, and a step of the wall clock
/// does not change it. It is written as the date that the wall clock would show had it never been stepped, so
/// that it can be stored and compared as one.
package struct ClockReading: Hashable, Sendable {
    /// Now, in elapsed time.
    package var elapsed: Timestamp
    /// What all steps of the wall clock add up to: wall time = elapsed time + wallOffset.
    package var wallOffset: TimeSpan
    /// The dates of the wall clock that its last step forward left out; nil for none.
    package var skipped: ClosedRange<Timestamp>?

    package init(elapsed: Timestamp, wallOffset: TimeSpan, skipped: ClosedRange<Timestamp>? = nil) {
        self.elapsed = elapsed
        self.wallOffset = wallOffset
        self.skipped = skipped
    }

    /// Now, by the wall clock.
    package var wall: Timestamp { elapsed + wallOffset }

    /// Now, by the clock of a job.
    package func reading(of clock: ScheduleClock) -> Timestamp {
        clock == .wall ? wall : elapsed
    }

    /// The wall clock's date at which `clock` shows `date`.
    package func wallDate(_ date: Timestamp, on clock: ScheduleClock) -> Timestamp {
        clock == .wall ? date : date + wallOffset
    }

    /// What `clock` shows at the wall clock's `date`.
    package func date(ofWall date: Timestamp, on clock: ScheduleClock) -> Timestamp {
        clock == .wall ? date : date - wallOffset
    }

    /// What `clock` shows when elapsed time is `date`.
    package func date(ofElapsed date: Timestamp, on clock: ScheduleClock) -> Timestamp {
        clock == .wall ? date + wallOffset : date
    }

    /// Elapsed time when `clock` shows `date`.
    package func elapsedDate(_ date: Timestamp, on clock: ScheduleClock) -> Timestamp {
        clock == .wall ? date - wallOffset : date
    }
}
