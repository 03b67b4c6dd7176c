// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The owners table: who has, or had, jobs.
struct Owners {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// The owner's row; `OwnerID.nobody` for one who never had a job.
    ///
    /// A search for the rows of `nobody` finds nothing, with as much work as one for another owner's rows.
    func id(of owner: Owner) throws -> OwnerID {
        try database.prepare(SQL.id).first(owner.uid, owner.name) { try $0.get(0) } ?? .nobody
    }

    /// The owner's row, which is made where there is none.
    ///
    /// - Throws: `GoneOwner` for an owner who is stored as gone.
    func row(of owner: Owner) throws -> OwnerID { try standing(of: owner).id }

    /// The owner's row, made where there is none, and whether the owner is in maintenance.
    func standing(of owner: Owner) throws -> (id: OwnerID, isInMaintenance: Bool) {
        let found = try database.prepare(SQL.id).first(owner.uid, owner.name) {
            (
                id: try $0.get(0, as: OwnerID.self), held: try $0.get(1, as: String?.self),
                isInMaintenance: try $0.get(2, as: Bool.self)
            )
        }
        if let found {
            if let reason = found.held {
                throw GoneOwner(owner, ControlError(.notPermitted, "you are \(reason)"))
            }
            return (found.id, found.isInMaintenance)
        }
        try database.prepare(SQL.insert).run(owner.uid, owner.name)
        return (OwnerID(rawValue: database.lastInsertRowID), false)
    }

    /// Changes what is counted of an owner.
    func count(_ change: JobTally.Share, of owner: OwnerID) throws {
        try database.prepare(SQL.count).run(owner, change.live, change.bytes)
    }

    /// How many live jobs an owner has, which limits `job.add`.
    func liveJobs(of owner: OwnerID) throws -> Int {
        let stored = try database.prepare(SQL.liveJobs).value(owner, as: Int.self) ?? 0
        return try stored + Outbox(database).share(of: owner).live
    }

    /// The owners of live jobs, without root, and without one whose row cannot be read: nor can his jobs, which are held as
    /// they come due.
    func others() throws -> [KnownOwner] {
        try database.prepare(SQL.others).all { row -> KnownOwner? in
            guard let uid: UInt32 = row.ifReadable(1), let name: String = row.ifReadable(2) else {
                return nil
            }
            return KnownOwner(
                id: try row.get(0),
                owner: Owner(uid: uid, name: name),
                held: row.ifReadable(3)
            )
        }.compactMap(\.self)
    }

    /// The owners that a user means by a name or a uid, which may have had several names.
    ///
    /// - Throws: `notPermitted` if `words` mean somebody else than a caller who is no administrator.
    func meant(by words: String, _ caller: Caller) throws -> [KnownOwner] {
        guard caller.isAdministrator || caller.owner.isMeant(by: words) else {
            throw ControlError(
                .notPermitted,
                "the jobs of '\(words)' are for that user and administrators; "
                    + "you are '\(caller.owner.name)'"
            )
        }
        let found = try database.prepare(SQL.meant).all(words, UInt32(words)) { row in
            KnownOwner(
                id: try row.get(0),
                owner: Owner(uid: try row.get(1), name: try row.get(2)),
                held: try row.get(3)
            )
        }
        return found.filter { caller.isAdministrator || $0.owner == caller.owner }
    }

    /// Notes why the owner's jobs are held; nil if they are not.
    func hold(_ owner: OwnerID, _ reason: String?) throws {
        try database.prepare(SQL.hold).run(owner, reason)
    }

    /// Why the owner's jobs are held; nil if they are not.
    func held(_ owner: OwnerID) throws -> String? {
        try database.prepare(SQL.held).first(owner) { try $0.get(0, as: String?.self) }
            .flatMap(\.self)
    }

    // MARK: - Maintenance

    /// Who is in maintenance, and since when; the owner of that row alone unless it is nil.
    func inMaintenance(_ owner: OwnerID?) throws -> [(owner: Owner, since: Timestamp)] {
        try database.prepare(SQL.inMaintenance).all(owner) {
            (Owner(uid: try $0.get(0), name: try $0.get(1)), try $0.get(2))
        }
    }

    /// Since when the owner is in maintenance; nil while it is not.
    func maintenance(of owner: OwnerID) throws -> Timestamp? {
        try database.prepare(SQL.maintenance).first(owner) { try $0.get(0, as: Timestamp?.self) }
            .flatMap(\.self)
    }

    func setMaintenance(of owner: OwnerID, since date: Timestamp?) throws {
        try database.prepare(SQL.setMaintenance).run(owner, date)
    }

    /// How many bytes are stored for the owner: see the schema.
    func bytes(of owner: OwnerID) throws -> Int64 {
        let stored = try database.prepare(SQL.bytes).value(owner, as: Int64.self) ?? 0
        let share = try Outbox(database).share(of: owner)
        return stored + share.bytes + share.reasons
    }

    /// The users other than root with more than `most` bytes in the store.
    func full(beyond most: Int64) throws -> [OwnerID] {
        try database.prepare(SQL.full).all(most) { try $0.get(0) }
    }

    /// Updates the name in the row of the user that this daemon serves alone.
    func rename(_ own: Owner) throws {
        try database.prepare(SQL.rename).run(own.uid, own.name)
    }

    enum SQL {
        static let id = """
            SELECT id, held, maintenance_us IS NOT NULL FROM owners WHERE uid = ?1 AND name = ?2
            """
        static let insert = "INSERT INTO owners (uid, name, live) VALUES (?1, ?2, 0)"
        static let count = """
            UPDATE owners SET live = live + ?2, bytes = bytes + ?3 WHERE id = ?1
            """
        static let liveJobs = "SELECT live FROM owners WHERE id = ?1"
        static let meant = "SELECT id, uid, name, held FROM owners WHERE name = ?1 OR uid = ?2"
        static let others = """
            SELECT id, uid, name, held FROM owners
            WHERE live + \(Outbox.SQL.sumOfOwner("live")) > 0 AND id <> 0
            ORDER BY id
            """
        static let hold = "UPDATE owners SET held = ?2 WHERE id = ?1 AND held IS NOT ?2"
        static let held = "SELECT held FROM owners WHERE id = ?1"
        static let maintenance = "SELECT maintenance_us FROM owners WHERE id = ?1"
        static let inMaintenance = """
            SELECT uid, name, maintenance_us FROM owners
            WHERE maintenance_us IS NOT NULL AND (?1 IS NULL OR id = ?1) ORDER BY id
            """
        static let setMaintenance = "UPDATE owners SET maintenance_us = ?2 WHERE id = ?1"
        static let all = "SELECT id, uid, name FROM owners WHERE id <> 0"
        static let move = "UPDATE OR IGNORE owners SET uid = ?2 WHERE id = ?1"
        static let bytes = "SELECT bytes FROM owners WHERE id = ?1"
        static let full = """
            SELECT id FROM owners
            WHERE bytes + \(Outbox.SQL.sumOfOwner("bytes + outbox.reasons")) > ?1 AND uid <> 0 ORDER BY id
            """
        static let rename = """
            UPDATE OR IGNORE owners SET name = ?2
            WHERE id = (SELECT min(id) FROM owners WHERE uid = ?1) AND id <> 0 AND name <> ?2
            """
    }
}

/// An owner as the store knows it.
struct KnownOwner: Hashable, Sendable {
    var id: OwnerID
    var owner: Owner
    /// Why its jobs are held; nil if they are not.
    var held: String?
}

/// A refusal because an owner is stored as gone, who may be back by now.
struct GoneOwner: Error {
    let owner: Owner
    /// What to answer if the owner is not.
    let refusal: ControlError

    init(_ owner: Owner, _ refusal: ControlError) {
        (self.owner, self.refusal) = (owner, refusal)
    }
}

extension OwnerID {
    /// A row that never exists.
    static let nobody = Self(rawValue: -1)
    static let root = Self(rawValue: 0)
}
