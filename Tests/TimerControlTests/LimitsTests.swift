// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@Suite("Limits") struct LimitsTests {
    /// Parameters of `job.add` that have a limit: one that reaches it, one that passes it.
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var allowed: @Sendable (inout JobDefinition) -> Void
        var refused: @Sendable (inout JobDefinition) -> Void
        var message: String
        var reason = ControlError.Reason.limitReached
    }

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    /// Brackets in a string are no levels.
    private static func nested(_ levels: Int) -> JSONText {
        let text = JSONValue.string("\"\\" + String(repeating: "[{", count: 40))
        return JSONText((0..<levels).reduce(text) { value, _ in .array([value]) })
    }

    static let cases = [
        Case(
            testDescription: "name",
            allowed: { $0.name = text(255) },
            refused: { $0.name = text(256) },
            message: "parameter 'name' has 256 bytes; at most 255 are accepted"
        ),
        Case(
            testDescription: "no name",
            allowed: { $0.name = "x" },
            refused: { $0.name = "" },
            message: "parameter 'name' is empty, expected a name",
            reason: .invalidParams
        ),
        Case(
            testDescription: "name on one line",
            allowed: { $0.name = "a b é" },
            refused: { $0.name = "a\nb" },
            message: #"parameter 'name' is "a\nb", expected text without control characters"#,
            reason: .invalidParams
        ),
        Case(
            testDescription: "tags",
            allowed: { $0.tags = (1...64).map(String.init) },
            refused: { $0.tags = (1...65).map(String.init) },
            message: "parameter 'tags' has 65 tags; at most 64 are accepted"
        ),
        Case(
            testDescription: "a tag",
            allowed: { $0.tags = ["a", text(255)] },
            refused: { $0.tags = ["a", text(256)] },
            message: "parameter 'tags[1]' has 256 bytes; at most 255 are accepted"
        ),
        Case(
            testDescription: "command",
            allowed: { $0.command = ["/bin/true"] },
            refused: { $0.command = [] },
            message: "parameter 'command' is empty, expected [program, argument, ...]",
            reason: .invalidParams
        ),
        Case(
            testDescription: "program",
            allowed: { $0.command = ["/bin/true", ""] },
            refused: { $0.command = ["", "a"] },
            message: "parameter 'command' is without a program, expected [program, argument, ...]",
            reason: .invalidParams
        ),
        Case(
            testDescription: "arguments",
            allowed: { $0.command = Array(repeating: "a", count: 4096) },
            refused: { $0.command = Array(repeating: "a", count: 4097) },
            message: "parameter 'command' has 4097 arguments; at most 4096 are accepted"
        ),
        Case(
            testDescription: "size of the command",
            allowed: { $0.command = ["a", text(131_069)] },
            refused: { $0.command = ["a", text(131_070)] },
            message: "parameter 'command' has 131073 bytes; at most 131072 are accepted"
        ),
        Case(
            testDescription: "NUL in an argument",
            allowed: { $0.command = ["a", "\u{1}"] },
            refused: { $0.command = ["a", "b\0"] },
            message: "parameter 'command[1]' is with a NUL, expected text without NUL",
            reason: .invalidParams
        ),
        Case(
            testDescription: "variables",
            allowed: { $0.env = .init(uniqueKeysWithValues: (1...1024).map { ("V\($0)", "") }) },
            refused: { $0.env = .init(uniqueKeysWithValues: (1...1025).map { ("V\($0)", "") }) },
            message: "parameter 'env' has 1025 variables; at most 1024 are accepted"
        ),
        Case(
            testDescription: "size of the environment",
            allowed: { $0.env = ["A": text(131_069)] },
            refused: { $0.env = ["A": text(131_070)] },
            message: "parameter 'env' has 131073 bytes; at most 131072 are accepted"
        ),
        Case(
            testDescription: "name of a variable",
            allowed: { $0.env = ["a.b": "c=d"] },
            refused: { $0.env = ["A=B": ""] },
            message:
                #"parameter 'env' is with a variable "A=B", expected names without '=' and NUL"#,
            reason: .invalidParams
        ),
        Case(
            testDescription: "length of a variable's name",
            allowed: { $0.env = ["A": ""] },
            refused: { $0.env = ["": "A"] },
            message:
                #"parameter 'env' is with a variable "", expected names that are not empty"#,
            reason: .invalidParams
        ),
        Case(
            testDescription: "first character of a variable's name",
            allowed: { $0.env = ["A1": "1"] },
            refused: { $0.env = ["1A": "1"] },
            message:
                #"parameter 'env' is with a variable "1A", expected names that do not begin with a digit"#,
            reason: .invalidParams
        ),
        Case(
            testDescription: "userInfo",
            allowed: { $0.userInfo = JSONText(.string(text(65_534))) },
            refused: { $0.userInfo = JSONText(.string(text(65_535))) },
            message: "parameter 'userInfo' has 65537 bytes; at most 65536 are accepted"
        ),
        Case(
            testDescription: "levels of userInfo",
            allowed: { $0.userInfo = nested(32) },
            refused: { $0.userInfo = nested(33) },
            message: "parameter 'userInfo' has 33 levels; at most 32 are accepted"
        ),
        Case(
            testDescription: "cwd",
            allowed: { $0.cwd = "/" + text(4094) },
            refused: { $0.cwd = "/" + text(4095) },
            message: "parameter 'cwd' has 4096 bytes; at most 4095 are accepted"
        ),
        Case(
            testDescription: "a file of variables, whose '-' is none of its path",
            allowed: { $0.envFile = ["-/" + text(4094)] },
            refused: { $0.envFile = ["-/" + text(4095)] },
            message: "parameter 'envFile[0]' has 4096 bytes; at most 4095 are accepted"
        ),
        Case(
            testDescription: "relative cwd",
            allowed: { $0.cwd = "/" },
            refused: { $0.cwd = "tmp" },
            message: "parameter 'cwd' is 'tmp', expected an absolute path",
            reason: .invalidParams
        ),
        Case(
            testDescription: "words of a schedule",
            allowed: { $0.schedule = ScheduleWords(every: text(1024)) },
            refused: { $0.schedule = ScheduleWords(every: text(1025)) },
            message: "parameter 'schedule.every' has 1025 bytes; at most 1024 are accepted"
        ),
        Case(
            testDescription: "words of an option",
            allowed: { $0.until = text(1024) },
            refused: { $0.until = text(1025) },
            message: "parameter 'until' has 1025 bytes; at most 1024 are accepted"
        ),
        Case(
            testDescription: "count",
            allowed: { $0.count = 1 },
            refused: { $0.count = 0 },
            message: "parameter 'count' is 0, expected a number from 1 upwards",
            reason: .invalidParams
        ),
        Case(
            testDescription: "misfireLimit",
            allowed: { $0.misfireLimit = 10_000 },
            refused: { $0.misfireLimit = 10_001 },
            message: "parameter 'misfireLimit' is 10001, expected a number from 1 to 10000",
            reason: .invalidParams
        ),
    ]

    @Test("A definition may reach each limit and not pass it", arguments: cases)
    func definition(of limit: Case) throws {
        var definition = JobDefinition(schedule: ScheduleWords(in: "1s"))
        limit.allowed(&definition)
        #expect(try refusal(.addJobs(AddJobs(definition))) == nil)
        limit.refused(&definition)
        let error = ControlError(limit.reason, limit.message)
        #expect(try refusal(.addJobs(AddJobs(definition))) == error)
    }

    @Test("What passes a limit in a list is named with its place")
    func list() throws {
        var definition = JobDefinition(schedule: ScheduleWords(in: "1s"))
        let good = definition
        definition.tags = ["a", ""]
        let error = try refusal(.addJobs(AddJobs([good, good, definition])))
        #expect(error?.message == "parameter 'jobs[2].tags[1]' is empty, expected a name")
    }

    @Test("A stored job with a variable whose name begins with a digit is still read")
    func storedName() {
        var definition = JobDefinition(schedule: ScheduleWords(in: "1s"))
        definition.env = ["1A": "x"]
        #expect(JobDefinition(quickly: definition.storedText) == definition)
    }

    @Test("10,000 jobs may be added at once, 10,000 ids be named at once, and no more")
    func counts() throws {
        let definition = JobDefinition(schedule: ScheduleWords(in: "1s"))
        let jobs = Array(repeating: definition, count: 10_001)
        #expect(try refusal(.addJobs(AddJobs(Array(jobs.dropLast())))) == nil)
        #expect(
            try refusal(.addJobs(AddJobs(jobs)))?.message
                == "parameter 'jobs' has 10001 jobs; at most 10000 are accepted"
        )
        let ids = (1...10_001).map { JobID(rawValue: $0) }
        #expect(try refusal(.pauseJobs(.ids(ids.dropLast()))) == nil)
        #expect(
            try refusal(.pauseJobs(.ids(ids)))?.message
                == "parameter 'ids' has 10001 ids; at most 10000 are accepted"
        )
    }

    /// Why the daemon would refuse a request; nil if it would not.
    private func refusal(_ request: Request) throws -> ControlError? {
        let line = try RequestLine(parsing: try request.line(id: .integer(1)))
        guard case .single(let envelope) = line, case .failure(let error) = envelope.request else {
            return nil
        }
        return error
    }
}
