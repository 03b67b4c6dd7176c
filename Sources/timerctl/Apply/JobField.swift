// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A field of a job in a file, by the name that it has on the wire.
///
/// The one table: files are read by it, compared by it and written by it, and so is the schema for
/// editors. `JobFieldTests` holds it against `JobDefinition`.
struct JobField: Sendable {
    var name: String
    var kind: FieldKind
    /// What counts where it is left out, as on the wire; nil for nothing at all.
    var standard: JSONValue?
    var meaning: String
    /// Whether it is one of the words of the schedule.
    var isSchedule = false

    init(_ name: String, _ kind: FieldKind, _ standard: JSONValue? = nil, _ meaning: String) {
        self.name = name
        self.kind = kind
        self.standard = standard
        self.meaning = meaning
    }

    private static func schedule(_ name: String, _ kind: FieldKind, _ meaning: String) -> Self {
        var field = Self(name, kind, nil, meaning)
        field.isSchedule = true
        return field
    }

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// In the order in which they are written.
    static let all: [Self] = [
        schedule("every", .span(from: .shortestInterval), "Again and again, that far apart."),
        schedule("from", .date, "With every: the date of the first fire."),
        schedule("at", .date, "Once, at that date."),
        schedule(
            "cron",
            .text,
            "A cron expression of five or six fields, or a word such as @daily."
        ),
        schedule("calendar", .text, "A calendar expression of systemd.time(7)."),
        schedule(
            "tz",
            .text,
            "The zone of dates and expressions; default: that of who applies the file."
        ),
        Self("command", .command, "A list that is run as given, or a line for /bin/sh -c."),
        Self("cwd", .path, "The working directory; default: the owner's home."),
        Self("env", .variables, .object([:]), "Added to the plain environment of a run."),
        Self("userInfo", .json, "On the command's standard input, and in events."),
        Self("tags", .tags, .array([]), "Words to find the job by."),
        Self("paused", .flag, "Whether it is paused; where it is left out, that is left as it is."),
        Self("count", .number(1...Int.max), "The job ends after that many fires."),
        Self("until", .date, "No date after this one fires."),
        Self("tolerance", .span(from: .zero), "0", "How late a fire may be, to share a wake-up."),
        Self("jitter", .span(from: .zero), "0", "Each fire is put off by less than this."),
        Self(
            "misfire",
            .word(JobDefinition.Misfire.allCases.map(\.rawValue)),
            "once",
            "Missed dates: one fire for all of them, none, or each."
        ),
        Self(
            "misfireLimit",
            .number(1...Limits.misfireLimit),
            .integer(100),
            "How many missed dates 'all' makes up for."
        ),
        Self(
            "misfireAfter",
            .span(from: .zero),
            "1min",
            "How late a date may still fire as late, not missed."
        ),
        Self("misfireWindow", .span(from: .zero), "What was due longer ago is never made up for."),
        Self("timeout", .span(from: .shortestInterval), "A run that takes longer is ended."),
        Self("killAfter", .span(from: .zero), "5s", "How long after SIGTERM comes SIGKILL."),
        Self(
            "overlap",
            .word(JobDefinition.Overlap.allCases.map(\.rawValue)),
            "skip",
            "A fire while a run is in progress: skipped, waits, begins beside it, or replaces it."
        ),
        Self("retries", .number(0...1000), .integer(0), "How often a failed run is tried again."),
        Self("backoff", .backoff, "1s..1h", "At most how long before the first retry, doubled."),
        Self(
            "successCodes",
            .statuses,
            .array([.integer(0)]),
            "The exit statuses that are no failure."
        ),
        Self(
            "onFailure",
            .command,
            "Run once when a fire has failed for good: a list, or a line for /bin/sh -c."
        ),
        Self(
            "rerunInterrupted",
            .flag,
            .bool(false),
            "Whether a run that the daemon's end interrupted is run again."
        ),
        Self("nice", .number(-20...19), "The niceness of a run."),
        Self("memoryMax", .bytes, "The address space of each process at most."),
        Self("cpuTime", .span(from: .seconds(1)), "The processor time of each process at most."),
        Self("umask", .octal, "022", "The file mode creation mask."),
    ]

    private init(_ name: String, _ kind: FieldKind, _ meaning: String) {
        self.init(name, kind, nil, meaning)
    }

    private init(_ name: String, _ kind: FieldKind, _ standard: String, _ meaning: String) {
        self.init(name, kind, .string(standard), meaning)
    }
}
