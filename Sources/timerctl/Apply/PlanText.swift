// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// A plan as text: "+" is added, "~" changed and "-" removed.
enum PlanText {
    static func text(of plan: ApplyPlan, for terminal: Terminal) -> String {
        var lines: [String] = []
        func add(_ text: String, _ style: Terminal.Style?) {
            lines.append(terminal.styled(Printable.escaped(text), style))
        }
        for job in plan.additions {
            add("+ \(job.name): \(sentence(job.definition))", .green)
        }
        for change in plan.changes {
            add("~ \(change.declared.name) (\(sentence(change)))", .yellow)
            if !change.dropped.isEmpty {
                add("    dropped: \(change.dropped.joined(separator: ", "))", nil)
            }
            for field in change.fields { add("    \(sentence(field))", nil) }
        }
        for job in plan.removals {
            add("- \(job.definition.name ?? "unnamed") (job \(job.id))", .red)
        }
        add(summary(of: plan, isDone: false), nil)
        return lines.map { $0 + "\n" }.joined()
    }

    /// "web: 1 to add, 2 to change (1 of them by another job), 0 to remove, 12 unchanged".
    static func summary(of plan: ApplyPlan, isDone: Bool) -> String {
        func phrase(_ count: Int, _ verb: String, _ past: String) -> String {
            isDone ? "\(count) \(past)" : "\(count) to \(verb)"
        }
        let unchanged = plan.unchanged + plan.passed.count + plan.kept.count
        let replaced = plan.changes.count(where: \.isReplaced)
        let others = replaced > 0 ? " (\(replaced) of them by another job)" : ""
        return "\(plan.label): " + phrase(plan.additions.count, "add", "added") + ", "
            + phrase(plan.changes.count, "change", "changed") + others + ", "
            + phrase(plan.removals.count, "remove", "removed") + ", \(unchanged) unchanged"
    }

    private static func sentence(_ change: ApplyPlan.Change) -> String {
        let id = change.job.id
        guard !change.isReplaced else {
            return "replaces job \(id), which cannot be read: its id and its history end"
        }
        return "job \(id)" + (change.isRedated ? "; with other dates" : "")
    }

    private static func sentence(_ definition: JobDefinition) -> String {
        let fields = definition.fields
        let words = JobOption.inFiles.filter(\.isOfSchedule).compactMap { option in
            fields[option.rawValue].map { "\(option) \(value($0))" }
        }.joined(separator: " ")
        let task = definition.queue.map { "(task of \($0))" }
        return words + "  " + (definition.command.map(command) ?? task ?? "(event)")
    }

    static func sentence(_ field: ApplyPlan.FieldChange) -> String {
        if field.name == "env" { return "env: \(variables(field))" }
        return "\(field.name): \(said(field.old, field.name)) -> \(said(field.new, field.name))"
    }

    /// Only the names of variables: values are often secrets, and plans end up in logs.
    private static func variables(_ field: ApplyPlan.FieldChange) -> String {
        let (old, new) = (members(field.old), members(field.new))
        return Set(old.keys).union(new.keys).sorted().compactMap { name in
            if old[name] == nil { return "\(name) added" }
            if new[name] == nil { return "\(name) removed" }
            // By their bytes, as options are compared.
            let isSame = old[name]?.jsonBytes == new[name]?.jsonBytes
            return isSame ? nil : "\(name) changed"
        }.joined(separator: ", ")
    }

    private static func members(_ value: JSONValue?) -> [String: JSONValue] {
        if case .object(let members)? = value { members } else { [:] }
    }

    private static func said(_ said: JSONValue?, _ field: String) -> String {
        guard let said else { return "(none)" }
        switch (JobOption(rawValue: field)?.form, said) {
        case (.command, .array(let words)):
            return command(
                words.compactMap { if case .string(let word) = $0 { word } else { nil } }
            )
        // As the daemon shows them: a file may have the whole URL, which is a secret.
        case (.places, _), (.url, _): return value(JobDefinition.shownPlaces(said))
        default: return value(said)
        }
    }

    private static func value(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): text
        // try?: a text that is no string of JSON is shown as it is.
        case .verbatim(let text): (try? text.decoded(as: String.self)) ?? text.text
        default: value.jsonText
        }
    }

    private static func command(_ words: [String]) -> String { ShellWords.joined(words) }
}
