// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// A job as the line that would add it with timerctl.
enum CommandLine {
    static func adding(_ definition: JobDefinition) -> String {
        var words = ["timerctl", "add"]
        words += schedule(definition.schedule)
        // try?: a definition can be written as JSON: it came so, or is made of texts and numbers.
        let fields = try? JSONValue(encoding: definition)
        for (field, form) in options {
            if let value = fields?[field] { words += form.words(flag(field), value) }
        }
        if let command = definition.command { words += ["--"] + command }
        return ShellWords.joined(words)
    }

    /// Whether a URL stands in it as the daemon shows it, with a sign for the rest that stands in no URL.
    static func hidesURL(_ definition: JobDefinition) -> Bool {
        let places = (definition.notify ?? []) + [definition.ping].compactMap(\.self)
        return places.contains { $0.lowercased().hasPrefix("http") && $0.contains("/…") }
    }

    private static func schedule(_ words: ScheduleWords) -> [String] {
        let all = [
            ("--every", words.every), ("--from", words.from), ("--at", words.at),
            ("--in", words.in),
            ("--cron", words.cron), ("--calendar", words.calendar), ("--tz", words.tz),
        ]
        return all.flatMap { flag, value in value.map { said(flag, $0) } ?? [] }
    }

    /// An option and its value: in one word where the value would be taken for an option.
    private static func said(_ flag: String, _ value: String) -> [String] {
        value.hasPrefix("-") ? ["\(flag)=\(value)"] : [flag, value]
    }

    /// How an option is said in words.
    private enum Form {
        case value
        /// A flag that stands alone, or is left out.
        case flag
        /// The option once for each.
        case each
        /// All in one, with commas.
        case list
        /// NAME=value, once for each.
        case variables
        /// A line for a shell.
        case line

        func words(_ flag: String, _ value: JSONValue) -> [String] {
            switch (self, value) {
            case (.flag, .bool(let isSet)): isSet ? [flag] : []
            case (.each, .array(let all)): all.flatMap { said(flag, Self.text($0)) }
            case (.list, .array(let all)):
                said(flag, all.map(Self.text).joined(separator: ","))
            case (.variables, .object(let all)):
                all.sorted { $0.key < $1.key }.flatMap {
                    said(flag, "\($0.key)=\(Self.text($0.value))")
                }
            case (.line, .array(let words)): said(flag, Self.line(words.map(Self.text)))
            default: said(flag, Self.text(value))
            }
        }

        private static func text(_ value: JSONValue) -> String {
            if case .string(let text) = value { text } else { value.jsonText }
        }

        private static func line(_ command: [String]) -> String {
            command.count == 3 && command.starts(with: ["/bin/sh", "-c"])
                ? command[2] : ShellWords.joined(command)
        }
    }

    /// By their names on the wire, in the order in which people say them.
    private static let options: [(String, Form)] = [
        ("name", .value), ("tags", .each), ("queue", .value), ("priority", .value), ("key", .value),
        ("keyKept", .value), ("cwd", .value), ("env", .variables), ("envFile", .each),
        ("credentials", .each), ("userInfo", .value), ("count", .value), ("until", .value),
        ("tolerance", .value), ("jitter", .value), ("misfire", .value), ("misfireLimit", .value),
        ("misfireAfter", .value), ("misfireWindow", .value), ("timeout", .value),
        ("killAfter", .value), ("overlap", .value), ("retries", .value), ("backoff", .value),
        ("successCodes", .list), ("onFailure", .line), ("onSuccess", .line),
        ("rerunInterrupted", .flag), ("keepRuns", .value), ("on", .value), ("output", .value),
        ("outputKept", .value), ("notify", .each), ("notifyOn", .list), ("notifyLate", .value),
        ("notifyEvery", .value), ("ping", .value), ("nice", .value), ("memoryMax", .value),
        ("memoryHigh", .value), ("cpuWeight", .value), ("cpuQuota", .value), ("tasksMax", .value),
        ("ioWeight", .value), ("cpuTime", .value), ("umask", .value), ("whilePid", .value),
        ("whileConnected", .flag), ("paused", .flag),
    ]

    private static func flag(_ field: String) -> String {
        switch field {
        case "tags": "--tag"
        case "credentials": "--credential"
        default: "--" + field.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
        }
    }
}
