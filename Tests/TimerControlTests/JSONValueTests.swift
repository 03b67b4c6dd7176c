// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@Suite("JSONValue") struct JSONValueTests {
    @Test(
        "Text is written on one line, keys sorted, only what has to be escaped is",
        arguments: [
            (.null, "null"),
            (.bool(false), "false"),
            (.integer(.min), "-9223372036854775808"),
            (.number(0.1), "0.1"),
            (.number(1e300), "1e+300"),
            (.number(3), "3.0"),
            (.number(.infinity), "null"),
            (.number(.nan), "null"),
            (
                .string("a\"\\/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}é"),
                #""a\"\\/\b\f\n\r\t\u0001\u001f"# + "\u{7f}é\""
            ),
            (.array([.integer(1), .array([])]), "[1,[]]"),
            (
                .object(["b": .integer(1), "B": .integer(2), "a": .null]),
                #"{"B":2,"a":null,"b":1}"#
            ),
            (
                .object(["\u{e9}:": .integer(1), "e\u{301}": .integer(2)]),
                "{\"e\u{301}\":2,\"\u{e9}:\":1}"
            ),
        ] as [(JSONValue, String)]
    )
    func writes(value: JSONValue, text: String) {
        #expect(value.jsonText == text)
        #expect(value.jsonBytes == Array(text.utf8))
    }

    @Test("Wire types become the same text as by Foundation's encoder with sorted keys")
    func sameAsFoundation() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for value in [Samples.fullJob, Samples.plainJob] {
            let text = String(decoding: try encoder.encode(value), as: UTF8.self)
            #expect(try JSONValue(encoding: value).jsonText == text)
        }
        let event = String(decoding: try encoder.encode(Samples.event), as: UTF8.self)
        #expect(try JSONValue(encoding: Samples.event).jsonText == event)
    }

    @Test("Wire types are read back as they were, by this decoder and by Foundation's")
    func readBack() throws {
        for job in [Samples.fullJob, Samples.plainJob] {
            let value = try JSONValue(encoding: job)
            #expect(try JSONValue(parsing: value.jsonText).decoded(as: Job.self) == job)
            #expect(try JSONDecoder().decode(Job.self, from: Data(value.jsonBytes)) == job)
        }
        let event = try JSONValue(encoding: Samples.event)
        #expect(try event.decoded(as: Event.self) == Samples.event)
    }

    @Test("Unknown fields of an answer are ignored")
    func unknownFields() throws {
        guard case .object(var members) = try JSONValue(encoding: Samples.plainJob) else {
            Issue.record("a job is an object")
            return
        }
        members["colour"] = .string("red")
        #expect(try JSONValue.object(members).decoded(as: Job.self) == Samples.plainJob)
    }

    @Test(
        "What does not fit says where it is, what it is and what was expected",
        arguments: [
            (#"{"id":"1"}"#, "'id' is a string, expected an integer"),
            (#"{"id":1.5}"#, "'id' is 1.5, expected an integer of 64 bits"),
            (#"{"id":1}"#, "'job' is missing"),
            (
                #"{"id":1,"job":2,"fire":3,"state":"x"}"#,
                #"'state' is "x", expected 'claimed', 'fired', 'waiting', 'running', 'queued', 'reserved', 'dead', 'done', 'skipped' or 'unreadable'"#
            ),
            (
                #"{"id":1,"job":2,"fire":3,"state":"done","fireDate":7}"#,
                "'fireDate' is a number, expected a string"
            ),
            (
                #"{"id":1,"job":2,"fire":3,"state":"done","fireDate":"soon"}"#,
                #"'fireDate' is "soon", expected a date with its offset such as '2026-12-01T08:00:00Z'"#
            ),
            ("[]", "the value is an array, expected an object"),
        ]
    )
    func mismatches(text: String, message: String) throws {
        let value = try JSONValue(parsing: text)
        let error = #expect(throws: JSONMismatch.self) { try value.decoded(as: Run.self) }
        #expect(error?.description == message)
    }

    @Test("A whole number is an integer, however it is written")
    func wholeNumbers() throws {
        #expect(try JSONValue(parsing: "5.0").decoded(as: Int.self) == 5)
        #expect(try JSONValue(parsing: "5e1").decoded(as: Int64.self) == 50)
        #expect(throws: JSONMismatch.self) { try JSONValue(parsing: "300").decoded(as: UInt8.self) }
        #expect(throws: JSONMismatch.self) {
            try JSONValue(parsing: "1e19").decoded(as: Int64.self)
        }
    }

    @Test("Types that make their containers by hand are encoded and decoded as well")
    func nestedContainers() throws {
        let value = try JSONValue(encoding: HandMade(left: 1, right: [2, 3]))
        #expect(value.jsonText == #"{"list":[[2,{"of":3}]],"nested":{"left":1}}"#)
        #expect(try value.decoded(as: HandMade.self) == HandMade(left: 1, right: [2, 3]))
    }
}

/// Encodes itself with every kind of nested container.
private struct HandMade: Codable, Equatable {
    var left: Int
    var right: [Int]

    enum Keys: String, CodingKey { case nested, list, left, of }

    init(left: Int, right: [Int]) {
        self.left = left
        self.right = right
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        left = try container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
            .decode(Int.self, forKey: .left)
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        var pair = try list.nestedUnkeyedContainer()
        let first = try pair.decode(Int.self)
        let second = try pair.nestedContainer(keyedBy: Keys.self).decode(Int.self, forKey: .of)
        right = [first, second]
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var nested = container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
        try nested.encode(left, forKey: .left)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        var pair = list.nestedUnkeyedContainer()
        try pair.encode(right[0])
        var of = pair.nestedContainer(keyedBy: Keys.self)
        try of.encode(right[1], forKey: .of)
    }
}
