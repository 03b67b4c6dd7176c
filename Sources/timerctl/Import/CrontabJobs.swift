// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import TimerControl
import TimerWords

/// Makes jobs of a crontab's lines.
struct CrontabJobs {
    /// The file's path; "-" for standard input.
    var path: String
    /// The crontab's user; nil if each line has a user column.
    var owner: LocalUser?
    var caller = LocalUser.current
    var findUser: (String) throws(Failure) -> LocalUser? = { name throws(Failure) in
        try LocalUser(named: name)
    }
    var isFolder: (String) -> Bool = InputFile.isFolder
    /// Whether a command of that name is in one of these folders.
    var isCommand: (String, [String]) -> Bool = { name, folders in
        folders.contains { access("\($0)/\(name)", X_OK) == 0 }
    }
    /// The zone of lines that name none.
    var local = Zone.local
    /// Whether cron has run the lines until now: then what it does in another way is told.
    var replacesCron = true

    /// The jobs, which run as with cron: missed dates are skipped, and runs may overlap.
    func plan(of crontab: Crontab) -> ImportPlan {
        var plan = ImportPlan(tag: Self.tagPrefix + path)
        plan.refusals = crontab.refusals.map {
            ImportPlan.Refusal(place: "line \($0.line)", text: $0.text, reason: $0.reason)
        }
        var readings: [String] = []
        for entry in crontab.entries {
            do throws(Mistake) {
                plan.warnings += try userWarning(entry).map { [$0] } ?? []
                plan.jobs.append(try job(entry, tag: plan.tag))
                if replacesCron, let note = entry.noteOnCron { readings.append(note) }
                if let note = Self.lostVariables(entry) { readings.append(note) }
            } catch {
                plan.refusals.append(
                    .init(place: "line \(entry.line)", text: entry.text, reason: error.reason)
                )
            }
        }
        plan.refusals.sort { lineNumber($0.place) < lineNumber($1.place) }
        plan.warnings += mailWarnings(on: crontab)
        if replacesCron { plan.warnings += unmailedWarning(on: crontab).map { [$0] } ?? [] }
        if replacesCron { readings = crontab.variableNotes + readings }
        plan.notes = notes(on: crontab) + readings
        return plan
    }

    /// Begins the tag of each job that came from a crontab, ahead of its path.
    static let tagPrefix = "crontab:"

    private struct Mistake: Error { var reason: String }

    private func lineNumber(_ place: String) -> Int { Int(place.dropFirst(5)) ?? 0 }

    private func job(_ entry: Crontab.Entry, tag: String) throws(Mistake) -> ImportedJob {
        let zone = entry.variables["CRON_TZ"]
        let words = ScheduleWords(cron: entry.schedule, tz: zone).namingZone(local)
        do {
            // Checked as the daemon will check it, so that an error can name the line.
            _ = try words.resolve(now: .now, zone: local)
        } catch {
            throw Mistake(reason: error.message)
        }
        let owner = try owner(of: entry)
        let shell = entry.variables["SHELL"] ?? "/bin/sh"
        guard !shell.isEmpty else {
            throw Mistake(reason: "SHELL is empty above it, and says no program that runs it")
        }
        var definition = JobDefinition(schedule: words)
        definition.name = CommandName.name(of: entry.command)
        definition.command = CrontabLine.argv(entry.command, input: entry.input, shell: shell)
        let said = entry.variables.filter { !Self.ownVariables.contains($0.key) }
        let env = said.merging(Self.defaultVariables) { said, _ in said }
        definition.env = env
        let home = env["HOME"] ?? owner.home
        // If HOME does not exist, cron runs the command in another folder; timerd would not start it.
        definition.cwd = isFolder(home) ? env["HOME"] : "/"
        definition.tags = [tag]
        definition.overlap = .allow
        definition.misfire = words.isReboot ? nil : .skip
        (definition.notify, definition.notifyOn) =
            Self.notices(mailTo: entry.variables["MAILTO"])
        do throws(OptionRefusal) {
            // As the daemon will.
            try definition.check()
        } catch {
            throw Mistake(reason: Self.reason(error, definition, said: said))
        }
        return ImportedJob(
            place: "line \(entry.line)",
            text: entry.text,
            rule: Self.rule(of: entry, zone: zone),
            definition: definition,
            owner: owner
        )
    }

    /// Why a job is refused: by what its crontab says, where that alone is refused, else by what is added to it.
    private static func reason(
        _ refusal: OptionRefusal,
        _ definition: JobDefinition,
        said: [String: String]
    ) -> String {
        var own = definition
        own.env = said
        do throws(OptionRefusal) {
            try own.check()
        } catch {
            return "its \(error)"
        }
        let added = defaultVariables.map { "'\($0)=\($1)'" }.joined(separator: ", ")
        return "its \(refusal); that is with \(added), which is added, as by cron, since the "
            + "crontab sets none"
    }

    private static func rule(of entry: Crontab.Entry, zone: String?) -> SourceRule {
        switch DebianCron.reading(of: entry) {
        case .schedule(let schedule): .cron(schedule, zone: zone)
        case .never: .none("cron never runs this line")
        case .refused: .none("cron refuses this line")
        }
    }

    /// The variables that cron reads itself, or does not take from a crontab.
    ///
    /// Not MAILTO, which a command of cron's has too: by it a later crontab knows what an earlier one has asked for.
    private static let ownVariables: Set = ["CRON_TZ", "LOGNAME", "MAILFROM", "RANDOM_DELAY"]

    /// What a line has from cron where the crontab does not say it; seen with Debian's cron 3.0pl1-162.
    static let defaultVariables = ["PATH": "/usr/bin:/bin"]

    /// Where MAILTO has mail go, and of what, as options of a job; nil where it is not set, or is no address of a place.
    static func notices(mailTo address: String?) -> (notify: [String]?, notifyOn: [String]?) {
        guard let address else { return (nil, nil) }
        guard !address.isEmpty else { return (["none"], nil) }
        // cron has the program that sends mail read them: blanks beside commas are none of theirs.
        let addresses = address.split(separator: ",", omittingEmptySubsequences: false)
            .map { $0.trimmingBlanks }
        let place = "mail:\(addresses.joined(separator: ","))"
        return NoticePlace(place) == nil ? (nil, nil) : ([place], ["failed"])
    }

    /// A word on variables that cron gives to SHELL and that the shell which writes a line's input may drop; nil for none.
    private static func lostVariables(_ entry: Crontab.Entry) -> String? {
        // Under cron, too, a shell of that kind would drop them.
        guard entry.input != nil, entry.variables["SHELL"] ?? "/bin/sh" != "/bin/sh" else {
            return nil
        }
        func isName(_ name: String) -> Bool {
            name.utf8.first.map { !(0x30...0x39 ~= $0) } == true
                && name.utf8.allSatisfy {
                    0x30...0x39 ~= $0 || 0x61...0x7a ~= $0 | 0x20 || $0 == UInt8(ascii: "_")
                }
        }
        let lost = entry.variables.keys.filter { !isName($0) }.sorted()
        guard !lost.isEmpty else { return nil }
        let names = lost.map { "'\($0)'" }.joined(separator: ", ")
        return "line \(entry.line): \(names) may not reach the command: "
            + "/bin/sh writes what follows its '%', and drops variables of such names where it is dash"
    }

    /// A word on a command that begins with the name of a user, in a crontab that has no users.
    ///
    /// - Throws: where there is no command of that name.
    private func userWarning(_ entry: Crontab.Entry) throws(Mistake) -> String? {
        let words = entry.command.split { $0 == " " || $0 == "\t" }
        // try?: who cannot be looked up is not warned of.
        guard entry.user == nil, words.count > 1, (try? findUser(String(words[0]))) != nil else {
            return nil
        }
        // Without a PATH also where cron does not look: it is to be told whether a user is meant.
        let path =
            entry.variables["PATH"] ?? "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        let folders = path.split(separator: ":").map(String.init)
        guard isCommand(String(words[0]), folders) else {
            throw Mistake(
                reason:
                    "'\(words[0])' is a user, and no command; a crontab with users is read with "
                    + "--system, a user's own has none"
            )
        }
        return
            "line \(entry.line): '\(words[0])' is a user as well; it is read as the command, and "
            + "--system reads a user there"
    }

    /// MAILTO="" asks for no mail, and loses nothing.
    private func mailWarnings(on crontab: Crontab) -> [String] {
        let used = usedLines("MAILTO", of: crontab)
        let lines = crontab.variableLines.filter {
            $0.name == "MAILFROM" || $0.name == "MAILTO" && used.contains($0.line)
        }
        return lines.filter { !$0.value.isEmpty }.map { line, name, value in
            let text = "\(name)=\(value)"
            guard name == "MAILTO", Self.notices(mailTo: value).notify != nil else {
                return "line \(line): \(text) is not carried; 'timerctl change --notify' says "
                    + "where notices go"
            }
            return "line \(line): \(text) is carried as 'notify': a mail goes when a run fails, "
                + "one an hour at most, and not whenever it writes something; --notify-on "
                + "failed,succeeded and --notify-every 0s come closest to cron, 'timerctl logs' "
                + "has what was written"
        }
    }

    /// Without MAILTO the crontab's user gets whatever a line writes.
    private func unmailedWarning(on crontab: Crontab) -> String? {
        let lines = crontab.entries.filter { $0.variables["MAILTO"] == nil }
        guard let first = lines.first else { return nil }
        let users = Set(lines.map { $0.user ?? (owner ?? caller).name })
        let user = (users.count == 1 ? users.first : nil) ?? "USER"
        let place =
            "line \(first.line) " + (lines.count == 1 ? "has" : "and \(lines.count - 1) more have")
        let words = [
            "timerctl", "change", "JOB", "--notify", "mail:\(user)", "--notify-on", "failed",
        ]
        return
            "\(place) no MAILTO: cron mails what such a line writes to its user, and timerd tells "
            + "nobody; \(ShellWords.command(words)) has a mail go when a run fails"
    }

    private func owner(of entry: Crontab.Entry) throws(Mistake) -> LocalUser {
        guard let name = entry.user else { return owner ?? caller }
        let found: LocalUser?
        do throws(Failure) { found = try findUser(name) } catch {
            throw Mistake(reason: error.message)
        }
        guard let user = found else { throw Mistake(reason: "there is no user '\(name)'") }
        guard user.uid == caller.uid || caller.uid == 0 else {
            throw Mistake(
                reason: "it runs as '\(name)'; only root may add jobs for others than oneself"
            )
        }
        return user
    }

    /// Where a variable is set that a line below goes by.
    private func usedLines(_ name: String, of crontab: Crontab) -> Set<Int> {
        var lines = crontab.variableLines.filter { $0.name == name }.map(\.line)[...]
        var used: Set<Int> = []
        var last: Int?
        for entry in crontab.entries {
            while let line = lines.first, line < entry.line { last = lines.removeFirst() }
            if let last { used.insert(last) }
        }
        return used
    }

    private func notes(on crontab: Crontab) -> [String] {
        let used = usedLines("CRON_TZ", of: crontab)
        var notes = crontab.variableLines.compactMap { line, name, value -> String? in
            if name == "CRON_TZ", !used.contains(line) { return nil }
            return Self.note(on: name).map { "line \(line): \(name)=\(value) \($0)" }
        }
        notes += crontab.unloggedLines.map {
            "line \($0): the '-' that keeps cron from logging is left out"
        }
        if crontab.hasReturns {
            notes.append(
                "lines end with CR LF: the CR is left out, which cron takes for a part of the line"
            )
        }
        return notes
    }

    private static func note(on variable: String) -> String? {
        switch variable {
        case "CRON_TZ":
            "has the dates below it read in that zone, as cronie does; Debian's cron does not"
        case "RANDOM_DELAY": "is left out; --jitter of 'timerctl add' spreads fires"
        case "LOGNAME": "is left out: it says who runs it, as with cron"
        default: nil
        }
    }
}

extension Substring {
    fileprivate var trimmingBlanks: Substring {
        let start = drop { $0 == " " || $0 == "\t" }
        let end = start.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { start[...$0] } ?? ""
    }
}
