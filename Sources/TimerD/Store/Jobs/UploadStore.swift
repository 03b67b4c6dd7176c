// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The rows of uploads' parts: SQL alone, no decision.
struct UploadStore {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// A part without its request.
    struct Part: Hashable, Sendable {
        var id: Int64
        var upload: String
        var part: Int
        var jobs: Int
        var bytes: Int
        var keptAt: Timestamp
    }

    /// An owner's parts, by upload and number; those of `upload` alone unless it is nil.
    func parts(of owner: OwnerID, _ upload: String? = nil) throws -> [Part] {
        try database.prepare(SQL.parts).all(owner, upload) { row in
            Part(
                id: try row.get(0),
                upload: try row.get(1),
                part: try row.get(2),
                jobs: try row.get(3),
                bytes: try row.get(4),
                keptAt: Timestamp(microseconds: try row.get(5))
            )
        }
    }

    /// A part's request, a line of the protocol; nil for one that is gone.
    func request(of part: Int64) throws -> [UInt8]? {
        try database.prepare(SQL.request).first(part) { try $0.get(0) }
    }

    func insert(_ part: Part, of owner: OwnerID, _ request: [UInt8]) throws {
        try database.prepare(SQL.insert).run(
            owner,
            part.upload,
            part.part,
            part.jobs,
            part.keptAt.microseconds,
            request.count,
            request
        )
    }

    func delete(_ upload: String, of owner: OwnerID) throws {
        try database.prepare(SQL.delete).run(owner, upload)
    }

    /// The upload with the oldest part, whoever has it.
    func oldest() throws -> (owner: OwnerID, upload: String, keptAt: Timestamp)? {
        try database.prepare(SQL.oldest).first {
            (try $0.get(0), try $0.get(1), Timestamp(microseconds: try $0.get(2)))
        }
    }

    enum SQL {
        /// Uses the unique index: as many rows as one user may have parts.
        static let parts = """
            SELECT id, name, part, jobs, bytes, kept_at_us FROM upload_parts
            WHERE owner_id = ?1 AND (?2 IS NULL OR name = ?2) ORDER BY name, part
            """
        static let request = "SELECT request FROM upload_parts WHERE id = ?1"
        static let insert = """
            INSERT OR REPLACE INTO upload_parts
                (owner_id, name, part, jobs, kept_at_us, bytes, request)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """
        static let delete = "DELETE FROM upload_parts WHERE owner_id = ?1 AND name = ?2"
        static let oldest = """
            SELECT owner_id, name, kept_at_us FROM upload_parts ORDER BY kept_at_us LIMIT 1
            """
    }
}
