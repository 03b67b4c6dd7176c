// SPDX-License-Identifier: Apache-2.0

import Foundation
import RunLoopTimers

/// Tells the service manager that the timers' thread turns: a timer on that very thread, so that a
/// loop that is stuck falls silent and the daemon is started again.
final class Watchdog: Sendable {
    private let manager: ServiceManager

    /// Nil where the manager does not want to hear of it.
    init?(_ manager: ServiceManager, on thread: RunLoopThread) {
        guard let interval = manager.watchdogInterval else { return nil }
        self.manager = manager
        // Half of what it allows, as sd_watchdog_enabled(3) advises.
        let half = Double(interval / .milliseconds(2)) / 1000
        let timer = WeakTimer(
            fireDate: .now,
            interval: half,
            repeats: true,
            // Shares its wake-ups with others where that can be.
            tolerance: half / 4,
            target: self
        ) { watchdog, _ in
            watchdog.manager.tell(.alive)
        }
        thread.add(timer)
    }
}
