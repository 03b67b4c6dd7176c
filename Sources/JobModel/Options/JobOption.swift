// SPDX-License-Identifier: Apache-2.0

import Schedules

/// An option of a job, by its name on the wire: the one table of all that is known of it.
///
/// The wire, the policies, the command line, the files of `apply`, their schema and the documents
/// follow from it. The words of a schedule are options as well: on the wire they are the fields of
/// `schedule`, elsewhere they stand among the others.
package enum JobOption: String, CaseIterable, Hashable, Sendable {
    // In the order in which files have them.
    case every, from, at, `in`, cron, calendar, tz
    case name, command, cwd, env, envFile, credentials, userInfo, tags, paused, count, until,
        tolerance, jitter
    case misfire, misfireLimit, misfireAfter, misfireWindow
    case timeout, killAfter, overlap, retries, backoff, successCodes, onFailure, onSuccess
    case rerunInterrupted, keepRuns, on
    case queue, priority, key, keyKept
    case output, outputKept
    case notify, notifyOn, notifyLate, notifyEvery, ping
    case nice, memoryMax, memoryHigh, cpuWeight, cpuQuota, tasksMax, ioWeight, cpuTime, umask
    case whilePid, whileConnected

    /// A row of the table.
    package struct Row: Sendable {
        package var form: OptionForm
        /// What counts where it is left out, as one would type it; nil where no value says it.
        package var standard: String?
        /// What counts where it is left out and no value says that, in words; nil for nothing at all.
        package var unset: String?
        /// What it does, in one sentence.
        package var meaning: String

        /// The sentence with an addition behind a semicolon.
        package func meaning(and addition: String?) -> String {
            addition.map { "\(meaning.dropLast()); \($0)." } ?? meaning
        }

        fileprivate init(
            _ form: OptionForm,
            standard: String? = nil,
            unset: String? = nil,
            _ meaning: String
        ) {
            (self.form, self.standard, self.unset) = (form, standard, unset)
            self.meaning = meaning
        }
    }

    package var row: Row {
        switch self {
        case .every:
            Row(.duration(from: .shortestInterval), "Again and again, that far apart: 5s, 250ms.")
        case .from: Row(.date, unset: "one interval from now", "The first date of 'every'.")
        case .at: Row(.date, "Once, at that date: '2026-12-01 09:00'.")
        case .in:
            Row(
                .duration(from: .zero),
                "Once, that long from now: 30m, '1h 30min', 0s for at once."
            )
        case .cron:
            Row(
                .expression(example: "*/5 * * * *"),
                "A cron expression of five or six fields, or a word: '0 9 * * mon-fri', @daily."
            )
        case .calendar:
            Row(
                .expression(example: "Mon 09:00"),
                "A calendar expression of systemd.time(7): 'Mon *-*-* 09:00'."
            )
        case .tz:
            Row(.zone, unset: "that of who adds the job", "The zone of dates and expressions.")
        case .name: Row(.label, "A name, unique among the owner's live jobs.")
        case .command: Row(.command, "The program and its arguments, run as given.")
        case .cwd: Row(.path, unset: "the owner's home", "The command's working directory.")
        case .env: Row(.environment, "Variables for the command, beside the plain environment.")
        case .envFile:
            Row(
                .files,
                "A file of NAME=value lines, read at each run with the owner's rights; -FILE may lack."
            )
        case .credentials:
            Row(
                .credentials,
                "A secret as a file in $CREDENTIALS_DIRECTORY: FILE as the owner reads it at each run, or "
                    + "what the administrator has put down under NAME."
            )
        case .userInfo:
            Row(.json, "JSON for the command's standard input, and for watchers; null is none.")
        case .tags: Row(.labels, "Words to find the job by.")
        case .paused: Row(.flag, standard: "false", "Paused, not armed; 'timerctl resume' arms it.")
        case .count: Row(.integer(1...Int.max), unset: "no limit", "End after that many fires.")
        case .until: Row(.date, unset: "never", "No date after this one fires.")
        case .tolerance:
            Row(
                .duration(from: .zero),
                standard: "0",
                "How late a fire may be, to share a wake-up."
            )
        case .jitter:
            Row(
                .duration(from: .zero),
                standard: "0",
                "Put each fire off by less than this, by as much each time for the same date."
            )
        case .misfire:
            Row(
                .choice(JobDefinition.Misfire.words),
                standard: "once",
                "Missed dates: one fire for all (once), none (skip), or each (all)."
            )
        case .misfireLimit:
            Row(
                .integer(1...Limits.misfireLimit),
                standard: "100",
                "How many missed dates 'all' makes up for, the newest."
            )
        case .misfireAfter:
            Row(
                .duration(from: .shortestInterval),
                standard: "1min",
                "How late a date may still fire as late, not missed."
            )
        case .misfireWindow:
            Row(
                .duration(from: .zero),
                unset: "no bound",
                "What was due longer ago is never made up for."
            )
        case .timeout:
            Row(
                .duration(from: .shortestInterval),
                unset: "no limit",
                "End a run that takes longer."
            )
        case .killAfter:
            Row(.duration(from: .zero), standard: "5s", "SIGKILL that long after SIGTERM.")
        case .overlap:
            Row(
                .choice(JobDefinition.Overlap.words),
                standard: "skip",
                "A fire while the one before is not over, as it runs, or waits for a place or its next "
                    + "attempt: is dropped (skip), waits, one at most (queue), begins beside it (allow), "
                    + "or ends it first (replace)."
            )
        case .retries:
            Row(.integer(0...1000), standard: "0", "Try a run that failed again, so often.")
        case .backoff:
            Row(
                .backoff,
                standard: "1s..1h",
                "At most how long before the first retry, doubled up to MAX."
            )
        case .successCodes: Row(.exitCodes, standard: "0", "The exit statuses that are no failure.")
        case .onFailure:
            Row(.command, "Run once when a fire has failed for good; the run as JSON on stdin.")
        case .onSuccess:
            Row(.command, "Run once when a fire has succeeded; the run as JSON on stdin.")
        case .rerunInterrupted:
            Row(.flag, standard: "false", "Run again what was interrupted.")
        case .output:
            Row(
                .choice(JobDefinition.Output.words),
                standard: "keep",
                "What a run writes: is kept (keep), kept and sent to systemd's journal (journal), "
                    + "or dropped (none)."
            )
        case .outputKept:
            Row(
                .bytes(0...Limits.outputKept),
                unset: "the daemon's setting, 64K",
                "How much of each stream of a run is kept: its beginning and its end."
            )
        case .keepRuns:
            Row(
                .integer(1...Limits.keepRuns),
                unset: "the daemon's number, 100",
                "How many of its newest runs the job's history keeps."
            )
        case .on:
            Row(
                .label,
                unset: "any host",
                "The host that its commands run on: a node's name or label."
            )
        case .notify:
            Row(
                .places,
                unset: "the daemon's default places",
                "Where notices go: mail:ADDRESS, a URL, 'command:LINE', desktop; none for nowhere."
            )
        case .notifyOn:
            Row(
                .words(NoticeReason.words),
                unset: "failed, missed and recovered",
                "What is told: failed, missed, skipped, late, recovered, succeeded."
            )
        case .notifyLate:
            Row(
                .duration(from: .zero),
                unset: "1min, where 'late' is told",
                "Tell of a fire that begins later than this after it was due."
            )
        case .notifyEvery:
            Row(
                .duration(from: .zero),
                standard: "1h",
                "One notice of each reason in this span; what comes between is summed up."
            )
        case .ping:
            Row(.url, "Ask for this URL whenever a run has succeeded: a dead man's switch.")
        case .queue:
            Row(
                .label,
                "In place of a command: each fire becomes a task in this queue, for a worker."
            )
        case .priority:
            Row(
                .integer(-1000...1000),
                standard: "0",
                "Of the tasks that are ready the higher one goes first."
            )
        case .key:
            Row(.label, "Adding a job with the key of one that is kept answers that one.")
        case .keyKept:
            Row(
                .duration(from: .zero),
                standard: "1d",
                "How long after its end a job still has its key; at most 30 days."
            )
        case .nice: Row(.integer(-20...19), "The niceness of a run, -20 to 19; below 0 for root.")
        case .memoryMax:
            Row(
                .bytes(1...Int.max),
                unset: "no limit",
                "The memory of a run at most, such as 512M; without control groups the address space of "
                    + "each process."
            )
        case .memoryHigh:
            Row(
                .bytes(1...Int.max),
                unset: "no limit",
                "A run with more memory is slowed down, and gives memory back."
            )
        case .cpuWeight:
            Row(
                .integer(1...10_000),
                unset: "100",
                "A run's share of processor time beside the other runs'."
            )
        case .cpuQuota:
            Row(
                .percent,
                unset: "no limit",
                "A run's processor time at most, in percent of one processor: 50%, 200%."
            )
        case .tasksMax:
            Row(
                .integer(1...4_194_304),
                unset: "no limit",
                "The processes and threads of a run at most."
            )
        case .ioWeight:
            Row(
                .integer(1...10_000),
                unset: "100",
                "A run's share of reading and writing beside the other runs'."
            )
        case .cpuTime:
            Row(
                .duration(from: .seconds(1)),
                unset: "no limit",
                "The processor time of each process at most."
            )
        case .umask: Row(.octal, standard: "022", "The file mode creation mask.")
        case .whilePid: Row(.process, "End the job when this process has gone.")
        case .whileConnected:
            Row(.flag, standard: "false", "Stay connected; the job ends when the connection does.")
        }
    }
}
