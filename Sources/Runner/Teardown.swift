// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How a process group is ended: signals, each with the time to heed it, and at last SIGKILL.
package struct Teardown: Sendable, Hashable {
    /// A signal, and how long to wait for the group to end before the next one.
    struct Step: Sendable, Hashable {
        var signal: Int32
        var grace: Duration
    }

    /// What is tried before SIGKILL, in order.
    var steps: [Step]

    /// SIGTERM, then SIGKILL after `killAfter`.
    static func terminate(killAfter: Duration) -> Self {
        Self(steps: [Step(signal: SIGTERM, grace: killAfter)])
    }

    /// SIGTERM, then SIGKILL after 5 s.
    package static let standard = terminate(killAfter: .seconds(5))
    /// As `standard`, but what the process has left behind may go on for 20 s first; the process itself may not.
    ///
    /// A mail program returns once it has the mail, and a process of its own delivers it. SIGCONT does nothing to what
    /// is not stopped.
    package static let afterLeftovers = Self(
        steps: [Step(signal: SIGCONT, grace: .seconds(20))] + standard.steps
    )
    /// SIGKILL at once.
    package static let kill = Self(steps: [])

    /// Every signal in order, SIGKILL included; the grace after SIGKILL is for the kernel.
    var signals: [Step] {
        steps + [Step(signal: SIGKILL, grace: .seconds(1))]
    }

    /// How long all of it takes if no process heeds a signal.
    package var length: Duration { signals.reduce(.zero) { $0 + $1.grace } }
}
