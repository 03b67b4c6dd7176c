// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The owners table: who has, or had, jobs.
struct Owners {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// The owner's row; `OwnerID.nobody` for one who never had a job.
    ///
    /// What is looked for by that is found to be nothing, with as much work as what another owns.
    func id(of owner: Owner) throws -> OwnerID {
        try database.prepare(SQL.id).first(owner.uid, owner.name) { try $0.get(0) } ?? .nobody
    }

    /// Makes the owner's row where there is none, and counts `jobs` more live jobs in it.
    func add(_ jobs: Int, to owner: Owner) throws -> OwnerID {
        let id = try id(of: owner)
        guard id == .nobody else {
            try count(jobs, of: id)
            return id
        }
        try database.prepare(SQL.insert).run(owner.uid, owner.name, jobs)
        return OwnerID(rawValue: database.lastInsertRowID)
    }

    /// Keeps the number of live jobs of an owner, which `job.add` is limited by.
    func count(_ change: Int, of owner: OwnerID) throws {
        try database.prepare(SQL.count).run(owner, change)
    }

    func liveJobs(of owner: OwnerID) throws -> Int {
        try database.prepare(SQL.liveJobs).first(owner) { try $0.get(0) } ?? 0
    }

    /// Gives the row of the user whose daemon this is the name that this user has now: a daemon of one
    /// user knows its user by uid alone.
    func rename(_ own: Owner) throws {
        try database.prepare(SQL.rename).run(own.uid, own.name)
    }

    enum SQL {
        static let id = "SELECT id FROM owners WHERE uid = ?1 AND name = ?2"
        static let insert = "INSERT INTO owners (uid, name, live) VALUES (?1, ?2, ?3)"
        static let count = "UPDATE owners SET live = live + ?2 WHERE id = ?1"
        static let liveJobs = "SELECT live FROM owners WHERE id = ?1"
        static let rename = """
            UPDATE OR IGNORE owners SET name = ?2
            WHERE id = (SELECT min(id) FROM owners WHERE uid = ?1) AND id <> 0 AND name <> ?2
            """
    }
}

extension OwnerID {
    /// A row that there never is.
    static let nobody = Self(rawValue: -1)
}
