// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl explain`: a schedule as an English sentence, without a job and without a daemon.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say in one English sentence when a schedule fires; needs no daemon.",
        discussion: """
            The schedule is one of the options, or bare: then its kind is the one that takes it. A \
            calendar expression is also shown in its normalized form. --json prints one object \
            with explanation, kind and normalized form.

            Examples:
              timerctl explain '0 9 * * 1-5'
              timerctl explain 'Mon..Fri 09:00'
              timerctl explain 5s
              timerctl explain @daily --tz Europe/Berlin
              timerctl explain --at 'tomorrow 09:00' --json
            """
    )

    @OptionGroup(title: "Schedule")
    var schedule: ScheduleArgument

    @Flag(help: #"Print {"explanation": ..., "kind": ..., "normalized": ...}."#)
    var json = false

    mutating func validate() throws {
        try schedule.check()
    }

    func run() throws {
        let explanation = try explanation(now: .now, local: .local)
        for note in explanation.notes { Output.complain("note: \(note)") }
        try Output.write(json ? explanation.json : explanation.text)
    }

    /// - Throws: `ScheduleError` for a schedule that cannot be read, or never fires.
    func explanation(now: Timestamp, local: Zone) throws(ScheduleError) -> Explanation {
        let (options, kind, kindNotes) = try schedule.found(now: now, local: local)
        let zone = try options.zone(local: local)
        let (words, notes) = try options.words(now: now, local: local)
        let resolved = try words.resolve(now: now, zone: zone)
        var explanation = Explanation(
            sentence: resolved.schedule.explanation(in: zone),
            kind: kind,
            normalized: resolved.schedule.normalized,
            notes: kindNotes + notes + resolved.notes
        )
        if let delay = options.delay {
            let span = try TimeSpan(parsing: delay)
            explanation.sentence = "once, \(span.words) from now"
            explanation.normalized = span.description
        }
        if options.from != nil, let first = resolved.schedule.anchor {
            let date = "\(zone.localTime(at: first)) \(zone.abbreviation(at: first))"
            explanation.sentence += ", on the grid of \(date)"
        }
        if case .once(let date) = resolved.schedule, date < now {
            explanation.notes.append("that date has passed")
        }
        return explanation
    }
}

/// What `explain` prints.
struct Explanation: Hashable {
    /// "at 09:00 on Monday to Friday, Europe/Berlin".
    var sentence: String
    var kind: ScheduleKind
    /// The same schedule in the one form for all its spellings.
    var normalized: String
    var notes: [String]

    /// One object on a line.
    var json: String {
        JSONValue.object([
            "explanation": .string(sentence), "kind": .string(kind.rawValue),
            "normalized": .string(normalized),
        ]).jsonLine
    }

    /// The sentence; below it the normalized form of a calendar expression.
    var text: String {
        kind == .calendar ? "\(sentence)\nnormalized: \(normalized)\n" : "\(sentence)\n"
    }
}
