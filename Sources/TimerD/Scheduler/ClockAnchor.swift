// SPDX-License-Identifier: Apache-2.0

import Schedules

/// What ties elapsed time to the machine's clocks, as the store keeps it between two daemons.
struct ClockAnchor: Hashable, Sendable {
    /// The kernel's name of the boot in which `elapsedBase` holds.
    var bootID: String
    /// Elapsed time = CLOCK_BOOTTIME + this.
    var elapsedBase: TimeSpan
    /// Wall time = elapsed time + this.
    var shift: TimeSpan
    /// Elapsed time when it was last stored; it does not go back behind this.
    var elapsed: Timestamp

    /// Whether the machine has been started since, where `bootID` is that of now.
    func hasStarted(_ bootID: String) -> Bool { !self.bootID.isEmpty && bootID != self.bootID }

    /// The anchor for a daemon that starts now.
    ///
    /// Within one boot elapsed time goes on by CLOCK_BOOTTIME, so a step of the wall clock while no
    /// daemon ran shows. Across a reboot only the wall clock can tell how long it took; a clock
    /// that stands before the last known date (no battery: 1970) tells nothing, and elapsed time
    /// then goes on from where it was last stored.
    ///
    /// - Returns: the anchor, and the size of the step that was found; zero for none.
    func resumed(
        bootID: String,
        sinceBoot: Timestamp,
        wall: Timestamp
    ) -> (anchor: ClockAnchor, step: TimeSpan) {
        var anchor = self
        anchor.bootID = bootID
        if bootID != self.bootID {
            // Once it was lost, and is right again, it tells how long that took and not how long this.
            let wasLost = elapsed + shift < .earliestOfClocks
            let since = wasLost ? elapsed : wall - shift
            let resumed = max(self.bootID.isEmpty ? wall : since, elapsed)
            anchor.elapsedBase = resumed - sinceBoot
        }
        anchor.elapsed = sinceBoot + anchor.elapsedBase
        let measured = wall - anchor.elapsed
        let step = measured - shift
        guard !self.bootID.isEmpty, step.magnitude < .milliseconds(1) else {
            anchor.shift = measured
            return (anchor, self.bootID.isEmpty ? .zero : step)
        }
        // The distance between two readings, not a step: dates are to stay what they were.
        return (anchor, .zero)
    }
}
