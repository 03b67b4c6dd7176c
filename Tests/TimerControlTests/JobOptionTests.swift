// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import TimerControl

@Suite("JobOption") struct JobOptionTests {
    @Test("A definition that states every option is read as it was written, each in its place")
    func everyOption() throws {
        let full = Samples.fullDefinition
        var copy = JobDefinition(schedule: ScheduleWords())
        for option in JobOption.allCases {
            guard let value = full[option] else { continue }
            try copy.set(option, value)
            #expect(copy[option] == value, "\(option)")
        }
        #expect(copy == full)
        let other = JobOption.allCases.filter { full[$0] == nil }
        #expect(other == [.at, .in, .cron, .calendar], "the sample has all that go together")
        let json = try JSONValue(encoding: full)
        #expect(try json.decoded(as: JobDefinition.self) == full)
        guard case .object(let members) = json else { return }
        #expect(Set(members.keys) == JobDefinition.fieldNames)
    }

    @Test("Nothing stated is nothing on the wire, and null is nothing stated")
    func nothing() throws {
        let bare = JobDefinition(schedule: ScheduleWords(in: "1s"))
        #expect(try JSONValue(encoding: bare).jsonText == #"{"schedule":{"in":"1s"}}"#)
        var members: [String: JSONValue] = ["schedule": .object(["in": .string("1s")])]
        for option in JobOption.fields { members[option.rawValue] = .null }
        #expect(try JSONValue.object(members).decoded(as: JobDefinition.self) == bare)
    }

    @Test("A value of another shape is refused by every option, and none is changed by it")
    func misshapen() {
        let values: [OptionValue] = [
            .text("x"), .texts(["x"]), .variables(["x": "x"]), .integer(1), .integers([1]),
            .flag(true), .json(JSONText(.bool(true))),
        ]
        for option in JobOption.allCases {
            let accepted = values.filter { value in
                var definition = JobDefinition(schedule: ScheduleWords())
                do throws(OptionRefusal) {
                    try definition.set(option, value)
                } catch {
                    #expect(error.option == option)
                    #expect(definition[option] == nil)
                    return false
                }
                return true
            }
            if case .choice = option.form {
                #expect(accepted == [], "\(option): 'x' is none of its words")
            } else {
                #expect(accepted.count == 1, "\(option)")
            }
        }
    }

    @Test("The standard of an option is accepted by it")
    func standards() throws {
        for option in JobOption.allCases {
            guard let standard = option.row.standard else { continue }
            let value = try option.value(argument: standard)
            var definition = JobDefinition(schedule: ScheduleWords())
            try definition.set(option, value)
            #expect(definition[option] == value)
        }
    }

    @Test(
        "Of several mistakes the same one is told each time, the first by name",
        arguments: 1...5
    )
    func severalMistakes(turn: Int) {
        let text = #"{"schedule":{"in":"1s"},"umask":7,"count":"3","tags":"x","nice":true}"#
        let mismatch = #expect(throws: JSONMismatch.self) {
            try JSONValue(parsing: text).decoded(as: JobDefinition.self)
        }
        #expect(mismatch?.description == "'count' is a string, expected an integer")
    }

    @Test(
        "What means the same has one form",
        arguments: [
            (.timeout, .text("90s"), .text("1min 30s")), (.backoff, .text("10"), .text("10s..1h")),
            (.backoff, .text("2h"), .text("2h..2h")), (.memoryMax, .text("1K"), .integer(1024)),
            (.umask, .text("0022"), .integer(0o22)),
            (.tags, .texts(["b", "a", "b"]), .texts(["a", "b"])),
            (.successCodes, .integers([3, 0, 3]), .integers([0, 3])),
            (.cwd, .text("/a"), .text("/a")),
        ] as [(JobOption, OptionValue, OptionValue)]
    )
    func normal(option: JobOption, value: OptionValue, normal: OptionValue) throws {
        #expect(try option.normal(value) == normal)
    }

    @Test(
        "A definition has the dates of another where the schedule means the same, and a command stays one",
        arguments: [
            (ScheduleWords(every: "60s"), ["a"], true), (ScheduleWords(every: "1min"), ["b"], true),
            (ScheduleWords(every: "61s"), ["a"], false), (ScheduleWords(every: "1min"), nil, false),
            (ScheduleWords(), ["a"], false), (ScheduleWords(every: "soon"), ["a"], false),
        ] as [(ScheduleWords, [String]?, Bool)]
    )
    func dates(schedule: ScheduleWords, command: [String]?, isSame: Bool) {
        var one = JobDefinition(schedule: ScheduleWords(every: "1min"))
        one.command = ["a"]
        var other = JobDefinition(schedule: schedule)
        other.command = command
        #expect(one.hasDates(of: other, now: Samples.date, zone: .utc) == isSame)
        #expect(other.hasDates(of: one, now: Samples.date, zone: .utc) == isSame)
    }

    @Test("So it does where the expression is spelled in another way")
    func datesOfExpressions() {
        let one = JobDefinition(schedule: ScheduleWords(cron: "0 0 * * 7"))
        let other = JobDefinition(schedule: ScheduleWords(cron: "0 0 * * 0"))
        #expect(one.hasDates(of: other, now: Samples.date, zone: .utc))
    }
}
