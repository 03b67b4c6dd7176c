// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension RunPolicy {
    /// How its runs are ended.
    var teardown: Teardown { .terminate(killAfter: killAfter.duration) }
}

extension TimeSpan {
    /// The same for the standard library's clocks.
    var duration: Duration { .microseconds(microseconds) }
}
