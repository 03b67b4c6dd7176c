// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// What ties elapsed time to the machine's clocks, as the store keeps it between two daemons.
package struct ClockAnchor: Hashable, Sendable {
    /// The boot in which `elapsedBase` holds: the kernel's name of it, and behind a slash when the first process
    /// began, if that is known.
    ///
    /// A container's first process begins with the container, and the machine's with the machine.
    package var bootID: String
    /// Elapsed time = CLOCK_BOOTTIME + this.
    package var elapsedBase: TimeSpan
    /// Wall time = elapsed time + this.
    package var wallOffset: TimeSpan
    /// Elapsed time when it was last stored; no later reading lies before it.
    package var elapsed: Timestamp

    /// Whether the machine, or the container, has been started since; `bootID`: the present boot.
    package func hasStarted(_ bootID: String) -> Bool {
        guard !self.bootID.isEmpty else { return false }
        let (before, now) = (Boot(self.bootID), Boot(bootID))
        guard before.kernel == now.kernel else { return true }
        // Where one of them is not known, there is nothing to compare.
        guard let earlier = before.firstProcess, let later = now.firstProcess else { return false }
        return earlier != later
    }

    private struct Boot {
        var kernel: Substring
        var firstProcess: Substring?

        init(_ id: String) {
            let parts = id.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            kernel = parts[0]
            firstProcess = parts.count > 1 ? parts[1] : nil
        }
    }

    /// The anchor for a daemon that starts now.
    ///
    /// Within one boot elapsed time goes on by CLOCK_BOOTTIME, so a step of the wall clock is noticed even if
    /// no daemon ran. Across a reboot only the wall clock tells how much time passed. If it stands before the
    /// last known date (no battery: 1970) it tells nothing: elapsed time then goes on from where it was last
    /// stored.
    ///
    /// `ahead`: by how much the wall clock that was stored is ahead of this one, where that was another host's.
    ///
    /// - Returns: the anchor, and the size of the step that was found; zero for none.
    package func resumed(
        bootID: String,
        sinceBoot: Timestamp,
        wall: Timestamp,
        before ahead: TimeSpan = .zero
    ) -> (anchor: ClockAnchor, step: TimeSpan) {
        var anchor = self
        anchor.bootID = bootID
        // A container's start leaves the machine's clocks as they are.
        if Boot(bootID).kernel != Boot(self.bootID).kernel {
            // The stored wall clock was unset: its difference to now is its error, not the time the machine
            // was off.
            let wasLost = elapsed + wallOffset < .earliestOfClocks
            let since = wasLost ? elapsed : wall + ahead - wallOffset
            let resumed = max(self.bootID.isEmpty ? wall : since, elapsed)
            anchor.elapsedBase = resumed - sinceBoot
        }
        anchor.elapsed = sinceBoot + anchor.elapsedBase
        let measured = wall - anchor.elapsed
        let step = measured - wallOffset
        guard !self.bootID.isEmpty, step.magnitude < .milliseconds(1) else {
            anchor.wallOffset = measured
            return (anchor, self.bootID.isEmpty ? .zero : step)
        }
        // Less than 1 ms is the distance between two readings, not a step: dates stay as they were.
        return (anchor, .zero)
    }

    package init(
        bootID: String,
        elapsedBase: TimeSpan,
        wallOffset: TimeSpan,
        elapsed: Timestamp
    ) {
        self.bootID = bootID
        self.elapsedBase = elapsedBase
        self.wallOffset = wallOffset
        self.elapsed = elapsed
    }
}

extension Timestamp {
    /// A clock that shows less was never set: this program did not exist then.
    ///
    /// Without a battery a machine shows 1970 until the network tells it the time. It is 2026-01-01.
    package static let earliestOfClocks = Timestamp(microseconds: 1_767_225_600_000_000)
}

extension TimeSpan {
    /// The length without its direction; saturates.
    package var magnitude: TimeSpan {
        TimeSpan(microseconds: microseconds == .min ? .max : abs(microseconds))
    }
}
