// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Schedules
import TimerControl

/// `timerctl export`: jobs as a file that `timerctl apply` takes.
struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write jobs as a file that 'timerctl apply' takes.",
        discussion: """
            Your live jobs that have a name, or those with a label or a tag, as YAML, which 'apply' \
            takes. What --label wrote changes nothing then, but that a job with a length of time \
            until its fire (--in) has the date instead. The file holds the environment of the jobs \
            with all that is secret in it; of URLs it has what stands for them.

            Examples:
              timerctl export --label web > web.yaml
              timerctl export > jobs.yaml; timerctl apply -f jobs.yaml --label mine --adopt
              timerctl export --schema > jobs.schema.json
            """
    )

    @Option(help: "Only the jobs that 'apply' gave this label.")
    var label: String?

    @Option(help: "Only jobs with this tag.")
    var tag: String?

    @Flag(help: "Write the JSON schema of such files instead, for editors.")
    var schema = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
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
            guard !job.definition.isTied else {
                leftOut.append((job, "it ends with a process or a connection"))
                continue
            }
            guard let stated = job.stated else {
                leftOut.append((job, "its definition is damaged: \(job.held ?? "")"))
                continue
            }
            var fields = stated
            // A delay was counted from when the job was added: the file has its date instead.
            let date = job.fireDate.map { JSONValue.string($0.rfc3339) }
            if fields.removeValue(forKey: "in") != nil { fields["at"] = date }
            for field in ["at", "from"] {
                guard case .string(let text)? = fields[field] else { continue }
                if Timestamp(rfc3339: text) == nil { fields[field] = date }
            }
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
        }
        self.jobs.sort { $0.name < $1.name }
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
