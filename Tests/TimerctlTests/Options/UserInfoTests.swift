// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

@Suite("UserInfo") struct UserInfoTests {
    private func read(_ path: String) throws(Failure) -> [UInt8] {
        guard path == "-" || path == "f.json" else { throw Failure(.inputOutput, "no '\(path)'") }
        return Array(#"{"from":"\#(path)"}"#.utf8)
    }

    @Test(
        "userInfo is any JSON value",
        arguments: [
            (#"{"text":"stand up"}"#, .object(["text": .string("stand up")])),
            (
                " [1, 2.5, -3.5e2, true, null] ",
                .array([.integer(1), .number(2.5), .number(-350), .bool(true), .null])
            ),
            ("-5", .integer(-5)), (#""""#, .string("")), ("{}", .object([:])), ("0", .integer(0)),
            (#""é\u00e9\n""#, .string("éé\n")),
            ("@f.json", .object(["from": .string("f.json")])),
            ("-", .object(["from": .string("-")])),
        ] as [(String, JSONValue)]
    )
    func value(argument: String, value: JSONValue) throws {
        #expect(try UserInfo.value(of: argument, read: read).parsed() == value)
    }

    @Test(
        "What is not JSON is refused with its position",
        arguments: [
            ("", "line 1, column 1: expected a value, found the end"),
            ("hello", "line 1, column 1: expected a value, found 'h'"),
            (#"{"text": stand up}"#, "line 1, column 10: expected a value, found 's'"),
            (#"{"a":1,}"#, "line 1, column 8: expected a key in quotes, found '}'"),
            ("[1,\n 2,\n é3]", "line 3, column 2: expected a value, found 'é'"),
            (#""ééé"x"#, "line 1, column 6: expected the end, found 'x'"),
            ("\u{1b}", "line 1, column 1: expected a value, found '^['"),
            ("[1,2", "line 1, column 5: expected ',' or ']', found the end"),
        ]
    )
    func refused(argument: String, sentence: String) {
        #expect(throws: Failure(.badData, "--user-info is not JSON: \(sentence)")) {
            try UserInfo.value(of: argument, read: read)
        }
    }

    @Test("A file that cannot be read is the file's failure")
    func unreadable() {
        #expect(throws: Failure(.inputOutput, "no 'g.json'")) {
            try UserInfo.value(of: "@g.json", read: read)
        }
    }
}
