// SPDX-License-Identifier: Apache-2.0

import Foundation
package import RunLoopTimers

/// Tells the service manager that the timers' thread is alive.
///
/// It is a timer on that thread: if the loop is stuck the messages stop, and the manager restarts the daemon.
package final class Watchdog: Sendable {
    private let manager: ServiceManager

    /// Nil if the manager wants no such messages.
    package init?(_ manager: ServiceManager, on thread: RunLoopThread) {
        guard let interval = manager.watchdogInterval else { return nil }
        self.manager = manager
        // Half of what it allows, as sd_watchdog_enabled(3) advises.
        let half = Double(interval / .milliseconds(2)) / 1000
        let timer = WeakTimer(
            fireDate: .now,
            interval: half,
            repeats: true,
            // The tolerance lets it share wake-ups with other timers.
            tolerance: half / 4,
            target: self
        ) { watchdog, _ in
            watchdog.manager.tell(.alive)
        }
        thread.add(timer)
    }
}
