// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The limits that a form asks for, beside those that it was made with.
struct QueueLimits {
    private let queue: String
    private let reserved: Limit
    private let rate: Limit

    /// One of them: what it was, and what it is to be, as texts.
    private struct Limit {
        var name: String
        var shown: String?
        var wanted: String

        /// - Throws: `ControlError` `conflict` where it is neither what was shown nor what is wanted.
        func isChanged(_ now: String) throws(ControlError) -> Bool {
            guard let shown else { return wanted != now }
            guard wanted != shown, wanted != now else { return false }
            guard now == shown else {
                throw ControlError(
                    .conflict,
                    "'\(name)' is \(now) now, not \(shown): somebody has changed it since; it stays as it is"
                )
            }
            return true
        }
    }

    /// - Throws: `ControlError` for what is no number.
    init(_ visit: Visit, _ queue: String) throws(ControlError) {
        self.queue = queue
        let wanted = try visit.number("maxReserved") ?? 0
        reserved = Limit(
            name: "maxReserved",
            shown: visit.field("shownReserved"),
            wanted: "\(wanted)"
        )
        rate = Limit(
            name: "maxRate",
            shown: visit.field("shownRate"),
            wanted: visit.field("maxRate") ?? "none"
        )
    }

    /// What the daemon is asked for: those alone that the form has changed.
    func request(changing now: TaskQueue?) throws(ControlError) -> SetQueue {
        var request = SetQueue(queue: queue)
        if try reserved.isChanged("\(now?.maxReserved ?? 0)") {
            request.maxReserved = Int(reserved.wanted)
        }
        if try rate.isChanged(now?.maxRate ?? "none") { request.maxRate = rate.wanted }
        return request
    }
}
