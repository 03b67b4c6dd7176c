// SPDX-License-Identifier: Apache-2.0

import Cluster
import JobModel
import Logging
import Schedules

extension ClockDistance.News {
    /// Tells who runs this host that its clock is off, and that it is right again.
    func tell(_ log: Logger) {
        switch self {
        case .isOff(let difference):
            let span = TimeSpan(microseconds: difference)
            // What to do about it is `doctor`'s to say.
            log.warning(
                "the clock of this host is not the database's: jobs by date follow it where this node leads",
                metadata: [difference < 0 ? "behind" : "ahead": "\(span.magnitude)"]
            )
        case .isRightAgain: log.notice("the clock of this host is the database's again")
        }
    }
}
