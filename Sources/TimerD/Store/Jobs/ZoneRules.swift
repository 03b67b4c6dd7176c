// SPDX-License-Identifier: Apache-2.0

import Locks
import Platform
import SQLite
import Schedules
import TimerControl

/// The rules of a zone by which a job's dates were computed.
///
/// The database keeps the zone's file as it was then. So a job's schedule and its next date always go by
/// the same rules, and a change of the file is noticed, also one that came while no daemon ran.
struct ZoneRules: Hashable, Sendable {
    /// Equal for the same name and the same rules.
    var id: ZoneRulesID
    /// As the job's words name it; empty for the machine's own zone where that has no name.
    var name: String
    var zone: Zone

    init(name: String, zone: Zone) {
        self.name = name
        self.zone = zone
        // Zone files are root's, or of whom the daemon runs as: nobody else makes two that collide.
        var hash = FNV1a(name.utf8)
        hash.add(0)
        hash.add(zone.source)
        id = ZoneRulesID(rawValue: Int64(bitPattern: hash.hash))
    }

    /// The rules that a new job's dates are computed by.
    ///
    /// Nil where they cannot change: of a schedule without a zone, of UTC, of a POSIX TZ string.
    init?(_ words: ScheduleWords, _ schedule: Schedule) {
        guard let zone = schedule.zone else { return nil }
        let name = schedule.ownZone ?? words.tz ?? ""
        guard name.isEmpty || zone.source.starts(with: "TZif".utf8) else { return nil }
        self.init(name: name, zone: zone)
    }

    /// How the zone of a name is found; the empty name is the machine's own.
    ///
    /// It throws `badZone` for one that is gone, `unreadZone` for one that cannot be read now.
    typealias Finder = @Sendable (String) throws(ScheduleError) -> Zone

    /// Finds zones in the zone database.
    static let inDatabase: Finder = { (name) throws(ScheduleError) in
        name.isEmpty ? .local : try Zone(named: name)
    }
}

/// The rules that the databases of this process hold, so that a job's row is read without another.
///
/// Bounded by how often the zones in use change. Any thread.
enum KnownZoneRules {
    private static let zones = Locked<[ZoneRulesID: Zone]>([:])

    static func add(_ rules: ZoneRules) { zones.withLock { $0[rules.id] = rules.zone } }

    /// Nil for rules that no database of this process holds: a job by them goes by the file as it is now.
    static func zone(_ id: ZoneRulesID) -> Zone? { zones.withLock { $0[id] } }

    /// Adds what a database holds.
    static func read(_ database: Database) throws {
        for (id, zone) in try ZoneRuleStore(database).zones() {
            // A damaged row is treated as one that is missing.
            if let zone { zones.withLock { $0[id] = zone } }
        }
    }
}

/// What has become of rules by which dates of jobs were computed.
struct ZoneChanges: Hashable, Sendable {
    /// Rules that are over, with those that follow them.
    var stale: [ZoneRulesID: ZoneRules] = [:]
    /// Rules of zones that are gone, with the reason for which their jobs are held.
    var gone: [ZoneRulesID: String] = [:]

    /// All rules that no job fires by any more.
    var over: Set<ZoneRulesID> { Set(stale.keys).union(gone.keys) }
}
