// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// What is wrong with a form, by its fields; nil for what concerns none.
struct FormErrors: Sendable {
    private(set) var all: [(field: JobDraft.Field?, message: String)] = []

    var isEmpty: Bool { all.isEmpty }

    mutating func add(_ field: JobDraft.Field?, _ message: String) { all.append((field, message)) }

    subscript(field: JobDraft.Field) -> String? { all.first { $0.field == field }?.message }

    /// An error of the daemon, at the field that it names.
    mutating func add(_ error: ControlError) {
        // Its place among others says nothing where it is the only one.
        let message = error.message.replacing("change[0]: ", with: "")
            .replacing("'change[0].", with: "'")
        let error = ControlError(error.reason, message)
        add(Self.field(error), error.message)
    }

    private static func field(_ error: ControlError) -> JobDraft.Field? {
        if error.reason == .nameTaken { return .name }
        // "parameter 'schedule.tz' …"
        let quoted = error.message.split(separator: "'", maxSplits: 2)
        if error.message.hasPrefix("parameter '"), quoted.count > 1 {
            let parts = quoted[1].split { $0 == "." || $0 == "[" || $0 == "]" }
            if parts.contains("schedule") { return parts.last == "tz" ? .tz : .schedule }
            return parts.lazy.compactMap { JobDraft.Field(rawValue: String($0)) }.first
        }
        return error.reason == .badSchedule ? .schedule : nil
    }
}

extension JobDraft {
    /// The job that the form means.
    ///
    /// A field that was left as it was shown changes nothing: also one whose value a form cannot show in full. Of one that
    /// was changed, what it cannot show stays, or is told as an error.
    ///
    /// `base`: the job that is changed, whose other options stay; nil for a new one. `leftOut`: those that have no effect
    /// any more.
    func definition(
        changing base: JobDefinition?,
        _ dates: LocalDate
    ) -> (definition: JobDefinition, leftOut: [String], errors: FormErrors) {
        var errors = FormErrors()
        var definition = base ?? JobDefinition(schedule: ScheduleWords())
        let changed =
            base == nil
            ? changes(from: JobDraft(nil, zone: dates.zone)).union([.kind, .schedule, .tz])
            : changes(from: JobDraft(base, zone: dates.zone))
        if !changed.isDisjoint(with: [.kind, .schedule, .tz]) {
            // What the form was filled with is no statement: a length of time has none of it.
            let isTyped = self[.tz] != JobDraft(base, zone: dates.zone)[.tz]
            definition.schedule = schedule(keeping: base?.schedule, dates.zone, isTyped: isTyped)
        }
        if !changed.isDisjoint(with: [.command, .shell]) {
            setCommand(of: &definition, &errors)
        }
        for field in Field.allCases where changed.contains(field) {
            set(field, of: &definition, &errors)
        }
        // What has no field here goes with what it was of.
        let leftOut = definition.leaveOutUnused(but: Set(changed.map(\.rawValue)))
        return (definition, leftOut, errors)
    }

    /// The words of the schedule, in the page's zone where they name none, as the preview reads them.
    ///
    /// The daemon would read them in its own. A zone that was typed is among the words in any case, so that one that does
    /// not go with them is refused as `timerctl` refuses it.
    private func schedule(
        keeping base: ScheduleWords?,
        _ zone: Zone,
        isTyped: Bool
    ) -> ScheduleWords {
        var words = ScheduleWords()
        let text = self[.schedule].trimmed
        switch kind {
        case .every: (words.every, words.from) = (text, base?.from)
        case .cron: words.cron = text
        case .calendar: words.calendar = text
        case .at: words.at = text
        case .in: words.in = text
        }
        // A length of time has no zone, and a date may have its own.
        let hasZone = kind == .cron || kind == .calendar || kind == .at || words.from != nil
        let isFixed = (words.at ?? words.from).flatMap { Timestamp(rfc3339: $0) } != nil
        // try?: what cannot be read is told where it is resolved.
        let own = (try? words.schedule(anchor: .distantPast, zone: zone))?.ownZone
        if hasZone, own == nil {
            words.tz = self.text(.tz) ?? (isFixed ? nil : zone.nameForOthers)
        } else if isTyped {
            words.tz = self.text(.tz)
        }
        return words
    }

    private func setCommand(of definition: inout JobDefinition, _ errors: inout FormErrors) {
        guard let text = text(.command) else {
            definition.command = nil
            return
        }
        if let words = definition.command, words.contains(where: { $0.utf8.contains(0x0d) }) {
            errors.add(
                .command,
                "the command has carriage returns, which a form cannot hold; 'timerctl change' can change it"
            )
            return
        }
        if !self[.shell].isEmpty {
            definition.command = ["/bin/sh", "-c", text]
        } else if let words = ShellWords.split(text) {
            definition.command = words
        } else {
            errors.add(.command, "a quote is not closed, or a backslash ends the command")
        }
    }

    private func set(
        _ field: Field,
        of definition: inout JobDefinition,
        _ errors: inout FormErrors
    ) {
        let text = text(field)
        switch field {
        case .kind: _ = choice(field, kind, &errors)
        case .schedule, .tz, .command, .shell: break
        case .name: definition.name = text
        case .tags: definition.tags = list(field, keeping: definition.tags, &errors)
        case .notify: definition.notify = list(field, keeping: definition.notify, &errors)
        case .retries: definition.retries = number(field, &errors)
        case .priority: definition.priority = number(field, &errors)
        case .backoff: definition.backoff = text
        case .timeout:
            definition.timeout = text
            if let text { check(text, field, &errors) }
        case .overlap: definition.overlap = choice(field, definition.overlap, &errors)
        case .misfire: definition.misfire = choice(field, definition.misfire, &errors)
        case .cwd: definition.cwd = text
        case .env: definition.env = variables(keeping: definition.env, &errors)
        case .memoryMax: definition.memoryMax = text
        case .cpuQuota: definition.cpuQuota = text
        case .queue: definition.queue = text
        }
    }

    /// Nil where it was left empty.
    private func text(_ field: Field) -> String? {
        let text = self[field].trimmed
        return text.isEmpty ? nil : text
    }

    /// One of some words; nil where none was chosen, and what was there where it is none of them.
    private func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ field: Field,
        _ base: Choice?,
        _ errors: inout FormErrors
    ) -> Choice? {
        guard let text = text(field) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let accepted = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        errors.add(field, "'\(text)' is no \(field.rawValue); it is one of \(accepted)")
        return base
    }

    private func list(
        _ field: Field,
        keeping base: [String]?,
        _ errors: inout FormErrors
    ) -> [String]? {
        let text = ListedText(mark: field == .tags ? "," : "\n", isTrimmed: field != .env)
        let base = (base ?? []).map {
            ListedText.Value(whole: $0, shown: Self.shown($0, in: field))
        }
        do throws(ListedText.Torn) {
            let all = try text.values(in: self[field], keeping: base)
            return all.isEmpty ? nil : all
        } catch {
            let holds = field == .tags ? "a comma" : "several lines"
            errors.add(
                field,
                "'\(error.whole)' has \(holds), and can be kept or taken out whole here; 'timerctl change' can change it"
            )
            return base.map(\.whole)
        }
    }

    private func number(_ field: Field, _ errors: inout FormErrors) -> Int? {
        guard let text = text(field) else { return nil }
        if let number = Int(text) { return number }
        errors.add(field, "'\(text)' is not a number")
        return nil
    }

    private func check(_ text: String, _ field: Field, _ errors: inout FormErrors) {
        do throws(ScheduleError) {
            _ = try TimeSpan(parsing: text)
        } catch {
            errors.add(field, error.message)
        }
    }

    private func variables(
        keeping base: [String: String]?,
        _ errors: inout FormErrors
    ) -> [String: String]? {
        let known = (base ?? [:]).map { "\($0.key)=\($0.value)" }
        var all: [String: String] = [:]
        for line in list(.env, keeping: known, &errors) ?? [] {
            // By bytes: what combines with the sign is the value's.
            guard let sign = line.utf8.firstIndex(of: UInt8(ascii: "=")), sign > line.startIndex
            else {
                errors.add(.env, "line '\(line)' is not NAME=value")
                continue
            }
            let name = String(line[..<sign]).trimmed
            guard all[name] == nil else {
                errors.add(.env, "'\(name)' is given twice; each variable has one value")
                continue
            }
            all[name] = String(line[line.utf8.index(after: sign)...])
        }
        return all.isEmpty ? nil : all
    }
}
