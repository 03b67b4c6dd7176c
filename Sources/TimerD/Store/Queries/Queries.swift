// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// What may be asked of the database without changing it; runs on the reader's connection.
struct Queries {
    let database: Database

    /// How many jobs a page of a list looks at, of which a filter may leave none: others' lists wait for it.
    var mostLookedAt = 10_000
    /// How many bytes of definitions a page of a list reads, where it searches them.
    var mostSearched = 2 << 20

    init(_ database: Database) { self.database = database }

    /// The row of the only owner whose rows may be read; nil for all.
    func id(of owner: Owner?) throws -> OwnerID? {
        try owner.map { try Owners(database).id(of: $0) }
    }

    /// The row of the owner that `words` mean, among those that the caller may know of; `nobody` where there is none.
    ///
    /// Without words, the row of the only owner whose rows the caller may read; nil for all.
    ///
    /// - Throws: `invalidParams` for words that mean more than one.
    func owner(meant words: String?, _ caller: Caller) throws -> OwnerID? {
        guard let words else { return try id(of: caller.onlyOwner) }
        let owners = try Owners(database).meant(by: words, caller)
        guard owners.count <= 1 else {
            let names = owners.map { "'\($0.owner.name)' (uid \($0.owner.uid))" }
            throw ControlError(
                .invalidParams,
                "parameter 'owner' is '\(words)', which is \(names.joined(separator: " and "))"
            )
        }
        return owners.first?.id ?? .nobody
    }

    func job(_ id: JobID) throws -> StoredJob? { try JobStore(database).job(id) }

    /// The job, for a page; nil also if `room` has no place for it, and is full then.
    func job(_ id: JobID, hasLast: Bool, in room: PageRoom?) throws -> StoredJob? {
        try database.prepare(JobStore.SQL.byID).page(id) { row -> StoredJob? in
            if let room, !room.takes(job: row, hasLast: hasLast) { return nil }
            return try JobRow.job(from: row)
        }.first
    }

    /// The job, if the caller may know of it.
    ///
    /// A job of another owner takes as much work as one that does not exist.
    func job(_ id: JobID, for caller: Caller) throws -> StoredJob? {
        guard let owner = try self.id(of: caller.onlyOwner) else { return try job(id) }
        return try JobStore(database).job(id, of: owner)
    }

    /// The live job of that name, else the one that was the last to have it.
    func jobID(named name: String, owner: OwnerID) throws -> JobID? {
        try JobStore(database).newestID(named: name, owner: owner)
    }

    func run(_ id: RunID) throws -> Run? {
        try database.prepare(SQL.run).first(id) { RunRow.run(from: $0).run }
    }

    /// The run, if the caller may know of it; nil also if `room` has no place for it, and is full then.
    func run(_ id: RunID, for caller: Caller, in room: PageRoom? = nil) throws -> Run? {
        func read(_ row: borrowing Row) -> Run? {
            if let room, !room.takes(run: row) { return nil }
            return RunRow.run(from: row).run
        }
        guard let owner = try self.id(of: caller.onlyOwner) else {
            return try database.prepare(SQL.run).first(id) { read($0) }.flatMap(\.self)
        }
        return try database.prepare(SQL.runOfOwner).first(id, owner) { read($0) }.flatMap(\.self)
    }

    func liveJobs() throws -> (scheduled: Int, paused: Int, held: Int) {
        try database.prepare(SQL.liveJobs).first {
            (try $0.get(0), try $0.get(1), try $0.get(2))
        } ?? (0, 0, 0)
    }

    enum SQL {
        static let run = """
            SELECT \(RunRow.columns), fires.id FROM \(RunRow.source) WHERE runs.id = ?1
            """
        /// Of another owner's run it reads only whose it is.
        static let runOfOwner = """
            SELECT \(RunRow.columns), fires.id
            FROM runs CROSS JOIN fires ON fires.id = runs.fire_id
            WHERE runs.id = ?1 AND fires.owner_id = ?2
            """
        static let liveJobs = """
            SELECT scheduled + \(Outbox.SQL.sum("scheduled")),
                paused + \(Outbox.SQL.sum("paused")), held
            FROM daemon_state
            """
    }
}
