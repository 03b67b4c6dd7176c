// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing

@testable import TimerControl

@Suite("JSON that stays its text") struct JSONTextTests {
    private static let texts = [
        "18446744073709551616", #"{"b":1,"a":2}"#, "1e2", "-0", "1.10", "-1e400",
        #"{"a":[1e999999999999,0.5e+400]}"#,
        #"{ "b" : [1,  2],"a":"\u0041\/"}"#,
        #""é""#, "[]", "false",
    ]

    private func definitions(_ line: String) throws -> [JobDefinition] {
        guard case .single(let envelope) = try RequestLine(parsing: Array(line.utf8)) else {
            return []
        }
        switch try envelope.request.get() {
        case .addJobs(let request): return request.definitions
        case .applyJobs(let request): return request.add + request.change.map(\.definition)
        default: return []
        }
    }

    @Test(
        "userInfo is what the client wrote, byte for byte, wherever a definition stands",
        arguments: texts
    )
    func requests(text: String) throws {
        let job = #"{"schedule":{"in":"1h"},"userInfo": \#(text)\#t }"#
        for (method, parameters) in [
            ("job.add", job), ("job.add", #"{"jobs":[\#(job),\#(job)]}"#),
            ("job.apply", #"{"add":[\#(job)],"change":[{"id":7,\#(job.dropFirst())]}"#),
        ] {
            let line = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#
            let found = try definitions(line)
            #expect(!found.isEmpty)
            #expect(found.allSatisfy { $0.userInfo?.text == text }, "\(found)")
            // And on from there: what a client writes that has read it.
            let request = Request.addJobs(AddJobs(try #require(found.first)))
            let sent = String(decoding: try request.line(id: .integer(1)), as: UTF8.self)
            #expect(sent.contains(#""userInfo":\#(text)}"#), "\(sent)")
        }
    }

    @Test("Events and jobs carry it unchanged from the daemon to who asks", arguments: texts)
    func replies(text: String) throws {
        var event = Event(
            seq: 1,
            type: .fireFired,
            at: .init(microseconds: 0),
            job: JobID(rawValue: 1)
        )
        event.userInfo = try JSONText(parsing: text)
        let line = ReplyLine.event(event)
        #expect(String(decoding: line, as: UTF8.self).contains(#""userInfo":\#(text)}"#))
        let message = try JSONValue(parsingMessage: line)
        let read = try #require(message["params"]).decoded(as: Event.self)
        #expect(read == event)
    }

    @Test("Blanks around it are left out, and line breaks, of which a line has none, become blanks")
    func blanks() throws {
        #expect(try JSONText(parsing: " \n{\"a\":\r\n [1,\n2]}\n").text == "{\"a\":   [1, 2]}")
        #expect(try JSONText(parsing: "\t7 ").text == "7")
    }

    @Test("null is none at all, also of a client that sends it")
    func null() throws {
        let line =
            #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"schedule":{"in":"1h"},"userInfo": null}}"#
        #expect(try definitions(line).map(\.userInfo) == [nil])
        var definition = JobDefinition(schedule: ScheduleWords(in: "1h"))
        definition.userInfo = JSONText(.null)
        let request = Request.addJobs(AddJobs(definition))
        let sent = String(decoding: try request.line(id: .integer(1)), as: UTF8.self)
        #expect(try definitions(sent).map(\.userInfo) == [nil])
    }

    @Test(
        "It is read as strictly as the rest of the line",
        arguments: ["{\"a\":1,\"a\":2}", "[1,]", "01", "\"\u{1}\""]
    )
    func refused(text: String) {
        let line =
            #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"schedule":{"in":"1h"},"userInfo":\#(text)}}"#
        let error = #expect(throws: ControlError.self) {
            try RequestLine(parsing: Array(line.utf8))
        }
        #expect(error?.reason == .parseError)
        #expect(throws: JSONSyntaxError.self) { try JSONText(parsing: text) }
    }

    @Test("Another field of that name is what it says")
    func otherFields() throws {
        let line =
            #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"schedule":{"in":"1h"},"env":{"userInfo":"x"}}}"#
        #expect(try definitions(line).first?.env == ["userInfo": "x"])
    }

    @Test("Who asks has its value, and makes one of a value of his own")
    func values() throws {
        struct Note: Codable, Equatable {
            var text: String
            var level: Int
        }
        let text = try JSONText(encoding: Note(text: "stand up", level: 3))
        #expect(text.text == #"{"level":3,"text":"stand up"}"#)
        #expect(try text.decoded(as: Note.self) == Note(text: "stand up", level: 3))
        #expect(JSONText(.array([.null, .integer(1)])).text == "[null,1]")
        #expect(try JSONText(parsing: " 1e2").parsed() == .number(100))
        // Foundation's own coders know no text; the value is the same.
        let other = try JSONDecoder().decode(JSONText.self, from: JSONEncoder().encode(text))
        #expect(try other.parsed() == text.parsed())
    }

    @Test(
        "What was stored and is plainly cut off is none",
        arguments: ["", "{", "{\"a\":1", "[", "\"", "\"a", "tru", "-", "x"]
    )
    func stored(text: String) { #expect(JSONText(stored: text) == nil) }
}
