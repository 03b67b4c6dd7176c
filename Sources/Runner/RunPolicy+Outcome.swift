// SPDX-License-Identifier: Apache-2.0

package import Schedules
package import TimerControl

extension RunPolicy {
    /// How its runs are ended.
    package var teardown: Teardown { .terminate(killAfter: killAfter.duration) }
}

extension TimeSpan {
    /// The same for the standard library's clocks.
    package var duration: Duration { .microseconds(microseconds) }
}
