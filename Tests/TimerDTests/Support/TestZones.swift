// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules

/// The zone database, whose zones a test gives other rules or takes away.
final class TestZones: Sendable {
    private let changed = Locked<[String: Zone?]>([:])
    private let unread = Locked<Set<String>>([])

    func find(_ name: String) throws(ScheduleError) -> Zone {
        guard !unread.withLock({ $0.contains(name) }) else {
            throw ScheduleError(.unreadZone, "zone '\(name)' cannot be read now: no descriptor")
        }
        guard let zone = changed.withLock({ $0[name] }) else { return try Zone(named: name) }
        guard let zone else { throw ScheduleError(.badZone, "zone '\(name)' is unknown") }
        return zone
    }

    /// Gives a zone the rules of another.
    func set(_ name: String, as other: String) throws {
        let zone = Zone(named: name, source: try Zone(named: other).source)
        changed.withLock { $0[name] = .some(zone) }
    }

    func remove(_ name: String) { changed.withLock { $0[name] = .some(nil) } }

    /// Has a zone's file unread from now on, for want of descriptors.
    func leaveUnread(_ name: String) { unread.withLock { _ = $0.insert(name) } }

    func restore(_ name: String) {
        changed.withLock { $0[name] = nil }
        unread.withLock { _ = $0.remove(name) }
    }
}
