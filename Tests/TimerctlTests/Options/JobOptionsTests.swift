// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import timerctl

/// The command line and the documents beside the table.
@Suite("Options of jobs") struct JobOptionsTests {
    private static let date = "2027-01-01T00:00:00.000000Z"

    /// A value that the option accepts, as one types it.
    private static func sample(_ option: JobOption) -> String {
        switch option.form {
        case .label, .labels: "a"
        case .command: "ls | wc"
        case .environment: "A=b=c"
        case .json: "[1]"
        case .path: "/srv"
        case .files: "/etc/backup.env"
        case .credentials: "token:/etc/token"
        case .flag: "true"
        case .integer(let range): "\(min(range.upperBound, 7))"
        case .process: "7"
        case .exitCodes: "0,3"
        case .choice(let words): words[words.count - 1]
        case .date: date
        case .duration: "7s"
        case .backoff: "7s..8s"
        case .bytes: "7M"
        case .percent: "70%"
        case .octal: "077"
        case .expression(let example): example
        case .zone: "UTC"
        case .places: "mail:ops@example.org"
        case .words(let words): words.prefix(2).joined(separator: ",")
        case .url: "https://ping.example/secret"
        }
    }

    /// What goes with it, for the schedule to be one.
    private static func companions(of option: JobOption) -> [String] {
        switch option {
        case .from: ["--every", "1h"]
        case .tz: ["--cron", "@daily"]
        case _ where option.isOfSchedule: []
        default: ["--in", "5s"]
        }
    }

    @Test("Each option of the table has its flag, which states it and nothing else")
    func flags() throws {
        for option in JobOption.allCases {
            guard let flag = option.flag else { continue }
            let sample = Self.sample(option)
            let value = option.form == .flag ? [] : [sample]
            let request = try Add.parse(Self.companions(of: option) + ["--\(flag)"] + value)
                .request(now: testNow, local: berlin).request
            guard case .addJobs(let jobs) = request, let definition = jobs.definitions.first else {
                Issue.record("\(request)")
                continue
            }
            let stated =
                try option == .userInfo
                ? .json(JSONText(parsing: sample)) : option.value(argument: sample)
            #expect(definition[option] == stated, "\(option)")
            let others = JobOption.allCases.filter { $0 != option && definition[$0] != nil }
            #expect(!others.contains { !$0.isOfSchedule }, "\(option): \(others)")
        }
    }

    @Test("Each option of 'add' is one of the table, or one of the command's own")
    func table() throws {
        let own: Set = [
            "shell", "replace", "event", "quiet", "dry-run", "user", "socket", "json", "version",
            "help",
        ]
        let help = try JSONValue(parsing: Add._dumpHelp())
        guard case .array(let arguments)? = help["command"]?["arguments"] else {
            Issue.record("\(help.jsonText)")
            return
        }
        var names: Set<String> = []
        for case .array(let given)? in arguments.map({ $0["names"] }) {
            for name in given where name["kind"] == .string("long") {
                if case .string(let text)? = name["name"] { names.insert(text) }
            }
        }
        #expect(names.subtracting(own) == Set(JobOption.allCases.compactMap(\.flag)))
    }

    private static func document(_ name: String) throws -> String {
        let docs = URL(filePath: #filePath).appending(path: "../../../../docs").standardized
        return try String(contentsOf: docs.appending(path: name), encoding: .utf8)
    }

    /// What the second column of the table in protocol.md has: the type, and what counts without it.
    private static func typeAndStandard(_ option: JobOption) -> String {
        let type =
            switch option.form {
            case .label, .path: "string"
            case .labels, .command, .files, .credentials: "array of strings"
            case .environment: "object of strings"
            case .json: "any JSON value"
            case .flag: "boolean"
            case .integer, .process: "integer"
            case .exitCodes: "array of integers"
            case .choice(let words): words.map { "`\($0)`" }.joined(separator: ", ")
            case .date: "date"
            case .duration: "duration"
            case .backoff: "`D` or `D..MAX`"
            case .bytes(let range): "bytes, or `\(range.upperBound == .max ? "512M" : "256K")`"
            case .percent: "percent, such as `50%`"
            case .octal: "octal"
            case .expression, .zone: "words"
            case .places, .words: "array of strings"
            case .url: "URL"
            }
        let standard = option.row.standard.map { text in
            switch option.form {
            case .flag, .integer: text
            case .exitCodes: "`[\(text)]`"
            default: text == "0" ? text : "`\(text)`"
            }
        }
        if case .choice = option.form { return "\(type); \(standard ?? "")" }
        return "\(type), \(standard ?? option.row.unset ?? "none")"
    }

    @Test("docs/protocol.md has a row for each option, with its type, its default and its range")
    func specification() throws {
        let lines = try Self.document("protocol.md").split(separator: "\n")
        for option in JobOption.allCases {
            let columns = lines.first { $0.hasPrefix("| `\(option)` | ") }?
                .split(separator: " | ").map(String.init)
            guard let columns else {
                Issue.record("'\(option)' has no row")
                continue
            }
            if option.isOfSchedule { continue }
            #expect(columns.count == 3 && columns[1] == Self.typeAndStandard(option), "\(option)")
            if case .integer(let range) = option.form {
                let words =
                    range.upperBound == .max
                    ? "from \(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
                #expect(columns[2].contains(words), "\(option)")
            }
        }
    }

    @Test("timerctl(1) has an item for each flag, with its value and its default")
    func manual() throws {
        let page = try Self.document("man/timerctl.1").replacing(#"\-"#, with: "-")
        let items = page.components(separatedBy: "\n.It ")
        for option in JobOption.allCases {
            guard let flag = option.flag else { continue }
            let value = [.exitCodes, .backoff].contains(option.form) ? nil : option.valueName
            let title = "Fl -\(flag)" + (value.map { " Ar \($0)" } ?? "")
            guard let item = items.first(where: { $0.hasPrefix(title) }) else {
                Issue.record("'\(title)' has no item")
                continue
            }
            guard let standard = option.row.standard, option.form != .flag, standard != "0" else {
                continue
            }
            #expect(item.contains(standard), "\(option)")
        }
    }

    @Test("timerd-protocol(7) names each option")
    func protocolPage() throws {
        let page = try Self.document("man/timerd-protocol.7")
        let words = Set(page.split { " \n,;".contains($0) })
        for option in JobOption.allCases { #expect(words.contains(Substring(option.rawValue))) }
    }
}
