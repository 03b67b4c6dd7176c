// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Until when this node may begin anything: what every beginning looks at last.
///
/// By CLOCK_BOOTTIME, which counts the time of a suspend, and goes on while the process is stopped: a node that wakes up
/// late finds it passed.
package final class Fence: Sendable {
    /// In µs of CLOCK_BOOTTIME.
    private let end = Atomic<Int64>(.min)

    package init() {}

    /// Lets this node begin what it has, up to `microseconds` of CLOCK_BOOTTIME.
    package func extend(to microseconds: Int64) { end.store(microseconds, ordering: .releasing) }

    /// Has it begin nothing from here on.
    package func close() { end.store(.min, ordering: .releasing) }

    /// Whether something may begin now.
    package var isOpen: Bool { Self.now() < end.load(ordering: .acquiring) }

    /// For how many µs more something may begin; 0 where nothing may.
    package var remaining: Int64 {
        let end = end.load(ordering: .acquiring)
        return end > 0 ? max(0, end - Self.now()) : 0
    }

    /// CLOCK_BOOTTIME in µs.
    package static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
