// SPDX-License-Identifier: Apache-2.0

import Foundation
import JobModel
import Testing

@testable import TimerControl

/// What the documents say of requests, beside what the decoder of the requests accepts.
@Suite("The protocol's documents and its decoder")
struct ProtocolPageTests {
    /// The parameters that a method accepts beside a definition's fields: its refusal of another one names them.
    private static func accepted(by method: Request.Method) throws -> Set<String> {
        let refusal = #expect(throws: ControlError.self) {
            try Request(method, parameters: .object(["no such": .null]))
        }
        let message = try #require(refusal?.message, "\(method.rawValue)")
        let names = message.split(separator: "; ", maxSplits: 1).last ?? ""
        let quoted = names.matches(of: #/'([^']+)'/#).map { String($0.output.1) }
        #expect(quoted.isEmpty == message.hasSuffix("; none is accepted"), "\(message)")
        return Set(quoted).subtracting(method == .addJobs ? JobDefinition.fieldNames : [])
    }

    /// What a manual page has in bold, of some of its lines.
    private static func words(_ lines: some Sequence<Substring>) -> Set<String> {
        let words = lines.filter { $0.hasPrefix(".Cm ") }.flatMap {
            $0.dropFirst(4).split(separator: " ")
        }
        return Set(words.filter { $0.first?.isLetter == true }.map(String.init))
    }

    /// The lines behind each item of a list, of which several may stand before one text.
    private static func items(_ text: some StringProtocol, _ mark: String) -> [String: [Substring]]
    {
        var items: [String: [Substring]] = [:]
        var open: [String] = []
        for line in Substring(text).split(separator: "\n") {
            if line.hasPrefix(mark) {
                let name = String(line.dropFirst(mark.count))
                if open.contains(where: { items[$0]?.isEmpty == false }) { open = [] }
                open.append(name)
                items[name] = []
            } else if line.hasPrefix(".El") || line.hasPrefix(".Ss") {
                open = []
            } else {
                for name in open { items[name, default: []].append(line) }
            }
        }
        return items
    }

    /// What the page names among a method's parameters that is none of the request's own.
    private static let others: [Request.Method: Set<String>] = [
        .applyJobs: ["id", "ifRevision", "revision"], .listJobs: ["id", "nextFire"],
        .subscribe: ["seq"],
    ]

    @Test("timerd-protocol(7) has each parameter of each method, and no other")
    func parameters() throws {
        let page = try ManPage("man/timerd-protocol.7").text
        let items = Self.items(page, ".It Cm ")
        let methods = Set(Request.Method.allCases.map(\.rawValue))
        for method in Request.Method.allCases {
            let lines = try #require(items[method.rawValue], "\(method.rawValue)")
            let told = Self.words(lines.prefix { !$0.hasPrefix("Answer") })
                .subtracting(methods).subtracting(Self.others[method] ?? [])
            let accepted = try Self.accepted(by: method)
                .subtracting(Self.others[method] ?? [])
            #expect(told == accepted, "\(method.rawValue)")
        }
    }

    @Test("protocol.md and queues.md have each parameter of each method")
    func tables() throws {
        var told: [String: Set<String>] = [:]
        for document in ["protocol.md", "queues.md"] {
            for line in try Repository.text(of: "docs/" + document).split(separator: "\n") {
                let cells = line.split(separator: "|")
                guard line.hasPrefix("| `"), cells.count == 3, !line.contains("see [queues.md]")
                else { continue }
                func code(_ cell: Substring) -> Set<String> {
                    Set(cell.matches(of: #/`([^`]*)`/#).map { String($0.output.1) })
                }
                for name in code(cells[0]) { told[name] = code(cells[1]) }
            }
        }
        for method in Request.Method.allCases {
            let missing = try Self.accepted(by: method).subtracting(told[method.rawValue] ?? [])
            #expect(missing == [], "\(method.rawValue)")
        }
    }

    @Test("timerd-protocol(7) has each field of a definition and of a schedule, and no other")
    func definition() throws {
        let page = try ManPage("man/timerd-protocol.7").text
        let values = Self.items(page, ".It ")
        let job = try #require(values["job"]).prefix { !$0.hasPrefix("They mean") }
        #expect(Self.words(job).subtracting(["job.add"]) == JobDefinition.fieldNames)
        let schedule = try #require(values["schedule"])
        let words = JobOption.allCases.filter(\.isOfSchedule).map(\.rawValue)
        #expect(Self.words(schedule) == Set(words))
    }

    @Test("timerd-protocol(7) has each error with its number, and no other")
    func errors() throws {
        let page = try ManPage("man/timerd-protocol.7").text
        let start = try #require(page.firstRange(of: ".Sh ERROR REPLIES")).upperBound
        let end = try #require(page.firstRange(of: ".Sh EXAMPLES")).lowerBound
        let told = Self.items(page[start..<end], ".It ").mapValues { lines in
            lines.joined(separator: " ").firstMatch(of: #/\((-[0-9]+)\)/#).flatMap {
                Int($0.output.1)
            }
        }
        let reasons = ControlError.Reason.allCases
        #expect(Set(told.keys) == Set(reasons.map(\.rawValue)))
        for reason in reasons {
            #expect(told[reason.rawValue] == reason.code, "\(reason.rawValue)")
        }
    }
    @Test("The conformance suite has each method and each error")
    func conformance() throws {
        let folder = Repository.folder.appending(path: "docs/conformance/cases")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let cases = try files.filter { $0.hasSuffix(".json") }
            .map { try Repository.text(of: "docs/conformance/cases/" + $0) }.joined()
        func told(_ member: Regex<(Substring, Substring)>) -> Set<String> {
            Set(cases.matches(of: member).map { String($0.output.1) })
        }
        let methods = told(#/"(?:call|giveUp|method)": "([^"]+)"/#)
        #expect(Set(Request.Method.allCases.map(\.rawValue)).subtracting(methods) == [])
        let reasons = told(#/"reason": "([^"]+)"/#)
        #expect(Set(ControlError.Reason.allCases.map(\.rawValue)).subtracting(reasons) == [])
    }
}
