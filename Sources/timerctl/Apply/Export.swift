// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Schedules
import TimerControl
import TimerWords

/// `timerctl export`: jobs as a file that `timerctl apply` takes.
struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write jobs as a file that 'timerctl apply' takes.",
        discussion: """
            Your live jobs that have a name, or those with a label or a tag, as YAML, which 'apply' \
            takes. What --label wrote changes nothing then. A job with a length of time until its \
            fire (--in) has the date in it, and a one-shot that was moved its new date; \
            what else was moved, dropped or counted is told, and not in the file. The file holds the environment of the jobs \
            with all that is secret in it; of URLs it has what stands for them. A job that no file \
            can say whole is left out, which is told.

            Examples:
              timerctl export --label web > web.yaml
              timerctl export > jobs.yaml; timerctl apply -f jobs.yaml --label mine --adopt
              timerctl export --schema > jobs.schema.json
            """
    )

    @Option(help: "Only the jobs that 'apply' gave this label.", completion: .labels)
    var label: String?

    @Option(help: "Only jobs with this tag.", completion: .tags)
    var tag: String?

    @Flag(help: "Write the JSON schema of such files instead, for editors.")
    var schema = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        for (option, value) in [("--label", label), ("--tag", tag)] where schema && value != nil {
            throw ValidationError("--schema and \(option) exclude each other")
        }
        if label != nil, tag != nil {
            throw ValidationError("--label and --tag exclude each other")
        }
        if let label, !Label.isAccepted(label) {
            throw ValidationError("--label '\(label)' is not accepted, which is \(Label.accepted)")
        }
    }

    func run() async throws {
        if schema { return try Output.write(JobsSchema.text) }
        let daemon = try await Daemon.connect(common)
        let jobs = try await Progress.show("reading jobs") { _ in
            try await AppliedJobs.own(daemon, tag: label.map(Label.tag) ?? tag, all: false)
        }
        let file = ExportedFile(jobs, label: label)
        for (job, reason) in file.leftOut {
            Output.tell("note: job \(job.id) is left out: \(reason)")
        }
        for job in file.withoutUserInfo {
            Output.tell(
                "note: job \(job.id) cannot be read: userInfo, if it has any, is not in the file"
            )
        }
        for note in UnstatedHistory(file.written, now: .now, zone: .local).notes {
            Output.tell("note: \(note)")
        }
        if common.json { return try Output.write(YAMLText.json(file.json) + "\n") }
        try Output.write(file.text(schema: JobsSchema.installed))
    }
}

/// Jobs as a file; pure.
struct ExportedFile {
    var label: String?
    private(set) var jobs: [(name: String, fields: [String: JSONValue])] = []
    /// The jobs that no file can declare, and why.
    private(set) var leftOut: [(job: Job, reason: String)] = []
    /// Those of `jobs` that the daemon cannot read: it tells what is stored, which is without userInfo.
    private(set) var withoutUserInfo: [Job] = []
    /// The jobs that are in the file, as they are stated.
    private(set) var written: [Job] = []

    init(_ jobs: [Job], label: String?) {
        self.label = label
        var ids: [String: JobID] = [:]
        for job in jobs {
            guard let name = job.definition.name else {
                leftOut.append((job, "it has no name, by which a file would know it"))
                continue
            }
            // A file has one name for texts of one meaning in Unicode.
            if let id = ids[name] {
                leftOut.append((job, "its name is that of job \(id) but for its Unicode form"))
                continue
            }
            let stated = StatedJob(job)
            guard !stated.definition.isTied else {
                leftOut.append((job, "it ends with a process or a connection"))
                continue
            }
            if let words = stated.unknownWords {
                leftOut.append((job, "this version does not understand its \(words)"))
                continue
            }
            var definition = stated.definition
            guard let words = Self.fixed(definition.schedule, at: job.fireDate) else {
                leftOut.append((job, "its schedule, or the date of it, is not known"))
                continue
            }
            definition.schedule = words
            var fields = definition.fields
            // A maintenance will end.
            fields["paused"] = job.state == .paused && !job.maintenance ? .bool(true) : nil
            for field in ["command", "onFailure", "onSuccess"] {
                if let line = Self.shellLine(fields[field]) { fields[field] = .string(line) }
            }
            if let userInfo = job.definition.userInfo {
                fields["userInfo"] = .verbatim(YAMLText.verbatim(userInfo))
            }
            ids[name] = job.id
            self.jobs.append((name, fields))
            if stated.isUnread { withoutUserInfo.append(job) }
            var stands = job
            stands.definition = stated.definition
            written.append(stands)
        }
        self.jobs.sort { $0.name < $1.name }
    }

    /// The words of a schedule with `date`, the next one, for that of a one-shot, which may have been moved to it, and for
    /// what was counted from when the job was added.
    ///
    /// Nil where they are no schedule, or that date is not known.
    private static func fixed(_ words: ScheduleWords, at date: Timestamp?) -> ScheduleWords? {
        let kinds = [words.in, words.at, words.every, words.cron, words.calendar]
        guard kinds.count(where: { $0 != nil }) == 1 else { return nil }
        func isFixed(_ text: String?) -> Bool { text.map { Timestamp(rfc3339: $0) != nil } ?? true }
        var words = words
        if let date, words.in != nil || words.at != nil {
            (words.in, words.at) = (nil, date.rfc3339)
        }
        guard words.in == nil, isFixed(words.at) else { return nil }
        if !isFixed(words.from) {
            guard let date else { return nil }
            words.from = date.rfc3339
        }
        return words
    }

    /// The shell line of a command that is `/bin/sh -c LINE`; nil for others.
    private static func shellLine(_ command: JSONValue?) -> String? {
        guard case .array(let words)? = command, words.count == 3, words[0] == .string("/bin/sh"),
            words[1] == .string("-c"), case .string(let line) = words[2], !line.isEmpty
        else { return nil }
        return line
    }

    var json: JSONValue {
        var members: [String: JSONValue] = [
            "jobs": .object(
                Dictionary(uniqueKeysWithValues: jobs.map { ($0.name, .object($0.fields)) })
            )
        ]
        if let label { members["label"] = .string(label) }
        return .object(members)
    }

    /// The text of the file; `schema` is the path of its JSON schema, for editors.
    func text(schema: String?) -> String {
        var text = schema.map { "# yaml-language-server: $schema=\($0)\n" } ?? ""
        if let label { text += "label: \(YAMLText.string(label))\n" }
        text += jobs.isEmpty ? "jobs: {}\n" : "jobs:\n"
        for (name, fields) in jobs {
            text += "  \(YAMLText.string(name)):\n"
            for option in JobOption.inFiles {
                guard let value = fields[option.rawValue] else { continue }
                text += "    \(option): \(YAMLText.inline(value))\n"
            }
        }
        return text
    }
}
