// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

/// Changes that come in parts: kept until all are there, then done as one.
extension CommandHandler {
    /// Where the parts of an upload are read: apart from the threads that others wait for, one at a time.
    private static let threads = BlockingThreads(
        named: "timerd-upload",
        limit: 1,
        givesWay: true
    )

    /// `upload.put`, checked but for what the jobs that exist decide.
    func check(_ part: PutPart, _ caller: Caller) throws -> [UInt8] {
        _ = try changes(of: part.jobs, caller)
        return try Request.applyJobs(part.jobs).line(id: nil)
    }

    /// Keeps a part that has been checked.
    func putPart(_ part: PutPart, _ request: [UInt8], _ caller: Caller) async throws -> Answer {
        UploadReply(
            upload: try await scheduler.care(caller) {
                try $0.put(part, request, caller: caller)
            } durable: { scheduler, upload in
                scheduler.noteKept(until: upload.until)
            }
        )
    }

    /// `upload.list`.
    func listUploads(_ caller: Caller) async throws -> Answer {
        let parts = try await read(for: caller) { queries in
            let owner = try Owners(queries.database).id(of: caller.owner)
            return try UploadStore(queries.database).parts(of: owner)
        }
        let uploads = Dictionary(grouping: parts, by: \.upload).values.map { Upload($0) }
        return UploadsReply(uploads: uploads.sorted { $0.name < $1.name })
    }

    /// `upload.drop`.
    func dropUpload(_ name: String, _ caller: Caller) async throws -> Answer {
        UploadReply(
            upload: try await scheduler.care(caller) {
                try $0.dropUpload(name, caller: caller)
            }
        )
    }

    /// `job.apply` of an upload: all that its parts say, or nothing.
    func applyUpload(
        _ name: String,
        of request: ApplyJobs,
        _ caller: Caller
    ) async throws -> Answer {
        let (upload, lines) = try await read(for: caller) { queries in
            let store = UploadStore(queries.database)
            let owner = try Owners(queries.database).id(of: caller.owner)
            let parts = try store.parts(of: owner, name)
            guard !parts.isEmpty else { throw ControlError.noUpload(name) }
            if let gap = parts.indices.first(where: { parts[$0].part != $0 }) {
                throw ControlError(
                    .conflict,
                    "part \(gap) of upload '\(name)' is missing; nothing was done"
                )
            }
            return (
                ReadUpload(name: name, rows: parts.map(\.id)),
                try parts.compactMap { try store.request(of: $0.id) }
            )
        }
        var changes = try await Self.threads.run {
            Result { try self.changes(of: ApplyJobs(parts: lines), caller) }
        }.get()
        changes.ifNoNewer = request.ifNoNewer
        if request.dryRun {
            return UploadedReply(try await scheduler.tryOut(changes, caller: caller))
        }
        changes.upload = upload
        return UploadedReply(try await scheduler.apply(changes, caller: caller))
    }
}

extension ApplyJobs {
    /// All that the parts of an upload say, as one request.
    ///
    /// - Throws: `invalidParams` where two of them name the same job.
    fileprivate init(parts: [[UInt8]]) throws(ControlError) {
        self.init()
        for line in parts {
            guard case .single(let envelope) = try RequestLine(parsing: line),
                case .success(.applyJobs(let part)) = envelope.request
            else { throw ControlError(.internalError, "a part of an upload cannot be read") }
            invalidate += part.invalidate
            ifRevisions.merge(part.ifRevisions) { first, _ in first }
            change += part.change
            add += part.add
        }
        try requireEachOnce()
    }
}

extension UploadedReply {
    fileprivate init(_ applied: AppliedChanges) {
        self.init(
            invalidated: applied.invalidated.jobs.map(\.id),
            changed: applied.changed.map(\.id),
            added: applied.added.map(\.id),
            existing: applied.existing,
            notes: applied.notes
        )
    }
}
