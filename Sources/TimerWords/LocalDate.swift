// SPDX-License-Identifier: Apache-2.0

import Glibc
public import Schedules

/// Dates as the reader's own clock shows them.
///
/// It holds one "now" for a whole command or page, so that all its parts agree.
public struct LocalDate: Sendable {
    public var now: Timestamp
    public var zone: Zone

    public init(now: Timestamp, zone: Zone) { (self.now, self.zone) = (now, zone) }

    /// "2026-12-01 09:00:05 CET"; milliseconds follow the seconds unless there are none.
    public func full(_ date: Timestamp) -> String {
        "\(clock(date)) \(abbreviation(at: date))"
    }

    /// "2026-12-01 09:00:05", or "2026-12-01 09:00:05.250"; with its zone where that clock shows the same twice.
    public func dayAndTime(_ date: Timestamp) -> String {
        clock(date) + zoneOfTwo(date)
    }

    /// " CET" where clocks are set back and show the same once more, so that the two are told apart; else nothing.
    public func zoneOfTwo(_ date: Timestamp) -> String {
        let zone = zoneShown(at: date)
        guard case .repeated = zone.resolve(zone.localTime(at: date)) else { return "" }
        return " \(zone.abbreviation(at: date))"
    }

    /// "2026-12-01 09:00:05", or "2026-12-01 09:00:05.250"; below a millisecond cut off.
    ///
    /// Where clocks are set back, two dates have the same.
    public func clock(_ date: Timestamp) -> String {
        let text = digits(date)
        let fraction = text.dropFirst(20).prefix(3)
        return text.prefix(19) + (fraction == "000" ? "" : ".\(fraction)")
    }

    /// "in 4 min", "3 s ago", "now".
    public func distance(_ date: Timestamp) -> String {
        RelativeTime.words(from: now, to: date)
    }

    /// A date from the wire on the reader's clock; a text that is not RFC 3339 stays as it is.
    public func local(_ text: String) -> String {
        Timestamp(rfc3339: text).map(full) ?? text
    }

    /// The zone; UTC for a date at which its clock shows a year that has not four digits.
    public func zoneShown(at date: Timestamp) -> Zone {
        let shown = Timestamp(microseconds: zone.localTime(at: date).microseconds)
        return (Timestamp.distantPast...Timestamp.distantFuture).contains(shown) ? zone : .utc
    }

    /// "CET": of the clock that a date is shown by; see `zoneShown`.
    public func abbreviation(at date: Timestamp) -> String {
        zoneShown(at: date).abbreviation(at: date)
    }

    /// "2026-12-01 09:00:05.250000": what the clock of the zone shows; see `zoneShown`.
    public func digits(_ date: Timestamp) -> String {
        let local = zoneShown(at: date).localTime(at: date)
        let shown = Timestamp(microseconds: local.microseconds)
        return shown.rfc3339.dropLast().split(separator: "T").joined(separator: " ")
    }
}

extension Timestamp {
    /// Now, by the system's clock.
    public static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(
            microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        )
    }
}
