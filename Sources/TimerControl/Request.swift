// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// Every request of the control protocol, one case each; `docs/protocol.md` describes them in full.
public enum Request: Hashable, Sendable {
    case addJobs(AddJobs)
    case applyJobs(ApplyJobs)
    case getJob(JobReference)
    case listJobs(ListJobs)
    case invalidateJobs(InvalidateJobs)
    case setFireDate(SetFireDate)
    case fireJob(JobReference)
    case pauseJobs(JobSelection)
    case resumeJobs(JobSelection)
    /// Ended jobs by their ids, or one by its name; nil for what the caller has ended last.
    case restoreJobs(JobSelection?)
    case skipJobs(SkipJobs)
    case listRuns(ListRuns)
    case getRun(RunReference)
    case listNotices(ListNotices)
    case readOutput(ReadOutput)
    case killRun(RunReference)
    case subscribe(Subscribe)
    case previewSchedule(PreviewSchedule)
    case status
    case metrics
    case backUp(BackUp)
    case checkDatabase
    case putPart(PutPart)
    case listUploads
    case dropUpload(String)
    /// Of the owner of that name or uid; nil for the caller.
    case beginMaintenance(String?)
    case endMaintenance(String?)
    case reserveTasks(ReserveTasks)
    case extendTasks(ExtendTasks)
    case finishTasks(FinishTasks)
    case failTasks(FailTasks)
    case releaseTasks(ReleaseTasks)
    case listTasks(ListTasks)
    case retryTasks(TaskSelection)
    case dropTasks(DropTasks)
    case kickTasks(KickTasks)
    case listQueues(ListQueues)
    case setQueue(SetQueue)
    case jobCalendar(ReadCalendar)
    case jobDates(ReadDates)
    case runCalendar(ReadCalendar)

    /// The name of each request on the wire.
    public enum Method: String, CaseIterable, Sendable {
        case addJobs = "job.add"
        case applyJobs = "job.apply"
        case getJob = "job.get"
        case listJobs = "job.list"
        case invalidateJobs = "job.invalidate"
        case setFireDate = "job.setFireDate"
        case fireJob = "job.fire"
        case pauseJobs = "job.pause"
        case resumeJobs = "job.resume"
        case restoreJobs = "job.restore"
        case skipJobs = "job.skip"
        case listRuns = "run.list"
        case getRun = "run.get"
        case listNotices = "notice.list"
        case readOutput = "run.output"
        case killRun = "run.kill"
        case subscribe = "events.subscribe"
        case previewSchedule = "schedule.preview"
        case status = "daemon.status"
        case metrics = "daemon.metrics"
        case backUp = "daemon.backup"
        case checkDatabase = "daemon.check"
        case putPart = "upload.put"
        case listUploads = "upload.list"
        case dropUpload = "upload.drop"
        case beginMaintenance = "maintenance.begin"
        case endMaintenance = "maintenance.end"
        case reserveTasks = "task.reserve"
        case extendTasks = "task.extend"
        case finishTasks = "task.finish"
        case failTasks = "task.fail"
        case releaseTasks = "task.release"
        case listTasks = "task.list"
        case retryTasks = "task.retry"
        case dropTasks = "task.drop"
        case kickTasks = "task.kick"
        case listQueues = "queue.list"
        case setQueue = "queue.set"
        case jobCalendar = "job.calendar"
        case jobDates = "job.dates"
        case runCalendar = "run.calendar"
    }
}

/// `job.add`: one definition, or several under `jobs` of which all are added or none.
public struct AddJobs: Hashable, Sendable {
    public var definitions: [JobDefinition]
    /// A live job of the same owner and name becomes what is said here.
    public var replace: Bool
    /// Whether they came as `jobs: [...]`, so that the answer is a list as well.
    public var isList: Bool

    public init(_ definition: JobDefinition, replace: Bool = false) {
        self.definitions = [definition]
        self.replace = replace
        self.isList = false
    }

    public init(_ definitions: [JobDefinition], replace: Bool = false) {
        self.definitions = definitions
        self.replace = replace
        self.isList = true
    }
}

/// `job.apply`: ends, changes and adds jobs, all of it or nothing.
public struct ApplyJobs: Hashable, Sendable {
    public var invalidate: [JobID]
    public var change: [JobRevision]
    public var add: [JobDefinition]
    /// Whether the changes are tried and then undone.
    public var dryRun: Bool
    /// The upload whose parts are the changes, in place of the lists; it is over once they are made.
    public var upload: String?

    public init(
        invalidate: [JobID] = [],
        change: [JobRevision] = [],
        add: [JobDefinition] = [],
        dryRun: Bool = false,
        upload: String? = nil
    ) {
        self.upload = upload
        self.invalidate = invalidate
        self.change = change
        self.add = add
        self.dryRun = dryRun
    }

    public var count: Int { invalidate.count + change.count + add.count }
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

    public init(job: JobReference, fireDate: String) {
        self.job = job
        self.fireDate = fireDate
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

    public init(jobs: JobSelection, count: Int = 1) {
        self.jobs = jobs
        self.count = count
    }
}

/// `job.list`: filters that must all hold, in pages.
public struct ListJobs: Codable, Hashable, Sendable {
    /// Ended jobs as well; without it, scheduled and paused ones.
    public var all: Bool?
    public var state: Job.State?
    public var name: String?
    public var tag: String?
    /// Only jobs of this user, by name or uid.
    public var owner: String?
    /// Only jobs that are held.
    public var held: Bool?
    /// Nil for growing ids.
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
        "all", "state", "name", "tag", "owner", "held", "order", "last", "limit", "cursor",
    ]
}

/// `run.list`: what became of the fires of one job or of all, newest first by date.
public struct ListRuns: Codable, Hashable, Sendable {
    public var job: JobID?
    public var name: String?
    /// Only those whose command runs, waits or is about to start.
    public var open: Bool?
    /// Only runs that ended as failures, in the order of their ends.
    public var failed: Bool?
    /// Only fires of this date or later; with `failed`, only runs that ended then.
    public var since: Timestamp?
    public var outcome: RunWord?
    /// Only fires of jobs with this tag.
    public var tag: String?
    /// Only fires of this user's jobs, by name or uid.
    public var owner: String?
    /// 1 to 1000; default 20.
    public var limit: Int?
    /// From the answer before.
    public var cursor: RunCursor?

    public init() {}

    static let fieldNames: Set<String> = [
        "job", "name", "open", "failed", "since", "outcome", "tag", "owner", "limit", "cursor",
    ]
}

/// `notice.list`: what somebody is to be told and was not yet, the oldest first.
public struct ListNotices: Codable, Hashable, Sendable {
    /// 1 to 1000; default 100.
    public var limit: Int?
    /// From the answer before.
    public var cursor: NoticeID?

    public init(limit: Int? = nil, cursor: NoticeID? = nil) {
        (self.limit, self.cursor) = (limit, cursor)
    }

    static let fieldNames: Set<String> = ["limit", "cursor"]
}

/// `run.get` and `run.kill`.
public struct RunReference: Codable, Hashable, Sendable {
    public var id: RunID

    public init(id: RunID) { self.id = id }

    static let fieldNames: Set<String> = ["id"]
}

/// `run.output`: what a run has written, also of one in progress.
public struct ReadOutput: Codable, Hashable, Sendable {
    public var id: RunID
    /// Up to where the client has the output already; nil for nothing.
    public var after: OutputPosition?
    /// Whether the answer waits until there is output beyond `after`, or the run is over.
    public var wait: Bool?

    public init(id: RunID) { self.id = id }

    static let fieldNames: Set<String> = ["id", "after", "wait"]
}

/// How far a client has read a run's output: bytes of each stream, from the run's beginning.
public struct OutputPosition: Codable, Hashable, Sendable {
    public var stdout: Int64
    public var stderr: Int64

    public init(stdout: Int64 = 0, stderr: Int64 = 0) {
        self.stdout = stdout
        self.stderr = stderr
    }

    static let fieldNames: Set<String> = ["stdout", "stderr"]
}

/// `events.subscribe`: this connection gets the stored events after `since`, then new ones.
public struct Subscribe: Codable, Hashable, Sendable {
    /// The last `seq` already seen; 0 for all that are kept; nil for new ones alone.
    public var since: Int64?
    /// Only of these types; nil for all.
    public var types: [Event.Kind]?
    /// Only of these jobs; nil for all.
    public var jobs: [JobID]?

    public init() {}

    static let fieldNames: Set<String> = ["since", "types", "jobs"]
}

/// `daemon.backup`: a copy of the database, made while it is in use.
public struct BackUp: Codable, Hashable, Sendable {
    /// The absolute path of the copy, on the daemon's machine.
    public var file: String
    /// Whether a file of that name is replaced; else the request is refused.
    public var replace: Bool?

    public init(file: String, replace: Bool? = nil) {
        self.file = file
        self.replace = replace
    }

    static let fieldNames: Set<String> = ["file", "replace"]
}

/// `schedule.preview`: the coming fire dates of a schedule, without adding a job.
public struct PreviewSchedule: Codable, Hashable, Sendable {
    public var schedule: ScheduleWords
    /// 1 to 1000; default 5.
    public var count: Int?
    /// Dates after this one; nil for now.
    public var after: String?

    public init(schedule: ScheduleWords) { self.schedule = schedule }

    static let fieldNames: Set<String> = ["schedule", "count", "after"]
}
