// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Makes jobs of a crontab's lines.
struct CrontabJobs {
    /// The file's path; "-" for standard input.
    var path: String
    /// The crontab's user; nil if each line has a user column.
    var owner: LocalUser?
    var caller = LocalUser.current
    var findUser: (String) -> LocalUser? = { LocalUser(named: $0) }
    var isFolder: (String) -> Bool = InputFile.isFolder
    /// The zone of lines that name none.
    var local = Zone.local

    /// The jobs, which run as with cron: missed dates are skipped, and runs may overlap.
    func plan(of crontab: Crontab) -> ImportPlan {
        var plan = ImportPlan(tag: "crontab:\(path)")
        plan.refusals = crontab.refusals.map {
            ImportPlan.Refusal(place: "line \($0.line)", text: $0.text, reason: $0.reason)
        }
        for entry in crontab.entries {
            do throws(Mistake) {
                plan.jobs.append(try job(entry, tag: plan.tag))
            } catch {
                plan.refusals.append(
                    .init(place: "line \(entry.line)", text: entry.text, reason: error.reason)
                )
            }
        }
        plan.refusals.sort { lineNumber($0.place) < lineNumber($1.place) }
        plan.notes = notes(on: crontab)
        return plan
    }

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
        var definition = JobDefinition(schedule: words)
        definition.name = CommandName.name(of: entry.command)
        definition.command = [shell, "-c", entry.command]
        if let input = entry.input {
            // `/bin/sh` writes the input, as the crontab's own shell may be any.
            let script = #"printf %s "$2" | "$0" -c "$1""#
            definition.command = ["/bin/sh", "-c", script, shell, entry.command, input]
        }
        let env = entry.variables.filter { !Self.ownVariables.contains($0.key) }
        definition.env = env.isEmpty ? nil : env
        let home = env["HOME"] ?? owner.home
        // If HOME does not exist, cron runs the command in another folder; timerd would not start it.
        definition.cwd = isFolder(home) ? env["HOME"] : "/"
        definition.tags = [tag]
        definition.overlap = .allow
        definition.misfire = words.isReboot ? nil : .skip
        return ImportedJob(
            place: "line \(entry.line)",
            text: entry.text,
            rule: .cron(entry.schedule, zone: zone),
            definition: definition,
            owner: owner
        )
    }

    /// The variables that cron reads itself, or does not take from a crontab.
    private static let ownVariables: Set = [
        "CRON_TZ", "LOGNAME", "MAILTO", "MAILFROM", "RANDOM_DELAY",
    ]

    private func owner(of entry: Crontab.Entry) throws(Mistake) -> LocalUser {
        guard let name = entry.user else { return owner ?? caller }
        guard let user = findUser(name) else { throw Mistake(reason: "there is no user '\(name)'") }
        guard user.uid == caller.uid || caller.uid == 0 else {
            throw Mistake(
                reason: "it runs as '\(name)'; only root may add jobs for others than oneself"
            )
        }
        return user
    }

    private func notes(on crontab: Crontab) -> [String] {
        var notes: [String] = []
        let names = crontab.variableNames
        if !names.isDisjoint(with: ["MAILTO", "MAILFROM"]) {
            notes.append(
                "MAILTO: timerd sends no mail; 'timerctl logs ID' has what a run wrote, and "
                    + "--on-failure of 'timerctl add' runs a command of yours"
            )
        }
        if names.contains("CRON_TZ") {
            notes.append(
                "CRON_TZ: dates are read in that zone, as cronie does; Debian's cron does not"
            )
        }
        if names.contains("RANDOM_DELAY") {
            notes.append("RANDOM_DELAY is left out; --jitter of 'timerctl add' spreads fires")
        }
        if names.contains("LOGNAME") {
            notes.append("LOGNAME is left out: it says who runs it, as with cron")
        }
        if let line = crontab.unloggedLines.first {
            notes.append("line \(line): the '-' that keeps cron from logging is left out")
        }
        return notes
    }
}
