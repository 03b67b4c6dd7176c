// SPDX-License-Identifier: Apache-2.0

import Logging
import Schedules
import TimerControl

/// Which zones have other rules than the jobs' dates, and how far that has been seen to.
struct ZonesInUse: Sendable {
    /// What a look has found last.
    fileprivate(set) var changes = ZoneChanges()
    /// The rules whose jobs have been gone through.
    fileprivate var followed: Set<ZoneRulesID> = []
    fileprivate var isFollowing = false
}

/// Jobs go over to what the files of their zones say: looked at with each window, when settings are read
/// again, and at the start.
extension Scheduler {
    /// Looks at the files of the zones in use.
    func lookAtZones() {
        zones.followed = []
        record { try $0.lookAtZones() }
    }

    /// Goes by what a look has found: no job begins a fire by rules that are over.
    func take(_ changes: ZoneChanges) {
        let before = zones.changes
        guard changes != before || !zones.followed.isSuperset(of: changes.over) else { return }
        for (id, rules) in changes.stale where before.stale[id] == nil {
            let name = rules.name.isEmpty ? "local" : rules.name
            log.notice("the rules of a zone have changed", metadata: ["zone": "\(name)"])
        }
        for (id, reason) in changes.gone where before.gone[id] == nil {
            log.warning("a zone is gone", metadata: ["error": "\(reason)"])
        }
        zones.changes = changes
        terms.set(changes)
        zones.followed = zones.followed.filter {
            changes.over.contains($0) && before.stale[$0] == changes.stale[$0]
        }
        fireLocks.rules = changes.over
        // Arms the jobs again whose rules are back: their timers were taken out.
        for entry in armed.all where entry.timer == nil && entry.isBy(before.over) {
            arm(entry.job.id)
        }
        goOnLocked(of: Array(lockedFires.keys))
        followZones()
        if !Set(before.gone.keys).subtracting(changes.gone.keys).isEmpty { lookAtHeld(all: true) }
    }

    /// Goes through the jobs by rules that are over, a piece at a time: first those that are armed.
    ///
    /// A change of a zone asks for all that is armed, as a step of the clock does.
    func followZones() {
        let rules = zones.changes.over.subtracting(zones.followed)
        guard !rules.isEmpty, !zones.isFollowing, isRecovered, !isStopping else { return }
        zones.isFollowing = true
        let ids = armed.all.filter { $0.isBy(rules) }.map(\.job.id).sorted()
        for id in ids { armed.stopTimer(of: id) }
        followArmed(ids[...], by: rules)
    }

    private func followArmed(_ ids: ArraySlice<JobID>, by rules: Set<ZoneRulesID>) {
        let piece = Array(ids.prefix(JobTransaction.zonePiece))
        guard !piece.isEmpty else { return followWaiting(rules.sorted()[...], by: rules) }
        let rest = ids.dropFirst(piece.count)
        record(unstarted: Set(piece.compactMap { armed[$0]?.unstartedFire })) {
            try $0.followZones(piece)
        } durable: { scheduler, _ in
            scheduler.followArmed(rest, by: rules)
        } dropped: { scheduler, error in
            for id in piece { scheduler.hold(id, dropped: error) }
            scheduler.followArmed(rest, by: rules)
        }
    }

    private func followWaiting(
        _ left: ArraySlice<ZoneRulesID>,
        after cursor: JobID = JobID(rawValue: 0),
        by rules: Set<ZoneRulesID>
    ) {
        guard let first = left.first, !isStopping else {
            zones.isFollowing = false
            zones.followed.formUnion(rules)
            // What has changed meanwhile.
            return followZones()
        }
        record {
            try $0.followZone(of: first, after: cursor)
        } durable: { scheduler, next in
            scheduler.followWaiting(
                next == nil ? left.dropFirst() : left,
                after: next ?? JobID(rawValue: 0),
                by: rules
            )
        } dropped: { scheduler, _ in
            // Its jobs are computed anew as each of them is loaded.
            scheduler.followWaiting(left.dropFirst(), by: rules)
        }
    }
}

extension ArmedJob {
    /// Whether its dates were computed by one of these rules.
    fileprivate func isBy(_ rules: Set<ZoneRulesID>) -> Bool {
        job.rules.map(rules.contains) ?? false
    }
}
