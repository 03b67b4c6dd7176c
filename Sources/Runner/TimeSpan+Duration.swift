// SPDX-License-Identifier: Apache-2.0

package import Schedules

extension TimeSpan {
    /// The span for the standard library's clocks.
    package var duration: Duration { .microseconds(microseconds) }
}
