// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// A job as `show` prints it: its fields, its last fires, its coming dates.
struct JobPage {
    var job: Job
    /// Newest first.
    var runs: [Run]
    var dates: LocalDate
    /// How the daemon is, of which some has to do with the job; nil where that is not known.
    var status: StatusReply?
    /// The queue that its fires are tasks in; nil where that is not known, or there is none.
    var queue: TaskQueue?
    /// All dates ahead that are dropped; `runs` has the nearest.
    var dropped: [Run] = []
    /// How many fires are not over beside those of `runs`.
    var more = 0
    /// Whether there are still more, which nobody has counted.
    var isCut = false

    func text(for terminal: Terminal) -> String {
        let title = Self.lines(of: job.title, .bold, behind: "", terminal)
        let width = fields.reduce(0) { max($0, $1.label.count) }
        let lines = fields.map { field in
            let label = field.label + String(repeating: " ", count: width - field.label.count)
            return Self.lines(of: field.value, field.style, behind: "  \(label)  ", terminal)
        }
        return title + lines.joined() + section("last fires", lastFires, terminal)
            + section("coming dates", comingDates.map { ($0, nil) }, terminal)
    }

    struct Field {
        var label: String
        var value: String
        var style: Terminal.Style?
    }

    /// The fields that are set, the most asked for first; a field that is not set has no line.
    var fields: [Field] {
        let definition = job.definition
        let all: [Field?] = [
            Field(label: "state", value: state, style: job.state.style),
            held,
            waits,
            job.stored.map { Field(label: "stored", value: $0.jsonText) },
            nextFire,
            job.isReadable
                ? Field(label: "schedule", value: definition.schedule.words(dates)) : nil,
            normalForm.map { Field(label: "normal form", value: $0) },
            inWords.map { Field(label: "in words", value: $0) },
            job.isReadable
                ? Field(
                    label: "command",
                    value: definition.command.map(ShellWords.joined)
                        ?? definition.queue.map { "none: each fire is a task in queue '\($0)'" }
                        ?? "none: each fire is an event"
                ) : nil,
            definition.priority.map { Field(label: "priority", value: "\($0)") },
            definition.key.map { key in
                Field(label: "key", value: key + (definition.keyKept.map { ", kept \($0)" } ?? ""))
            },
            definition.cwd.map { Field(label: "directory", value: $0) },
            definition.env.map { Field(label: "environment", value: environment($0)) },
            definition.envFile.map {
                Field(label: "env files", value: $0.joined(separator: ", "))
            },
            definition.credentials.map {
                Field(label: "credentials", value: $0.joined(separator: ", "))
            },
            definition.userInfo.map { Field(label: "userInfo", value: $0.text) },
            definition.tags.map { Field(label: "tags", value: $0.joined(separator: ", ")) },
            Field(label: "fires", value: fires),
            definition.until.map { Field(label: "until", value: dates.local($0)) },
            definition.tolerance.map { Field(label: "tolerance", value: $0) },
            definition.jitter.map { Field(label: "jitter", value: jitter($0)) },
            misfire.map { Field(label: "misfire", value: $0) },
        ]
        return (all + runFields + defaultFields + origin).compactMap(\.self)
    }

    /// How its command is run, as far as that is set.
    private var runFields: [Field?] {
        let definition = job.definition
        let retries = definition.retries.map { number in
            "\(number)" + (definition.backoff.map { ", after up to \($0)" } ?? "")
        }
        let limits = definition.limitWords
        let timeout = definition.timeout.map { timeout in
            timeout + (definition.killAfter.map { ", killed \($0) later" } ?? "")
        }
        return [
            timeout.map { Field(label: "timeout", value: $0) },
            // They count without the option they stand beside: a kill, and the daemon's default of retries.
            definition.timeout == nil
                ? definition.killAfter.map { Field(label: "kill after", value: $0) } : nil,
            definition.overlap.map { Field(label: "overlap", value: $0.rawValue) },
            retries.map { Field(label: "retries", value: $0) },
            definition.retries == nil
                ? definition.backoff.map { Field(label: "backoff", value: $0) } : nil,
            definition.successCodes.map { codes in
                Field(label: "success", value: codes.map { "exit \($0)" }.joined(separator: ", "))
            },
            definition.onFailure.map { Field(label: "on failure", value: ShellWords.joined($0)) },
            definition.onSuccess.map { Field(label: "on success", value: ShellWords.joined($0)) },
            definition.notify.map { Field(label: "notify", value: $0.joined(separator: ", ")) },
            definition.notifyOn.map {
                Field(label: "notify on", value: $0.joined(separator: ", "))
            },
            definition.notifyLate.map { Field(label: "notify late", value: "after \($0)") },
            definition.notifyEvery.map { Field(label: "notify every", value: $0) },
            definition.ping.map { Field(label: "ping", value: $0) },
            definition.rerunInterrupted.map {
                Field(label: "interrupted", value: $0 ? "run again" : "left")
            },
            definition.output.map { Field(label: "output", value: $0.rawValue) },
            definition.outputKept.map { Field(label: "output kept", value: $0) },
            definition.keepRuns.map { Field(label: "history", value: history($0)) },
            definition.on.map { Field(label: "runs on", value: $0) },
            limits.isEmpty ? nil : Field(label: "limits", value: limits.joined(separator: ", ")),
            status?.controlGroups?.withoutEffect(definition).map {
                Field(label: "no effect", value: $0, style: .yellow)
            },
        ]
    }

    /// As many as it was given while the setting allowed them may be more than are kept by now.
    private func history(_ runs: Int) -> String {
        guard let most = status?.maxRunsKept, runs > most else { return "\(runs) runs kept" }
        return "\(runs) runs, at most \(most) are kept here (maxRunsKept)"
    }

    /// What counts for its runs though it does not say so.
    private var defaultFields: [Field?] {
        let labels = ["onFailure": "on failure", "onSuccess": "on success"]
        return status?.defaultWords(of: job.definition).map { option, words in
            Field(
                label: labels[option] ?? option,
                value: words + " (the daemon's default)"
            )
        } ?? []
    }

    private var origin: [Field?] {
        [
            job.definition.whilePid.map {
                Field(label: "ends with", value: "process \($0)")
            },
            job.definition.whileConnected == true
                ? Field(label: "ends with", value: "the connection that added it") : nil,
            Field(label: "owner", value: job.owner),
            Field(label: "added", value: moment(job.addedAt)),
        ]
    }

    /// "10min; 2026-12-01 09:00:00 CET is put off by 3 min".
    private func jitter(_ words: String) -> String {
        guard let date = job.fireDate, let due = job.dueDate else { return words }
        return "\(words); \(dates.full(date)) is put off by \(due - date)"
    }

    private var fires: String {
        job.definition.count.map { "\(job.fires) of \($0)" } ?? "\(job.fires)"
    }

    private var misfire: String? {
        let definition = job.definition
        let parts = [
            definition.misfire?.rawValue,
            definition.misfireLimit.map { "at most \($0)" },
            definition.misfireAfter.map { "late up to \($0)" },
            definition.misfireWindow.map { "none due longer ago than \($0)" },
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    private func environment(_ variables: [String: String]) -> String {
        variables.sorted { $0.key < $1.key }
            .map { "\($0.key)=\(ShellWords.joined([$0.value]))" }.joined(separator: " ")
    }

    /// "in 4 min, 2026-12-01 09:00:05 CET".
    func moment(_ date: Timestamp) -> String {
        "\(dates.distance(date)), \(dates.full(date))"
    }

    private var lastFires: [(text: String, style: Terminal.Style?)] {
        let begun = runs.filter { $0.state != .claimed }
        if begun.isEmpty { return [(job.goneSentence ?? "none yet", nil)] }
        let inTheWay = RunsInTheWay(begun)
        let lines = begun.enumerated().map { index, run in
            var sentence = RunSentence(run, dates: dates, besides: inTheWay[run])
            sentence.add(RunHint(run, of: job.definition))
            if job.hasDroppedAttempts(after: run, among: runs, status) {
                let isJobsEnd = index == 0 && job.state == .invalidated
                sentence.text += "; not tried again\(isJobsEnd ? ", as its job was ended" : "")"
            }
            let node = run.node.map { " on \($0)" } ?? ""
            let number = run.id.map { "  (run \($0)\(node))" } ?? ""
            return ("\(dates.full(run.fireDate))  \(sentence.text)\(number)", sentence.style)
        }
        if more == 0 { return lines }
        return lines + [("and \(isCut ? "more than " : "")\(more) more that are not over", nil)]
    }

    private var comingDates: [String] {
        let coming = job.comingDates(dates, atMost: 5, without: runs + dropped)
        let lines = coming.map {
            "\(dates.weekday($0)) \(dates.full($0))  \(dates.distance($0))"
        }
        guard let note = job.jitterNote(of: coming) else { return lines }
        return lines + ["(\(note))"]
    }

    private var schedule: Schedule? { job.schedule(in: dates.zone) }

    /// What a cron or calendar expression means; other schedules need no explanation.
    private var inWords: String? {
        let definition = job.definition.schedule
        guard definition.cron != nil || definition.calendar != nil else { return nil }
        return schedule?.explanation(in: dates.zone)
    }

    private var normalForm: String? {
        guard case .calendar(let expression)? = schedule else { return nil }
        return expression.normalized
    }

    /// A text behind a label, in as many lines as the terminal asks for, those that follow below the text.
    private static func lines(
        of text: String,
        _ style: Terminal.Style?,
        behind label: String,
        _ terminal: Terminal
    ) -> String {
        let lines = Printable.wrapped(
            label + Printable.escaped(text),
            to: terminal.width ?? .max,
            indent: label.count
        )
        return lines.enumerated().map { index, line -> String in
            let head = index == 0 ? line.prefix(label.count) : line.prefix { $0 == " " }
            return "\(head)\(terminal.styled(String(line.dropFirst(head.count)), style))\n"
        }.joined()
    }

    private func section(
        _ title: String,
        _ lines: [(text: String, style: Terminal.Style?)],
        _ terminal: Terminal
    ) -> String {
        guard !lines.isEmpty else { return "" }
        let body = lines.map { Self.lines(of: $0.text, $0.style, behind: "  ", terminal) }
        return "\n\(terminal.styled(title, .bold))\n\(body.joined())"
    }
}
