// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("The schema and apply") struct SchemaAgreementTests {
    private let schema = SchemaReader(root: JobsSchema.value)

    /// Whether the schema and `apply` take a file, which is JSON.
    private func verdicts(_ file: String) throws -> (schema: Bool, apply: Bool) {
        (try schema.accepts(JSONValue(parsing: file)), jobFile(file).mistakes.isEmpty)
    }

    /// A file of one job that is right but for the option.
    private func file(_ option: JobOption, _ value: String) -> String {
        let others: [String: String]
        switch option {
        case .at, .cron, .calendar: others = ["command": #"["a"]"#]
        case .tz: others = ["cron": #""@daily""#, "command": #"["a"]"#]
        case .command, .queue: others = ["every": #""1h""#]
        case .priority: others = ["every": #""1h""#, "queue": #""q""#]
        default:
            var more = ["every": #""1h""#, "command": #"["a"]"#]
            switch option {
            case .misfireLimit: more["misfire"] = #""all""#
            case .keyKept: more["key"] = #""k""#
            default: break
            }
            others = more
        }
        let members = others.merging([option.rawValue: value]) { $1 }
            .map { "\"\($0)\":\($1)" }.joined(separator: ",")
        return #"{"jobs":{"n":{\#(members)}}}"#
    }

    @Test(
        "Each value of an option is judged by the schema as by apply",
        arguments: JobOption.inFiles
    )
    func values(option: JobOption) throws {
        for value in SchemaValues.shapes + SchemaValues.of(option) {
            let (schema, apply) = try verdicts(file(option, value))
            #expect(schema == apply, "\(option): \(value.prefix(60))")
        }
    }

    /// What the schema lets pass and apply refuses, by what no schema sees.
    static let exceptions: [(reason: String, values: [(JobOption, String)])] = [
        (
            "a number whose fraction is zero is an integer to a schema",
            [
                (.count, "1.0"), (.nice, "1.0"), (.memoryMax, "1.0"), (.umask, "1.0"),
                (.successCodes, "[1.0]"),
            ]
        ),
        (
            "64 bits, and what letters and digits come to",
            [
                (.count, "9223372036854775808"), (.memoryMax, "9223372036854775808"),
                (.memoryHigh, #""8388608T""#), (.outputKept, #""17M""#), (.outputKept, #""1T""#),
            ]
        ),
        ("how a number is written", [(.umask, "18"), (.umask, "8"), (.timeout, "1e3")]),
        (
            "what words mean",
            [
                (.timeout, #""5x""#), (.timeout, #""1us""#), (.timeout, #""101y""#),
                (.cpuTime, #""1ms""#), (.backoff, #""10s..""#), (.backoff, #""5min..10s""#),
                (.every, #""5 parsecs""#), (.cron, #""x""#), (.calendar, #""x""#),
                (.at, #""tomorrow 09:00""#), (.from, #""x""#), (.until, #""x""#),
                (.tz, #""Nowhere/Else""#),
            ]
        ),
        (
            "bytes of text that is not ASCII, and of all of a value",
            [
                (.key, SchemaValues.quoted("ü", 128)), (.cwd, SchemaValues.quoted("/", "ü", 2048)),
                (.userInfo, SchemaValues.quoted("x", Limits.userInfo)),
            ]
        ),
        ("the name within the text of a credential", [(.credentials, #"["a","a:/x"]"#)]),
        (
            "what stands beside an option, which the defaults of the file may say as well",
            [(.queue, #""q","timeout":"1s""#), (.output, #""none","priority":1"#)]
        ),
    ]

    @Test("What the schema lets pass and apply refuses is listed, and is so", arguments: exceptions)
    func excepted(reason: String, values: [(JobOption, String)]) throws {
        for (option, value) in values {
            let (schema, apply) = try verdicts(file(option, value))
            #expect(schema && !apply, "\(reason): \(option): \(value.prefix(60))")
        }
    }

    @Test("A job has no command beside a queue, and keeps no output that is dropped")
    func excluded() throws {
        // The first is the daemon's to refuse.
        let queue = try verdicts(#"{"jobs":{"n":{"every":"1h","command":["a"],"queue":"q"}}}"#)
        #expect(!queue.schema)
        let dropped = try verdicts(file(.output, #""none","outputKept":"1K""#))
        #expect(!dropped.schema && !dropped.apply)
        let kept = try verdicts(file(.output, #""keep","outputKept":"1K""#))
        #expect(kept.schema && kept.apply)
    }

    @Test("A label and the names of jobs are judged by the schema as by apply")
    func names() throws {
        for label in ["2026", "true", "null", "[]", "\"\"", #""a b""#, #""a\tb""#] {
            let (schema, apply) = try verdicts(#"{"label":\#(label),"jobs":{}}"#)
            #expect(schema == apply, "\(label)")
        }
        for length in [247, 248] {
            let label = SchemaValues.quoted("x", length)
            let (schema, apply) = try verdicts(#"{"label":\#(label),"jobs":{}}"#)
            #expect(schema == (length == 247) && apply == schema)
        }
        let long = [255, 256].map { SchemaValues.quoted("x", $0) }
        for name in ["\"\"", "\"12\"", #""a\tb""#, #""\u0085""#] + long {
            let (schema, apply) = try verdicts(#"{"jobs":{\#(name):{"every":"1h"}}}"#)
            #expect(schema == apply, "\(name)")
        }
    }
}
