// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// An event as one line: time, type, job, name, and what happened.
struct EventLine {
    var time: String
    var type: String
    var job: String
    var name: String
    var what: String
    var style: Terminal.Style?

    init(_ event: Event, dates: LocalDate) {
        time = dates.stamp(event.at)
        type = event.type.rawValue
        job = "\(event.job)"
        name = Printable.escaped(event.name ?? "-")
        what = Printable.escaped(Self.what(event, dates).joined(separator: "; "))
        style = Self.style(event)
    }

    /// The line for a terminal, or for a pipe; with its newline.
    ///
    /// The columns fit all types and most names and ids: a stream cannot be measured first.
    func text(for terminal: Terminal) -> String {
        let head = "\(time)  \(padded(type, to: 15))  \(padded(job, to: 4))  "
        let line = head + (what.isEmpty ? name : "\(padded(name, to: 12))  \(what)")
        return terminal.styled(terminal.cut(line), style) + "\n"
    }

    private func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - Printable.width(text)))
    }

    private static func what(_ event: Event, _ dates: LocalDate) -> [String] {
        var parts: [String] = []
        switch event.type {
        case .jobAdded, .jobChanged, .jobRescheduled, .jobResumed, .jobRestored, .jobReleased:
            parts = [next(event.fireDate, dates)]
        case .jobHeld: parts = [event.reason ?? "the reason is not known"]
        case .jobPaused:
            break
        case .jobInvalidated, .jobFinished:
            parts = [event.reason.map(Job.endSentence)].compactMap(\.self)
        case .fireFired:
            parts = fired(event, dates)
        case .fireSkipped:
            parts = [skipped(event, dates)]
        case .runStarted:
            parts = [run(event), runLateness(event)].compactMap(\.self)
        case .runFinished:
            let outcome = RunWords.outcome(
                event.outcome,
                status: event.status,
                signal: event.signal,
                error: event.reason
            )
            parts = ["\(run(event)): \(outcome)" + verdict(event)]
        case .noticeFailed:
            parts = ["given up: \(event.reason ?? "the reason is not known")"]
        }
        if let by = event.by { parts.append(Job.askerWords(by)) }
        if event.redelivered == true { parts.append("redelivered") }
        if let userInfo = event.userInfo { parts.append(userInfo.text) }
        return parts
    }

    private static func next(_ date: Timestamp?, _ dates: LocalDate) -> String {
        date.map { "next fire \(dates.dayAndTime($0))" } ?? "no fire date"
    }

    private static func run(_ event: Event) -> String {
        let number = event.run.map { "run \($0)" } ?? "run"
        if let handler = event.handler { return "\(number), \(handler.words)" }
        guard let attempt = event.attempt, attempt > 1 else { return number }
        return "\(number), attempt \(attempt)"
    }

    /// How late a fire's first attempt at its own command has begun; nil for any other, and for a fire by hand.
    private static func runLateness(_ event: Event) -> String? {
        guard event.attempt == 1, event.reason != FireReason.manual.rawValue,
            let date = event.dueBy ?? event.fireDate
        else { return nil }
        return lateness(event.at - date)
    }

    /// A fire is never early; less than a millisecond late counts as on time.
    private static func lateness(_ span: TimeSpan) -> String {
        span < .milliseconds(1) ? "on time" : "\(span.length) late"
    }

    private static func fired(_ event: Event, _ dates: LocalDate) -> [String] {
        var parts: [String] = []
        if event.reason == FireReason.manual.rawValue {
            parts.append("by hand")
        } else if let date = event.fireDate {
            let words = lateness((event.firedAt ?? event.at) - (event.dueBy ?? date))
            guard let missed = event.missed, missed > 0 else { return [words] }
            // A line of events has no column for the date.
            parts = ["\(words) for \(dates.dayAndTime(date))", RunWords.missedDates(missed)]
        }
        return parts
    }

    private static func skipped(_ event: Event, _ dates: LocalDate) -> String {
        guard let fire = event.fire, let first = event.fireDate else { return "skipped" }
        var run = Run(job: event.job, fire: fire, state: .skipped, fireDate: first)
        run.through = event.through
        run.dates = event.dates
        run.reason = event.reason.flatMap(FireReason.init(rawValue:))
        return RunSentence(run, dates: dates, besides: event.run).text
    }

    /// What the job makes of an exit status that others would take for the contrary; empty where an older daemon has not
    /// said it.
    private static func verdict(_ event: Event) -> String {
        guard event.outcome == .exited, let status = event.status, let failed = event.failed,
            let words = RunWords.verdict(status, hasFailed: failed)
        else { return "" }
        return ", \(words)"
    }

    private static func style(_ event: Event) -> Terminal.Style? {
        switch (event.type, event.outcome) {
        case (.fireSkipped, _): .yellow
        case (.noticeFailed, _): .red
        case (.runFinished, _) where event.failed == false: nil
        case (.runFinished, _) where event.failed == true: .red
        case (.runFinished, .finished), (.runFinished, .released): nil
        case (.runFinished, .exited) where event.status == 0: nil
        // An older daemon's event does not tell whether the job counts its status as a success (--success-codes).
        case (.runFinished, .exited) where event.handler == nil: .yellow
        case (.runFinished, _): .red
        default: nil
        }
    }
}
