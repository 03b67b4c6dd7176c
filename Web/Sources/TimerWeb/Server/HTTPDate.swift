// SPDX-License-Identifier: Apache-2.0

import Schedules

/// Dates as HTTP has them (RFC 9110, 5.6.7): "Tue, 01 Dec 2026 08:00:00 GMT".
enum HTTPDate {
    static func text(_ date: Timestamp) -> String {
        let clock = ClockFace(date, in: .utc)
        let month = ClockFace.months[clock.month - 1].prefix(3)
        return "\(clock.weekdayName.prefix(3)), \(clock.day.padded) \(month) \(clock.year) "
            + "\(clock.timeWithSeconds) GMT"
    }
}
