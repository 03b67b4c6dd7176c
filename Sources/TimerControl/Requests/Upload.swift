// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// `upload.put`: a part of a change that is more than one request holds.
///
/// The daemon checks it and keeps it for a day. Nothing is done before `job.apply` names the upload; then all of
/// its parts are done as one change. A part that is put again takes the place of the one it was.
public struct PutPart: Hashable, Sendable {
    /// The caller's own name for the upload.
    public var upload: String
    /// From 0, without a gap.
    public var part: Int
    /// Its jobs; `dryRun` and `upload` are not sent.
    public var jobs: ApplyJobs

    public init(upload: String, part: Int, jobs: ApplyJobs) {
        self.upload = upload
        self.part = part
        self.jobs = jobs
    }
}

/// What the daemon keeps of an upload.
public struct Upload: Codable, Hashable, Sendable {
    public var name: String
    /// The numbers of the parts that are there, growing.
    public var parts: [Int]
    /// How many jobs they end, change and add.
    public var jobs: Int
    /// How many bytes they take.
    public var bytes: Int
    /// When it is removed: a day after its oldest part was put.
    public var until: Timestamp

    public init(name: String, parts: [Int], jobs: Int, bytes: Int, until: Timestamp) {
        self.name = name
        self.parts = parts
        self.jobs = jobs
        self.bytes = bytes
        self.until = until
    }
}

/// `upload.put`, and `upload.drop` as it was.
public struct UploadReply: Codable, Hashable, Sendable {
    public var upload: Upload

    public init(upload: Upload) { self.upload = upload }
}

/// `upload.list`: the caller's own, by name.
public struct UploadsReply: Codable, Hashable, Sendable {
    public var uploads: [Upload]

    public init(uploads: [Upload]) { self.uploads = uploads }
}
