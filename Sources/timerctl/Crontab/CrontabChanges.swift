// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// What makes a user's jobs those of a crontab; pure.
struct CrontabChanges {
    struct Change {
        var job: Job
        var old: CrontabLine
        var new: CrontabLine
        var definition: JobDefinition
        /// What is another besides what the line says.
        var also: [JobOption] = []
    }

    /// Lines that become jobs, in their order.
    private(set) var additions: [ImportedJob] = []
    private(set) var changes: [Change] = []
    private(set) var removals: [Job] = []
    /// What is wrong with the text; then nothing is to be done.
    private(set) var complaints: [String] = []
    /// What has no counterpart here, a sentence each.
    private(set) var notes: [String] = []

    /// Compares `text` with the jobs.
    ///
    /// `page`: what the jobs look like. Unless the text was made of it (`isEdited`, or one of its lines is tied to a
    /// job), it is a crontab from elsewhere, and ends none but jobs that came from a crontab. A line that a job says
    /// already is that job; if it came from a crontab, with the variables that hold for the line.
    init(
        from text: String,
        to jobs: CrontabText,
        page: String,
        isEdited: Bool,
        of owner: LocalUser,
        zone: Zone
    ) {
        var crontab = Crontab(parsing: text, hasUsers: false)
        let marks = Self.marks(in: text, of: page)
        let known = Dictionary(uniqueKeysWithValues: jobs.lines.map { ($0.job.id, $0) })
        complaints = crontab.refusals.map { "line \($0.line), '\($0.text)': \($0.reason)" }
        var kept: Set<JobID> = []
        var new: [Crontab.Entry] = []
        for entry in crontab.entries {
            guard let mark = marks.tied[entry.line] else {
                new.append(entry)
                continue
            }
            guard let (job, old) = known[mark] else {
                complaints.append(
                    "line \(entry.line): there is no job \(mark) of yours that a line says; without "
                        + "the line above it, it is a new job"
                )
                continue
            }
            // A line that was copied with the one above it is a new job.
            guard kept.insert(mark).inserted else {
                new.append(entry)
                continue
            }
            let line = CrontabLine(entry)
            guard line != old else { continue }
            let definition = line.changed(job.restated, from: old)
            changes.append(Change(job: job, old: old, new: line, definition: definition))
        }
        let isFromHere = isEdited || marks.isTied
        var unclaimed: [CrontabLine: [Job]] = [:]
        let all = jobs.lines.map { ($0.job, $0.line) as (Job, CrontabLine?) } + jobs.others
        for case (let job, let line?) in all.reversed() where !kept.contains(job.id) {
            unclaimed[line, default: []].append(job)
        }
        crontab.refusals = []
        crontab.entries = new
        let plan = CrontabJobs(path: "-", owner: owner, local: zone).plan(of: crontab)
        complaints += plan.refusals.map { "\($0.place), '\($0.text)': \($0.reason)" }
        complaints += changes.compactMap { Self.complaint(on: $0, zone) }
        notes = plan.warnings + plan.notes
        let lines = Dictionary(uniqueKeysWithValues: new.map { ("line \($0.line)", $0) })
        for imported in plan.jobs {
            guard let entry = lines[imported.place],
                let job = unclaimed[CrontabLine(entry)]?.popLast()
            else {
                additions.append(imported)
                continue
            }
            kept.insert(job.id)
            if isFromHere { continue }
            guard job.isFromCrontab else {
                notes.append("\(imported.place) is \(job.title), which came from no crontab")
                continue
            }
            if let change = Self.change(of: job, to: imported, entry) { changes.append(change) }
        }
        if isFromHere, additions.isEmpty, !crontab.variableLines.isEmpty {
            notes.append(
                "the variables change nothing: they hold for new lines, and "
                    + "'timerctl change --env' changes those of a job"
            )
        }
        // A page ends what it shows; a crontab from elsewhere all that came from one, whatever became of it.
        removals = (isFromHere ? jobs.lines.map(\.job) : all.map(\.0).filter(\.isFromCrontab))
            .filter { !kept.contains($0.id) }.sorted { $0.id < $1.id }
        let comments = marks.comments
        if comments > 0 {
            notes.append(
                "\(comments == 1 ? "1 comment is" : "\(comments) comments are") not kept: a job has a name"
            )
        }
    }

    var isEmpty: Bool { additions.isEmpty && changes.isEmpty && removals.isEmpty }

    /// `names`: of the additions, one each.
    func request(names: [String?], dryRun: Bool) -> ApplyJobs {
        ApplyJobs(
            invalidate: removals.map(\.id),
            change: changes.map { JobRevision(of: $0.job, $0.definition) },
            add: zip(additions, names).map { job, name in
                var definition = job.definition
                definition.name = name
                return definition
            },
            dryRun: dryRun
        )
    }

    /// A line each: "+" is added, "~" changed and "-" ended.
    func lines(for terminal: Terminal) -> [String] {
        func line(_ text: String, _ style: Terminal.Style?) -> String {
            terminal.styled(Printable.escaped(text), style)
        }
        return additions.map { line("+ \($0.text)", .green) }
            + changes.flatMap { change in
                let also = change.also.map(\.rawValue).joined(separator: ", ")
                return [
                    line(
                        "~ \(change.job.title)\(also.isEmpty ? "" : ": with another \(also)")",
                        .yellow
                    )
                ]
                    + (change.old == change.new
                        ? []
                        : [
                            line("    \(change.old.text)", nil),
                            line(" -> \(change.new.text)", nil),
                        ])
            } + removals.map { line("- \($0.title)", .red) }
    }

    /// "1 job added, 2 changed, 1 ended".
    func summary(dryRun: Bool) -> String {
        let verb = dryRun ? "would be " : ""
        let undo = removals.isEmpty || dryRun ? "" : "; 'timerctl undo' brings back what was ended"
        return "\(additions.count) \(verb)added, \(changes.count) \(verb)changed, "
            + "\(removals.count) \(verb)ended\(undo)"
    }

    // MARK: - Remarks

    private struct Marks {
        /// By the number of the line that follows.
        var tied: [Int: JobID] = [:]
        var isTied = false
        /// How many comments of the user's own there are.
        var comments = 0
    }

    private static func marks(in text: String, of page: String) -> Marks {
        var (marks, next) = (Marks(), nil as JobID?)
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        let own = Set(page.split(separator: "\n"))
        for (index, line) in lines.enumerated() {
            let words = line.drop { $0 == " " || $0 == "\t" }
            if words.isEmpty { continue }
            guard words.first == "#" else {
                if CrontabVariable(parsing: words) != nil { continue }
                if let next { marks.tied[index + 1] = next }
                next = nil
                continue
            }
            if let job = CrontabText.job(of: words) {
                next = job
                marks.isTied = true
            } else if !own.contains(line), !line.hasPrefix(CrontabText.complaint) {
                marks.comments += 1
            }
        }
        return marks
    }

    /// What a line makes of a job that says it already; nil where nothing of it is another.
    private static func change(
        of job: Job,
        to imported: ImportedJob,
        _ entry: Crontab.Entry
    ) -> Change? {
        let (old, new) = (job.restated, imported.definition)
        var definition = old
        (definition.command, definition.env) = (new.command, new.env)
        definition.cwd = new.cwd
        if entry.variables["CRON_TZ"] != nil { definition.schedule.tz = new.schedule.tz }
        if entry.variables["MAILTO"] != nil {
            (definition.notify, definition.notifyOn) = (new.notify, new.notifyOn)
        }
        guard definition != old else { return nil }
        let (was, becomes) = (old.fields, definition.fields)
        let line = CrontabLine(entry)
        return Change(
            job: job,
            old: line,
            new: line,
            definition: definition,
            also: JobOption.inFiles.filter { was[$0.rawValue] != becomes[$0.rawValue] }
        )
    }

    private static func complaint(on change: Change, _ zone: Zone) -> String? {
        var words = change.job.definition.schedule
        words.cron = change.new.schedule
        do {
            _ = try words.resolve(now: .now, zone: zone)
            return nil
        } catch {
            return "\(change.job.title), '\(change.new.text)': \(error.message)"
        }
    }
}

extension Job {
    /// Whether it was imported from a crontab, or added by one, and is not the business of the files that `apply` keeps.
    var isFromCrontab: Bool {
        label == nil && definition.tags?.contains { $0.hasPrefix("crontab:") } ?? false
    }
}
