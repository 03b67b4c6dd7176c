// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The oldest events, which are removed in the order of their numbers.
extension EventLog {
    /// How many events each owner has among the next `limit` after `seq`, and the last number of them; events
    /// without an owner count as root's.
    func counts(after seq: Int64, _ limit: Int) throws -> [(
        owner: OwnerID, count: Int, last: Int64
    )] {
        try database.prepare(SQL.counts).all(seq, limit) {
            (try $0.get(0), try $0.get(1), try $0.get(2))
        }
    }

    typealias OldEvent = (number: Int64, at: Timestamp, owner: OwnerID)

    func oldest(limit: Int) throws -> [OldEvent] {
        try database.prepare(SQL.oldest).all(limit) {
            (try $0.get(0), try $0.get(1), try $0.get(2))
        }
    }

    /// The numbers and dates of the events after `seq`.
    func dates(after seq: Int64, limit: Int) throws -> [(number: Int64, at: Timestamp)] {
        try database.prepare(SQL.dates).all(seq, limit) { (try $0.get(0), try $0.get(1)) }
    }

    /// The numbers of the owner's oldest events.
    func oldest(of owner: OwnerID, limit: Int) throws -> [Int64] {
        try database.prepare(SQL.oldestOfOwner).all(owner, limit) { try $0.get(0) }
    }

    func delete(through seq: Int64) throws { try database.prepare(SQL.delete).run(seq) }

    func delete(of owner: OwnerID, through seq: Int64) throws {
        try database.prepare(SQL.deleteOfOwner).run(owner, seq)
    }

    /// Makes room: forgets the `count` oldest reasons of `owner` that are texts, and says of the events up to the last of them
    /// that they are not kept any more.
    ///
    /// - Returns: how many there were.
    func forgetOldestTexts(of owner: OwnerID, _ count: Int) throws -> Int {
        let texts = try database.prepare(SQL.oldestTexts).all(owner, count) {
            try $0.get(0, as: Int64.self)
        }
        guard let last = texts.last else { return 0 }
        try database.prepare(SQL.forgetTexts).run(owner, last)
        try notePruned(of: owner, through: last)
        return texts.count
    }

    /// Stores up to which number events of an owner have been removed.
    func notePruned(of owner: OwnerID, through seq: Int64) throws {
        try database.prepare(SQL.notePruned).run(seq)
        try database.prepare(SQL.notePrunedOfOwner).run(owner, seq)
    }

    /// Stores that no event of anybody up to this number is kept.
    func noteAllPruned(through seq: Int64) throws {
        try database.prepare(SQL.notePruned).run(seq)
        try database.prepare(SQL.notePrunedOfAll).run(seq)
    }
}

extension EventLog.SQL {
    static let counts = """
        SELECT coalesce(owner_id, 0), count(*), max(seq) FROM (
            SELECT owner_id, seq FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2) GROUP BY 1
        """
    static let oldest = """
        SELECT seq, at_us, coalesce(owner_id, 0) FROM events ORDER BY seq LIMIT ?1
        """
    static let dates = "SELECT seq, at_us FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2"
    /// Uses events_by_owner.
    static let oldestOfOwner = """
        SELECT seq FROM events WHERE owner_id = ?1 ORDER BY seq LIMIT ?2
        """
    static let oldestTexts = """
        SELECT seq FROM events INDEXED BY events_with_text
        WHERE owner_id = ?1 AND length(CAST(reason AS BLOB)) > 32 ORDER BY seq LIMIT ?2
        """
    static let forgetTexts = """
        UPDATE events INDEXED BY events_with_text SET reason = NULL
        WHERE owner_id = ?1 AND seq <= ?2 AND length(CAST(reason AS BLOB)) > 32
        """
    static let delete = "DELETE FROM events WHERE seq <= ?1"
    static let deleteOfOwner = "DELETE FROM events WHERE owner_id = ?1 AND seq <= ?2"
    static let notePruned = """
        UPDATE daemon_state SET events_pruned = max(events_pruned, ?1)
        """
    static let notePrunedOfOwner = """
        UPDATE owners SET events_pruned = max(events_pruned, ?2) WHERE id = ?1
        """
    static let notePrunedOfAll = "UPDATE owners SET events_pruned = max(events_pruned, ?1)"
}
