// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The parts of an upload as they were read: they are applied only if they are still the same.
struct ReadUpload: Hashable, Sendable {
    var name: String
    /// The numbers of their rows.
    var rows: [Int64]
}

extension JobTransaction {
    /// How long a part of an upload is kept.
    static let uploadAge = TimeSpan.seconds(86_400)

    /// Keeps a part that has been checked; `request` is its `job.apply`, as on the wire.
    ///
    /// One that is kept as it is stays that row: whoever has read it, to apply it, finds it unchanged.
    ///
    /// - Throws: `limitReached` where the user's uploads have no room for it.
    mutating func put(
        _ part: PutPart,
        _ request: [UInt8],
        caller: Caller
    ) throws -> Upload {
        let store = UploadStore(database)
        let owner = try owners.row(of: caller.owner)
        let kept = try store.parts(of: owner, part.upload).first { $0.part == part.part }
        if let kept, try store.request(of: kept.id) == request {
            return try upload(part.upload, of: owner) ?? Upload([kept])
        }
        let others = try store.parts(of: owner).filter {
            $0.upload != part.upload || $0.part != part.part
        }
        try requireRoom(for: part, bytes: request.count, beside: others)
        let row = UploadStore.Part(
            id: 0,
            upload: part.upload,
            part: part.part,
            jobs: part.jobs.count,
            bytes: request.count,
            keptAt: moment.wall
        )
        try store.insert(row, of: owner, request)
        return try upload(part.upload, of: owner) ?? Upload([row])
    }

    private func requireRoom(
        for part: PutPart,
        bytes: Int,
        beside others: [UploadStore.Part]
    ) throws(ControlError) {
        let sums = [
            (others.count + 1, Limits.uploadParts, "parts"),
            (others.reduce(part.jobs.count) { $0 + $1.jobs }, Limits.uploadJobs, "jobs"),
            (others.reduce(bytes) { $0 + $1.bytes }, Limits.uploadBytes, "bytes"),
        ]
        for (sum, limit, unit) in sums where sum > limit {
            throw ControlError(
                .limitReached,
                "your uploads would hold \(sum) \(unit), at most \(limit) are accepted; "
                    + "'upload.list' shows them, 'upload.drop' and 'job.apply' make room"
            )
        }
    }

    /// Removes what is kept of an upload; nothing of it is done.
    mutating func dropUpload(_ name: String, caller: Caller) throws -> Upload {
        let owner = try owners.id(of: caller.owner)
        guard let upload = try upload(name, of: owner) else { throw ControlError.noUpload(name) }
        try UploadStore(database).delete(name, of: owner)
        return upload
    }

    /// Removes the parts that are about to be done.
    ///
    /// - Throws: `conflict` if they are not those that were read: others took their place, or they have been
    ///   done.
    func take(_ upload: ReadUpload, of owner: OwnerID) throws {
        let store = UploadStore(database)
        guard try store.parts(of: owner, upload.name).map(\.id) == upload.rows else {
            throw ControlError(
                .conflict,
                "upload '\(upload.name)' was changed or applied by another request meanwhile; "
                    + "nothing of this one was done"
            )
        }
        try store.delete(upload.name, of: owner)
    }

    private func upload(_ name: String, of owner: OwnerID) throws -> Upload? {
        let parts = try UploadStore(database).parts(of: owner, name)
        return parts.isEmpty ? nil : Upload(parts)
    }
}

extension Upload {
    /// `parts`: those of one upload, one or more, by number.
    init(_ parts: [UploadStore.Part]) {
        let oldest = parts.map(\.keptAt).min() ?? .distantPast
        self.init(
            name: parts[0].upload,
            parts: parts.map(\.part),
            jobs: parts.reduce(0) { $0 + $1.jobs },
            bytes: parts.reduce(0) { $0 + $1.bytes },
            until: oldest + JobTransaction.uploadAge
        )
    }
}
