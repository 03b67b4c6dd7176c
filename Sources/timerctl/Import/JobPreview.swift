// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// An imported job and its source, with the next five dates of both.
struct JobPreview {
    var job: ImportedJob
    var now: Timestamp
    /// By the source's own rule.
    var old: (dates: [Timestamp], says: String)
    /// By the definition that will be stored.
    var new: (dates: [Timestamp], says: String)
    /// The live job that it is; nil if there is none.
    var there: ImportComparison.Present?

    /// Asks the daemon for the new dates; without a daemon they are computed here.
    init(of job: ImportedJob, at now: Timestamp, by daemon: Daemon?) async throws(Failure) {
        self.job = job
        self.now = now
        old = job.rule.dates(after: now, local: .local)
        let schedule = job.definition.schedule
        if schedule.isReboot {
            new = ([], "at each start of the machine")
        } else if let daemon {
            var request = PreviewSchedule(schedule: schedule)
            request.after = now.rfc3339
            let answer = try await daemon.ask(.previewSchedule(request), for: PreviewReply.self)
            new = (answer.value.fireDates, "timerd's answer")
        } else {
            do {
                let rule = try schedule.resolve(now: now, zone: .local).schedule
                var dates: [Timestamp] = []
                while dates.count < 5, let date = rule.nextFireDate(after: dates.last ?? now) {
                    dates.append(date)
                }
                new = (dates, "timerd's rule")
            } catch {
                new = ([], "\(error)")
            }
        }
    }

    /// Whether the old and new dates agree.
    var isSame: Bool { old.dates == new.dates }

    /// Lines of at most 80 columns, except source and command, which are cut for a terminal.
    func text(for terminal: Terminal) -> String {
        let name = job.definition.name.map { " '\($0)'" } ?? ""
        let command = ShellWords.joined(job.definition.command ?? [])
        var lines = [
            "\(job.place)  \(job.text)",
            "  job\(name) of \(job.owner.name), \(job.definition.schedule.words(dates(in: .local)))",
            "  runs \(command)",
        ]
        if !settings.isEmpty { lines.append("  with \(settings)") }
        if let there { lines.append("  \(there.sentence)") }
        lines.append(row("old: \(old.says)", "new: \(new.says)"))
        let dates = dates(in: zone)
        for index in 0..<max(old.dates.count, new.dates.count) {
            let pair = [old.dates, new.dates].map { list in
                list.indices.contains(index)
                    ? "\(dates.weekday(list[index])) \(dates.full(list[index]))" : "-"
            }
            let mark = old.dates.isEmpty || pair[0] == pair[1] ? "" : "  differs"
            lines.append(row(pair[0], pair[1] + mark))
        }
        return lines.map { terminal.cut(Printable.escaped($0)) + "\n" }.joined()
    }

    /// The job's other settings: "jitter 12h, misfire once".
    private var settings: String {
        var settings = job.definition
        settings.schedule = ScheduleWords()
        (settings.name, settings.command, settings.tags) = (nil, nil, nil)
        // try?: a definition holds nothing that JSON cannot express.
        guard case .object(let members)? = try? JSONValue(encoding: settings) else { return "" }
        let words = members.filter { $0.key != "schedule" }.sorted { $0.key < $1.key }.map {
            if case .string(let text) = $1 { "\($0) \(text)" } else { "\($0) \($1.jsonText)" }
        }
        return words.joined(separator: ", ")
    }

    /// A line of two columns.
    private func row(_ left: String, _ right: String) -> String {
        let padding = String(repeating: " ", count: max(2, 34 - Printable.width(left)))
        return "  \(left)\(padding)\(right)"
    }

    private func dates(in zone: Zone) -> LocalDate { LocalDate(now: now, zone: zone) }

    /// The zone of the schedule, else the local one.
    private var zone: Zone {
        // try?: a line with an unknown zone was refused before.
        job.definition.schedule.tz.flatMap { try? Zone(named: $0) } ?? .local
    }

    /// One object on a line.
    var json: String {
        var object: [String: JSONValue] = [
            "place": .string(job.place), "text": .string(job.text),
            "owner": .string(job.owner.name),
            "old": .array(old.dates.map { .string($0.rfc3339) }), "oldBy": .string(old.says),
            "new": .array(new.dates.map { .string($0.rfc3339) }), "newBy": .string(new.says),
        ]
        // try?: a definition holds nothing that JSON cannot express.
        object["job"] = try? JSONValue(encoding: job.definition)
        if let there { object["there"] = .integer(there.there.id.rawValue) }
        return JSONValue.object(object).jsonLine
    }
}
