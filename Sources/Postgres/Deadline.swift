// SPDX-License-Identifier: Apache-2.0

import Glibc

/// When a call has to have ended; the time of a suspended machine counts.
struct Deadline {
    private let length: Duration
    private var end: ContinuousClock.Instant

    init(in duration: Duration) {
        length = duration
        end = .now + duration
    }

    /// The end of an even part of what is left, for the first of `count` that share it.
    func part(of count: Int) -> Self {
        Self(in: max(end - .now, .zero) / max(count, 1))
    }

    /// Gives the call its whole time again, from now on.
    mutating func renew() { end = .now + length }

    var isOver: Bool { ContinuousClock.now >= end }

    /// What poll(2) takes: rounded up, as it would return just before the end, again and again.
    private var milliseconds: CInt {
        let left = (end - ContinuousClock.now) / .milliseconds(1)
        return CInt(min(max(left.rounded(.up), 0), 1_000_000_000))
    }

    /// Sleeps until `socket` is ready for one of `events`, or broken: what it is ready for; nil once the time is over.
    func wait(for socket: CInt, _ events: CInt) -> CInt? {
        while true {
            var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
            let count = poll(&descriptor, 1, milliseconds)
            // What libpq has closed (POLLNVAL) is for it to say.
            if count > 0 { return CInt(descriptor.revents) }
            // Interrupted by a signal, or ended early.
            if isOver { return nil }
        }
    }
}
