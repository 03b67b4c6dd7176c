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

        /// "with another env; its notices to mail:ops end"; nil where only the line is another.
        var remark: String? {
            // That nobody is told any more is more than another option.
            let (old, new) = (job.definition.notify ?? ["none"], definition.notify ?? ["none"])
            let ends = old != ["none"] && new == ["none"]
            let notices: Set = [JobOption.notify, .notifyOn, .notifyEvery, .notifyLate]
            let others = also.filter { !ends || !notices.contains($0) }.map(\.rawValue)
            let parts = [
                others.isEmpty ? nil : "with another \(others.joined(separator: ", "))",
                ends ? "its notices to \(old.joined(separator: ", ")) end" : nil,
            ]
            let words = parts.compactMap(\.self)
            return words.isEmpty ? nil : words.joined(separator: "; ")
        }
    }

    /// Lines that become jobs, in their order.
    private(set) var additions: [ImportedJob] = []
    private(set) var changes: [Change] = []
    private(set) var removals: [Job] = []
    /// The newest job that was compared, where a file's lines are added: two that are installed at once would each add them.
    private(set) var ifNoNewer: NewestTagged?
    /// What is wrong with the text; then nothing is to be done.
    private(set) var complaints: [String] = []
    /// What has no counterpart here, a sentence each.
    private(set) var notes: [String] = []

    /// Compares `text` with the jobs.
    ///
    /// `page`: what the jobs look like. Unless the text was made of it (`isEdited`, or one of its lines is tied to a
    /// job), it is a crontab from elsewhere, and ends none but jobs that came from a crontab. A line that a job says
    /// already is that job; if it came from a crontab, with the variables that hold for the line.
    ///
    /// `broken`: the lines that are not as they stood, since that was no UTF-8.
    init(
        from text: String,
        broken: Set<Int> = [],
        to jobs: CrontabText,
        page: String,
        isEdited: Bool,
        of owner: LocalUser,
        zone: Zone
    ) {
        var crontab = Crontab(parsing: text, hasUsers: false, broken: broken)
        let remarks = CrontabRemarks(in: text, of: page)
        complaints = crontab.refusals.map { "line \($0.line), '\($0.text)': \($0.reason)" }
        var kept: Set<JobID> = []
        var new = takeTiedLines(of: crontab, remarks.all, jobs, keeping: &kept)
        // One that does not fit is a complaint, and then nothing is done.
        let isFromHere = isEdited || !remarks.all.isEmpty
        var unclaimed: [CrontabLine: [Job]] = [:]
        let all = jobs.lines.map { ($0.job, $0.line) as (Job, CrontabLine?) } + jobs.others
        for case (let job, let line?) in all.reversed() where !kept.contains(job.id) {
            unclaimed[line, default: []].append(job)
        }
        if isFromHere {
            new.removeAll { entry in
                guard let job = unclaimed[CrontabLine(entry)]?.popLast() else { return false }
                kept.insert(job.id)
                return true
            }
        }
        let isNew = Set(new.map(\.line))
        let isAboveOthers = crontab.entries.contains {
            !isNew.contains($0.line) && !$0.variables.isEmpty
        }
        crontab.refusals = []
        crontab.entries = new
        let reader = CrontabJobs(path: "-", owner: owner, local: zone, replacesCron: false)
        let plan = reader.plan(of: crontab)
        complaints += plan.refusals.map { "\($0.place), '\($0.text)': \($0.reason)" }
        complaints += changes.compactMap { Self.complaint(on: $0, zone) }
        notes = plan.warnings + plan.notes
        takeImported(plan.jobs, of: new, &unclaimed, keeping: &kept)
        if isFromHere, isAboveOthers || additions.isEmpty && !crontab.variableLines.isEmpty {
            notes.append(
                "the variables change nothing of lines that are there already: they hold for new lines, "
                    + "and 'timerctl change --env' changes those of a job"
            )
        }
        // A page ends what it shows; a crontab from elsewhere all that came from one, whatever became of it.
        removals = (isFromHere ? jobs.lines.map(\.job) : all.map(\.0).filter(\.isFromCrontab))
            .filter { !kept.contains($0.id) }.sorted { $0.id < $1.id }
        if !isEdited, !additions.isEmpty {
            ifNoNewer = NewestTagged(tag: plan.tag, id: all.map(\.0.id).max())
        }
        noteWhatIsLost(comments: remarks.comments)
    }

    /// Takes the lines that remarks tie to jobs; returns those that are new, in their order.
    private mutating func takeTiedLines(
        of crontab: Crontab,
        _ remarks: [CrontabRemarks.Remark],
        _ jobs: CrontabText,
        keeping kept: inout Set<JobID>
    ) -> [Crontab.Entry] {
        let known = Dictionary(uniqueKeysWithValues: jobs.lines.map { ($0.job.id, $0) })
        complaints += remarks.compactMap { $0.complaint(known[$0.tie.job]?.job) }
        let ties = Dictionary(
            uniqueKeysWithValues: remarks.compactMap { remark in
                remark.tied.map { ($0, remark.tie) }
            }
        )
        var new: [Crontab.Entry] = []
        for entry in crontab.entries {
            guard let tie = ties[entry.line] else {
                new.append(entry)
                continue
            }
            // What does not fit is told of already.
            guard let (job, old) = known[tie.job], tie.names(job) else { continue }
            // A line that was copied with the one above it is a new job.
            guard kept.insert(tie.job).inserted else {
                new.append(entry)
                continue
            }
            let line = CrontabLine(entry)
            guard line != old else { continue }
            let definition = line.changed(job.restated, from: old)
            changes.append(Change(job: job, old: old, new: line, definition: definition))
        }
        return new
    }

    /// Takes what the lines become: each adds a job, unless an unclaimed job says the same, which is that job then.
    private mutating func takeImported(
        _ imported: [ImportedJob],
        of entries: [Crontab.Entry],
        _ unclaimed: inout [CrontabLine: [Job]],
        keeping kept: inout Set<JobID>
    ) {
        let lines = Dictionary(uniqueKeysWithValues: entries.map { ("line \($0.line)", $0) })
        let same = Self.takeSame(imported, lines, &unclaimed)
        for imported in imported {
            guard let entry = lines[imported.place],
                let job = same[entry.line] ?? unclaimed[CrontabLine(entry)]?.popLast()
            else {
                additions.append(imported)
                continue
            }
            kept.insert(job.id)
            guard job.isFromCrontab else {
                notes.append("\(imported.place) is \(job.title), which came from no crontab")
                continue
            }
            if let change = Self.change(of: job, to: imported, entry) { changes.append(change) }
        }
    }

    /// Takes the jobs that lines are with nothing of them another, by the numbers of the lines.
    ///
    /// Ahead of all others: of a line that stands there twice, in two zones, each is the job that it was, whichever goes.
    private static func takeSame(
        _ imported: [ImportedJob],
        _ lines: [String: Crontab.Entry],
        _ unclaimed: inout [CrontabLine: [Job]]
    ) -> [Int: Job] {
        let counts = Dictionary(lines.values.map { (CrontabLine($0), 1) }, uniquingKeysWith: +)
        var same: [Int: Job] = [:]
        for imported in imported {
            guard let entry = lines[imported.place] else { continue }
            let line = CrontabLine(entry)
            // Of many of one line the oldest are looked at, or thousands would be with each of thousands.
            guard max(counts[line] ?? 0, unclaimed[line]?.count ?? 0) > 1 else { continue }
            let index = unclaimed[line].flatMap { jobs in
                var paused: Int?
                for index in jobs.indices.suffix(16).reversed() where jobs[index].isFromCrontab {
                    guard change(of: jobs[index], to: imported, entry) == nil else { continue }
                    // Where one of two lines goes, the other goes on.
                    guard jobs[index].state == .paused else { return index }
                    paused = paused ?? index
                }
                return paused
            }
            if let index { same[entry.line] = unclaimed[line]?.remove(at: index) }
        }
        return same
    }

    /// Notes what the text's user may not expect to end with it.
    private mutating func noteWhatIsLost(comments: Int) {
        let system = removals.count(where: \.isFromSystemCrontab)
        if system > 0 {
            notes.append(
                "\(system == 1 ? "1 job that ends" : "\(system) jobs that end") came from "
                    + "/etc/crontab or /etc/cron.d"
            )
        }
        if comments > 0 {
            notes.append(
                "\(comments == 1 ? "1 comment is" : "\(comments) comments are") not kept: a job has a name"
            )
        }
    }

    var isEmpty: Bool { additions.isEmpty && changes.isEmpty && removals.isEmpty }

    /// `names`: of the additions, one each.
    func request(names: [String?], dryRun: Bool) -> ApplyJobs {
        var request = ApplyJobs(
            ending: removals,
            change: changes.map { JobRevision(of: $0.job, $0.definition) },
            add: zip(additions, names).map { job, name in
                var definition = job.definition
                definition.name = name
                return definition
            }
        )
        request.dryRun = dryRun
        return request
    }

    /// The same in as few parts as requests hold.
    func parts(names: [String?]) throws -> [ApplyPart] {
        try ApplyPart.parts(
            of: request(names: names, dryRun: false),
            changed: changes.map(\.job.title),
            added: additions.map(\.place)
        )
    }

    /// A line each: "+" is added, "~" changed and "-" ended.
    func lines(for terminal: Terminal) -> [String] {
        func line(_ text: String, _ style: Terminal.Style?) -> String {
            terminal.styled(Printable.escaped(text), style)
        }
        return additions.map { line("+ \($0.text)", .green) }
            + changes.flatMap { change in
                [line("~ \(change.job.title)\(change.remark.map { ": \($0)" } ?? "")", .yellow)]
                    + (change.old == change.new
                        ? []
                        : [
                            line("    \(change.old.text)", nil),
                            line(" -> \(change.new.text)", nil),
                        ])
            } + removals.map { line("- \($0.title)", .red) }
    }

    /// "1 job added, 2 changed, 1 ended".
    ///
    /// `user`: what -u says; an undo takes back what was done for that user.
    func summary(of user: String?, dryRun: Bool) -> String {
        let verb = dryRun ? "would be " : ""
        let command = "timerctl undo" + (user.map { " -u \($0)" } ?? "")
        let undo = removals.isEmpty || dryRun ? "" : "; '\(command)' brings back what was ended"
        return "\(additions.count) \(verb)added, \(changes.count) \(verb)changed, "
            + "\(removals.count) \(verb)ended\(undo)"
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
        // One that was added with timerd's own PATH keeps it, unless the crontab says another.
        if entry.variables["PATH"] == nil, old.env?["PATH"] == nil {
            definition.env?["PATH"] = nil
            if definition.env?.isEmpty == true { definition.env = nil }
        }
        definition.cwd = new.cwd
        // A job that no zone was said of has the daemon's.
        if entry.variables["CRON_TZ"] != nil || old.schedule.tz != nil {
            definition.schedule.tz = new.schedule.tz
        }
        definition.renewNotices(from: old, to: new)
        let also = JobOption.inFiles.filter { old[$0] != definition[$0] }
        guard !also.isEmpty else { return nil }
        let line = CrontabLine(entry)
        return Change(
            job: job,
            old: line,
            new: line,
            definition: definition,
            also: also
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
        label == nil && definition.tags?.contains { $0.hasPrefix(CrontabJobs.tagPrefix) } ?? false
    }

    /// Whether cron itself would have it in no user's crontab.
    fileprivate var isFromSystemCrontab: Bool {
        (definition.tags ?? []).contains {
            $0.hasPrefix(CrontabJobs.tagPrefix)
                && SystemCrontab(String($0.dropFirst(CrontabJobs.tagPrefix.count))) != nil
        }
    }
}

extension JobDefinition {
    /// Has the notices that the MAILTO of `new` asks for, where that of `old`, among its variables, asked for others.
    ///
    /// What no MAILTO has asked for stays: somebody has said it of the job since, or of a job that tells nobody.
    fileprivate mutating func renewNotices(from old: Self, to new: Self) {
        let before = CrontabJobs.notices(mailTo: old.env?["MAILTO"])
        guard new.notify != before.notify, new.notify != nil || old.notify == before.notify else {
            return
        }
        self.notify = new.notify
        if new.notifyOn == nil {
            // Of notices that end; the daemon refuses them beside 'none'.
            (self.notifyOn, self.notifyEvery, self.notifyLate) = (nil, nil, nil)
        } else if old.notifyOn == before.notifyOn {
            self.notifyOn = new.notifyOn
        }
    }
}
