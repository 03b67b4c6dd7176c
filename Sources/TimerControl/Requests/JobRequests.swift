// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// `job.add`: one definition, or several under `jobs` of which all are added or none.
public struct AddJobs: Hashable, Sendable {
    public var definitions: [JobDefinition]
    /// A live job of the same owner and name becomes what is said here.
    public var replace: Bool
    /// Whether it is tried and then undone.
    public var dryRun: Bool
    /// Whether they came as `jobs: [...]`, so that the answer is a list as well.
    public var isList: Bool

    public init(_ definition: JobDefinition, replace: Bool = false, dryRun: Bool = false) {
        self.definitions = [definition]
        self.replace = replace
        self.dryRun = dryRun
        self.isList = false
    }

    public init(_ definitions: [JobDefinition], replace: Bool = false, dryRun: Bool = false) {
        self.definitions = definitions
        self.replace = replace
        self.dryRun = dryRun
        self.isList = true
    }
}

/// `job.apply`: ends, changes and adds jobs, all of it or nothing.
public struct ApplyJobs: Hashable, Sendable {
    public var invalidate: [JobID]
    /// The revisions that jobs of `invalidate` were read with; one without is ended whatever it is by now.
    ///
    /// If a live job has another revision by then, nothing is done.
    public var ifRevisions: [JobID: Int64]
    public var change: [JobRevision]
    public var add: [JobDefinition]
    /// The newest job of its kind that the change was made of; if there is a newer one by then, nothing is done.
    public var ifNoNewer: NewestTagged?
    /// Whether the changes are tried and then undone.
    public var dryRun: Bool
    /// The upload whose parts are the changes, in place of the lists; it is over once they are made.
    public var upload: String?

    public init(
        invalidate: [JobID] = [],
        ifRevisions: [JobID: Int64] = [:],
        change: [JobRevision] = [],
        add: [JobDefinition] = [],
        ifNoNewer: NewestTagged? = nil,
        dryRun: Bool = false,
        upload: String? = nil
    ) {
        self.upload = upload
        self.ifNoNewer = ifNoNewer
        self.invalidate = invalidate
        self.ifRevisions = ifRevisions
        self.change = change
        self.add = add
        self.dryRun = dryRun
    }

    /// Ends jobs that were read, unless somebody changes one of them meanwhile; changes and adds others.
    public init(ending jobs: [Job], change: [JobRevision] = [], add: [JobDefinition] = []) {
        self.init(
            invalidate: jobs.map(\.id),
            ifRevisions: Dictionary(jobs.map { ($0.id, $0.revision) }) { first, _ in first },
            change: change,
            add: add
        )
    }

    public var count: Int { invalidate.count + change.count + add.count }
}

/// The newest live job with a tag that a client has seen of its user's.
public struct NewestTagged: Hashable, Sendable {
    public var tag: String
    /// Nil if none has the tag.
    public var id: JobID?

    public init(tag: String, id: JobID?) {
        self.tag = tag
        self.id = id
    }
}

/// A new definition for a live job: on the wire its fields, with the job's `id` and `ifRevision` among them.
public struct JobRevision: Hashable, Sendable {
    public var id: JobID
    public var definition: JobDefinition
    /// The job's revision that this is made of; nil for any.
    ///
    /// A job that has another by then is not changed.
    public var ifRevision: Int64?

    public init(id: JobID, definition: JobDefinition, ifRevision: Int64? = nil) {
        self.id = id
        self.definition = definition
        self.ifRevision = ifRevision
    }

    /// What a job that was read is to become, unless somebody changes it meanwhile.
    public init(of job: Job, _ definition: JobDefinition) {
        self.init(id: job.id, definition: definition, ifRevision: job.revision)
    }
}

/// One job, by `id` or by the `name` of a live job of the caller; where it is only read, by that of an
/// ended one too.
public enum JobReference: Hashable, Sendable {
    case id(JobID)
    case name(String)
}

/// Jobs by `id`, `ids`, `name`, `tag` or `owner`; each id, name and tag must match, an owner need not.
public enum JobSelection: Hashable, Sendable {
    case ids([JobID])
    case name(String)
    case tag(String)
    /// All live jobs of a user, by name or uid; for administrators, and for the user.
    case owner(String)
}

/// `job.setFireDate`.
public struct SetFireDate: Hashable, Sendable {
    public var job: JobReference
    /// A date as on the command line: RFC 3339, `tomorrow 09:00`, `+10m`.
    public var fireDate: String
    /// The date that the job is to have now; where it has another one it is refused, as somebody has moved it.
    public var from: Timestamp?

    public init(job: JobReference, fireDate: String, from: Timestamp? = nil) {
        self.job = job
        self.fireDate = fireDate
        self.from = from
    }
}

/// `job.invalidate`.
public struct InvalidateJobs: Hashable, Sendable {
    public var jobs: JobSelection
    /// Runs in progress are ended as well.
    public var kill: Bool

    public init(_ jobs: JobSelection, kill: Bool = false) {
        self.jobs = jobs
        self.kill = kill
    }
}

/// `job.skip`: drops the next dates of each job.
public struct SkipJobs: Hashable, Sendable {
    public var jobs: JobSelection
    /// How many dates, 1 to 10,000.
    public var count: Int
    /// The date that each of them is to have now; where one has another one all are refused, as somebody has moved or skipped
    /// it, or it has fired.
    public var from: Timestamp?

    public init(jobs: JobSelection, count: Int = 1, from: Timestamp? = nil) {
        self.jobs = jobs
        self.count = count
        self.from = from
    }
}

/// `job.list`: filters that must all hold, in pages.
public struct ListJobs: Codable, Hashable, Sendable {
    /// Only these, ended ones too, 1 to 1000, by growing id; beside it are `limit` and `cursor` alone.
    public var ids: [JobID]?
    /// Ended jobs as well; without it, scheduled and paused ones.
    public var all: Bool?
    public var state: Job.State?
    public var name: String?
    public var tag: String?
    /// Only jobs of this user, by name or uid.
    public var owner: String?
    /// Only jobs that are held.
    public var held: Bool?
    /// Only jobs with this in their name or in their command, and the one whose number it is.
    ///
    /// 1 to 1024 bytes. Capital and small letters of ASCII count the same, and the words of a command stand apart by a space.
    public var search: String?
    /// Nil for growing ids; held jobs come by growing id in any case.
    public var order: Order?
    /// Whether each job is to come with `Job.last`.
    public var last: Bool?
    /// 1 to 1000; default 100.
    public var limit: Int?
    /// From the reply before, which was in the same order.
    public var cursor: JobCursor?

    public init() {}

    public enum Order: String, Codable, Hashable, Sendable, CaseIterable {
        /// By growing id.
        case id
        /// By their next fire; jobs without one at the end, by growing id.
        ///
        /// A job that fires between two pages may come once more, with its next date.
        case nextFire
    }

    static let fieldNames: Set<String> = [
        "ids", "all", "state", "name", "tag", "owner", "held", "search", "order", "last", "limit",
        "cursor",
    ]
}
