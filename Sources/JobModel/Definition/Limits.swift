// SPDX-License-Identifier: Apache-2.0

/// How much a client may ask for; `docs/protocol.md` lists the limits, and each refusal names its limit.
///
/// Sizes are in bytes of UTF-8.
public enum Limits {
    /// A line to the daemon, without the newline at its end.
    public static let line = 1_048_576
    /// Arrays and objects inside each other.
    public static let depth = 64
    /// Marks in a row that combine with the character before them, such as accents; Unicode's Stream-Safe Text Format has 30.
    package static let marks = 64
    /// A request's id: it is kept for as long as the request waits, beyond what is counted of its line.
    package static let id = 1024
    /// What is told of jobs that are there by their keys, beyond the bytes of the request's own definitions.
    package static let keptJobsTold = 1_048_576
    /// Requests in one batch array.
    public static let batch = 10_000
    /// All replies to one batch array; requests beyond are refused without being carried out.
    public static let batchReply = 16_777_216
    /// A line to a client, beyond which it is none of a daemon's; the longest are the replies of a batch, `batchReply` and one more.
    package static let lineToClient = 67_108_864
    /// Jobs in one `job.add`, ids in one request, jobs in the filter of a subscription.
    public static let jobs = 10_000
    /// A job's name, and each of its tags.
    public static let name = 255
    public static let tags = 64
    /// The tags of all jobs that one request adds or changes, but for root's.
    package static let tagsWritten = 100_000
    /// Files of variables.
    public static let files = 16
    /// Credentials of a job; systemd has no such bound, but one of their bytes.
    public static let credentials = 64
    /// What a run's credentials may have together.
    public static let credentialBytes = 1_048_576
    /// The places that notices of a job go to, and one of them.
    public static let places = 8
    public static let place = 4096
    /// Notices of one user that wait, and as many summaries; what comes beyond is counted in one of them.
    public static let notices = 200
    /// A word of a schedule, a date or a duration.
    public static let words = 1024
    public static let arguments = 4096
    /// A command: all its arguments with a NUL after each; the kernel accepts no longer one.
    public static let command = 131_072
    public static let variables = 1024
    /// An environment: all its `NAME=value` with a NUL after each.
    public static let environment = 131_072
    /// The bytes of `userInfo`, without blanks around it.
    public static let userInfo = 65_536
    /// Arrays and objects inside each other in `userInfo`: an answer or an event has some more around it, and is to
    /// stay within `depth`.
    public static let userInfoDepth = 32
    /// Of each stream of a run.
    package static let outputKept = 16_777_216
    /// A path: PATH_MAX has a NUL behind it.
    public static let path = 4095
    /// How many missed dates `misfire: all` may make up for.
    public static let misfireLimit = 10_000
    /// The runs that a job may have kept, where the setting `maxRunsKept` allows them.
    public static let keepRuns = 100_000
    /// Dates that one `job.skip` drops of each job, and of all its jobs together where that is more than one of each.
    public static let skip = 10_000
    package static let datesSkipped = 100_000
    /// What one user's uploads hold: jobs, bytes, and parts.
    public static let uploadJobs = 100_000
    public static let uploadBytes = 33_554_432
    public static let uploadParts = 1000
    /// Queues in one `task.reserve`.
    public static let queuesReserved = 64
    /// Tasks that one request names, or one `task.reserve` is answered with.
    public static let tasks = 1000
    /// Tasks of a queue that one request changes without naming them.
    public static let manyTasks = 10_000
    /// The reason of a task's failure.
    public static let taskReason = 4096
    /// The greatest number that may be set for a queue's limits.
    public static let tasksInProgress = 1_000_000
    /// Jobs or runs on one page of a list, and dates of one preview.
    public static let page = 1000
    /// The bytes of one page of a list.
    package static let pageBytes = 262_144
}
