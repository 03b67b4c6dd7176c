// SPDX-License-Identifier: Apache-2.0

/// `job.get`, `job.setFireDate`, and `job.add` of one.
public struct JobReply: Codable, Hashable, Sendable {
    public var job: Job
    /// What the daemon chose for ambiguous words, such as a local time that does not exist.
    public var notes: [String]?
    /// True where the job was there already, by its `key`, and nothing was added; else nil.
    public var existing: Bool?

    public init(job: Job, notes: [String]? = nil, existing: Bool? = nil) {
        self.job = job
        self.notes = notes
        self.existing = existing
    }
}

/// `job.list`, `job.invalidate`, `job.pause`, `job.resume`, and `job.add` of several.
public struct JobsReply: Codable, Hashable, Sendable {
    public var jobs: [Job]
    /// To be given with the next request; nil on the last page.
    public var cursor: JobCursor?
    /// Jobs that were changed as well but do not fit into the reply; nil if all fit.
    public var others: [JobID]?
    /// Those that were there already, by their `key`, where nothing was added for them; nil for none.
    public var existing: [JobID]?

    public init(
        jobs: [Job],
        cursor: JobCursor? = nil,
        others: [JobID]? = nil,
        existing: [JobID]? = nil
    ) {
        self.jobs = jobs
        self.cursor = cursor
        self.others = others
        self.existing = existing
    }
}

/// `job.fire`.
public struct FireReply: Codable, Hashable, Sendable {
    public var job: Job
    public var fire: FireID

    public init(job: Job, fire: FireID) {
        self.job = job
        self.fire = fire
    }
}

/// `job.apply`: the jobs as they stand, in the order of the request.
public struct ApplyReply: Codable, Hashable, Sendable {
    public var invalidated: [Job]
    public var changed: [Job]
    public var added: [Job]
    /// Jobs that were invalidated as well but do not fit into the reply; nil if all fit.
    public var others: [JobID]?
    /// Those of `added` that were there by their `key`; nil for none.
    public var existing: [JobID]?
    /// Which tasks stay in a queue that their job, as it was changed, is not of any more; nil for none.
    public var notes: [String]?

    public init(
        invalidated: [Job],
        changed: [Job],
        added: [Job],
        others: [JobID]? = nil,
        existing: [JobID]? = nil,
        notes: [String]? = nil
    ) {
        self.existing = existing
        self.notes = notes
        self.others = others
        self.invalidated = invalidated
        self.changed = changed
        self.added = added
    }
}

/// `job.apply` of an upload: the jobs in the order of the parts.
public struct UploadedReply: Codable, Hashable, Sendable {
    public var invalidated: [JobID]
    public var changed: [JobID]
    public var added: [JobID]
    /// As in `ApplyReply`.
    public var existing: [JobID]?
    /// As in `ApplyReply`.
    public var notes: [String]?

    public init(
        invalidated: [JobID],
        changed: [JobID],
        added: [JobID],
        existing: [JobID]? = nil,
        notes: [String]? = nil
    ) {
        self.existing = existing
        self.notes = notes
        self.invalidated = invalidated
        self.changed = changed
        self.added = added
    }
}
