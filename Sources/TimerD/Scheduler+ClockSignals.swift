// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import Schedules

extension Scheduler {
    /// Handles a signal of the clock watch.
    func clockSignalled(_ signal: ClockWatch.Signal) {
        switch signal {
        case .dateHasCome: windowDue()
        case .clockWasStepped:
            let step = clockStepped()
            if step != .zero {
                log.notice("the wall clock was stepped", metadata: ["step": "\(step)"])
            }
        }
    }
}
