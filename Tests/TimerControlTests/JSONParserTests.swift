// SPDX-License-Identifier: Apache-2.0

import TestRandom
import Testing
import TimerControl

@Suite("JSONParser") struct JSONParserTests {
    @Test(
        "Well-formed text is read as the value that it is",
        arguments: [
            ("null", .null),
            (" true ", .bool(true)),
            ("\t[ ]\r\n", .array([])),
            ("{}", .object([:])),
            (
                "{ \"a\" : [ 1 , 2 ] , \"b\" : {} }",
                .object(["a": .array([.integer(1), .integer(2)]), "b": .object([:])])
            ),
            ("\"\"", .string("")),
            ("\"\u{7f}é\u{1F600}\u{2028}\"", .string("\u{7f}é\u{1F600}\u{2028}")),
            (#""\"\\\/\b\f\n\r\t""#, .string("\"\\/\u{8}\u{c}\n\r\t")),
            (#""a\u00E9\u0000\ud83d\uDE00z""#, .string("aé\0\u{1F600}z")),
            ("0", .integer(0)),
            ("-0", .integer(0)),
            ("-12", .integer(-12)),
            ("9223372036854775807", .integer(.max)),
            ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .number(9_223_372_036_854_775_808)),
            ("-9223372036854775809", .number(-9_223_372_036_854_775_808)),
            ("1.0", .number(1)),
            ("-2.5e-3", .number(-0.0025)),
            ("1E2", .number(100)),
            ("1e308", .number(1e308)),
            ("1e-400", .number(0)),
        ] as [(String, JSONValue)]
    )
    func accepts(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == value)
    }

    @Test(
        "What is not JSON is refused where it stops being JSON",
        arguments: [
            ("", 0, "a value"),
            (" ", 1, "a value"),
            ("nul", 0, "a value"),
            ("True", 0, "a value"),
            ("NaN", 0, "a value"),
            ("Infinity", 0, "a value"),
            ("-Infinity", 1, "a digit"),
            ("+1", 0, "a value"),
            (".5", 0, "a value"),
            ("1.", 2, "a digit"),
            ("1e", 2, "a digit"),
            ("01", 1, "the end"),
            ("1 2", 2, "the end"),
            ("nullnull", 4, "the end"),
            ("1e400", 0, "a number up to 1.8e308"),
            ("[1,]", 3, "a value"),
            ("[1 2]", 3, "',' or ']'"),
            ("[", 1, "a value"),
            ("{", 1, "a key in quotes"),
            ("{a:1}", 1, "a key in quotes"),
            ("{'a':1}", 1, "a key in quotes"),
            ("{\"a\"}", 4, "':'"),
            ("{\"a\":}", 5, "a value"),
            ("{\"a\":1,}", 7, "a key in quotes"),
            ("{\"a\":1", 6, "',' or '}'"),
            ("{\"a\":1,\"b\":2,\"a\":3}", 13, "a key other than 'a', again"),
            (
                "{\"\u{e9}\":1,\"e\u{301}\":2}", 8,
                "a key other than '\u{e9}', again, in whatever Unicode form"
            ),
            ("\"a", 2, "'\"'"),
            ("\"a\nb\"", 2, "an escape for a control character"),
            ("\"\u{1}\"", 1, "an escape for a control character"),
            (#""\x""#, 2, "one of \"\\/bfnrtu"),
            (#""\u12g4""#, 5, "four hexadecimal digits"),
            (#""\ud800""#, 1, "a surrogate pair, not half of one"),
            (#""\udc00\ud800""#, 1, "a surrogate pair, not half of one"),
            (#""\ud800x""#, 1, "a surrogate pair, not half of one"),
            ("\u{feff}1", 0, "a value"),
            ("// note\n1", 0, "a value"),
        ]
    )
    func refuses(text: String, offset: Int, expected: String) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
        #expect(error?.offset == offset)
        #expect(error?.expected == expected)
    }

    @Test(
        "Bytes that are no UTF-8 are refused inside strings and out of them",
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xC0, 0x80, 0x22], [0x22, 0x5C, 0x6E, 0xFF, 0x22], [0xFF], [0x5B, 0xC3, 0x5D],
            [0x00], [0x31, 0x00],
        ] as [[UInt8]]
    )
    func refusesBadUTF8(bytes: [UInt8]) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: bytes) }
    }

    @Test("Values may be 64 deep; deeper ones are refused, however deep")
    func depth() throws {
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(try JSONValue(parsing: deepest).jsonText == deepest)
        for depth in [65, 100, 1_000_000] {
            let text = String(repeating: "[", count: depth)
            let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
            #expect(error?.offset == 64)
            #expect(error?.expected == "no more than 64 levels")
        }
        let objects = String(repeating: "{\"a\":", count: 65)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: objects) }
    }

    @Test("Siblings do not count as levels")
    func siblings() throws {
        let wide = "[" + Array(repeating: "[[]]", count: 1000).joined(separator: ",") + "]"
        #expect(try JSONValue(parsing: wide).jsonText == wide)
    }

    @Test("Every escape of four digits is the character of its number, in capital letters too")
    func escapes() throws {
        let scalars = (0...UInt32(UInt16.max)).compactMap(Unicode.Scalar.init)
        let expected = scalars.map { String($0) }
        for isUppercase in [false, true] {
            let escapes = scalars.map { scalar in
                let digits = String(scalar.value, radix: 16, uppercase: isUppercase)
                return #""\u"# + String(repeating: "0", count: 4 - digits.count) + digits + "\""
            }
            let text = "[" + escapes.joined(separator: ",") + "]"
            #expect(try JSONValue(parsing: text).decoded(as: [String].self) == expected)
        }
    }

    @Test("Only hexadecimal digits are taken for such")
    func noDigits() {
        for byte in UInt8(0x20)..<0x7F {
            let isDigit = Character(Unicode.Scalar(byte)).isHexDigit
            let value = try? JSONValue(parsing: Array(#""\u000"#.utf8) + [byte, 0x22])
            #expect((value != nil) == isDigit, "byte \(byte)")
        }
    }

    @Test("Every control character is written as an escape that is read as it is")
    func controls() throws {
        let text = String(String.UnicodeScalarView((0..<0x20).compactMap(Unicode.Scalar.init)))
        let written = JSONValue.string(text).jsonText
        #expect(written.utf8.allSatisfy { $0 >= 0x20 })
        let escapes = ["e", "f"].map { "000\($0)" } + "0123456789abcdef".map { "001\($0)" }
        #expect(written.hasSuffix(escapes.map { #"\u"# + $0 }.joined() + "\""))
        #expect(try JSONValue(parsing: written) == .string(text))
    }

    @Test("Every beginning of a request is refused, and none of them halts")
    func truncations() throws {
        let text = #"{"jsonrpc":"2.0","id":-1.5e3,"a":[true,false,null,"\ud83d\ude00\n"]}"#
        let bytes = Array(text.utf8)
        for count in 0..<bytes.count {
            #expect(throws: JSONSyntaxError.self, "the first \(count) bytes") {
                try JSONValue(parsing: Array(bytes.prefix(count)))
            }
        }
        #expect(throws: Never.self) { try JSONValue(parsing: bytes) }
    }

    @Test("A byte changed at random is refused or read, and what is read is read back the same")
    func mutations() throws {
        var random = SplitMix(seed: 7)
        let bytes = Array(#"{"a":[1,-2.5e1,"xé\u00e9\n",{"b":null,"c":true}],"d":""}"#.utf8)
        for _ in 0..<20_000 {
            var mutated = bytes
            mutated[Int(random.next() % UInt64(bytes.count))] = UInt8(
                truncatingIfNeeded: random.next()
            )
            guard let value = try? JSONValue(parsing: mutated) else { continue }
            #expect(try JSONValue(parsing: value.jsonBytes) == value)
        }
    }
}
