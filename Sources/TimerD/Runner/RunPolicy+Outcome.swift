// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension RunPolicy {
    /// How its runs are ended.
    var teardown: Teardown { .terminate(killAfter: killAfter.duration) }

    /// Whether a run that ended so did what it was to do.
    func isSuccess(_ outcome: RunOutcome) -> Bool {
        guard case .exited(let status) = outcome else { return false }
        return successCodes.contains(status)
    }
}

extension TimeSpan {
    /// The same for the standard library's clocks.
    var duration: Duration { .microseconds(microseconds) }
}
