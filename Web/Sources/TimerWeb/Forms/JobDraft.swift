// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// A job as a form has it: texts, each as it was typed.
struct JobDraft: Hashable, Sendable {
    private var values: [Field: String]

    /// The fields of the form, by their names there.
    enum Field: String, CaseIterable, Sendable {
        case kind, schedule, tz
        case name, tags, command, shell
        case retries, backoff, timeout, overlap, misfire, notify
        case cwd, env, memoryMax, cpuQuota
        case queue, priority

        /// Whether it has several lines.
        var hasLines: Bool { self == .command || self == .env || self == .notify }
    }

    /// The words of a schedule, of which a job has one.
    enum Kind: String, CaseIterable, Sendable {
        case every, cron, calendar, at, `in`

        var words: String {
            switch self {
            case .every: "every"
            case .cron: "cron"
            case .calendar: "systemd calendar"
            case .at: "once, at a date"
            case .in: "once, in a while"
            }
        }
    }

    /// As a browser has it, whatever it was: so what a form shows is what it sends where nobody has changed it.
    subscript(field: Field) -> String {
        get { values[field] ?? "" }
        set { values[field] = Self.shown(newValue, in: field) }
    }

    /// A field of several lines has one kind of break, and any other has none.
    static func shown(_ text: String, in field: Field) -> String {
        var all = ""
        for character in text {
            if !["\n", "\r\n", "\r"].contains(character) {
                all.append(character)
            } else if field.hasLines {
                all.append("\n")
            }
        }
        return all
    }

    /// What a form has sent, or an address says; other fields are left out.
    init(_ fields: [Link.Field], zone: Zone) {
        self.init(nil, zone: zone)
        for field in fields {
            if let name = Field(rawValue: field.name) { self[name] = field.value }
        }
    }

    /// How a form shows a job; nil for a new one.
    init(_ definition: JobDefinition?, zone: Zone) {
        values = [
            .kind: Kind.cron.rawValue, .overlap: "skip", .misfire: "once",
            .tz: zone.nameForOthers ?? "",
        ]
        guard let definition else { return }
        let schedule = definition.schedule
        let all: [(Kind, String?)] = [
            (.every, schedule.every), (.cron, schedule.cron), (.calendar, schedule.calendar),
            (.at, schedule.at), (.in, schedule.in),
        ]
        if let (kind, words) = all.first(where: { $0.1 != nil }) {
            (self[.kind], self[.schedule]) = (kind.rawValue, words ?? "")
        }
        self[.tz] = schedule.tz ?? ""
        self[.name] = definition.name ?? ""
        self[.tags] = (definition.tags ?? []).joined(separator: ", ")
        if let command = definition.command {
            let isShell = command.count == 3 && command.starts(with: ["/bin/sh", "-c"])
            self[.command] = isShell ? command[2] : ShellWords.joined(command)
            self[.shell] = isShell ? "1" : ""
        }
        self[.retries] = definition.retries.map { "\($0)" } ?? ""
        self[.backoff] = definition.backoff ?? ""
        self[.timeout] = definition.timeout ?? ""
        self[.overlap] = (definition.overlap ?? .skip).rawValue
        self[.misfire] = (definition.misfire ?? .once).rawValue
        self[.notify] = (definition.notify ?? []).joined(separator: "\n")
        self[.cwd] = definition.cwd ?? ""
        self[.env] = (definition.env ?? [:]).sorted { $0.key < $1.key }
            .map { "\($0.key)=\($0.value)" }.joined(separator: "\n")
        self[.memoryMax] = definition.memoryMax ?? ""
        self[.cpuQuota] = definition.cpuQuota ?? ""
        self[.queue] = definition.queue ?? ""
        self[.priority] = definition.priority.map { "\($0)" } ?? ""
    }

    var kind: Kind { Kind(rawValue: self[.kind]) ?? .cron }

    /// The fields that differ from another draft; by their bytes: a path in another Unicode form is another file's.
    func changes(from other: Self) -> Set<Field> {
        Set(Field.allCases.filter { !self[$0].utf8.elementsEqual(other[$0].utf8) })
    }
}

extension Zone {
    /// By which others find it too; nil where /etc/localtime is a file of its own.
    var nameForOthers: String? { isKnownByName ? name : nil }
}

extension String {
    /// Without blanks around it.
    var trimmed: String {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}
