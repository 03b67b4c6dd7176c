// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

@Suite("Lines of JSON") struct JSONLineTests {
    @Test(
        "What a terminal would obey is escaped, and reads back as the same",
        arguments: [
            ("plain Größe 東京 👩\u{200d}💻", "plain Größe 東京 👩\u{200d}💻"),
            ("\u{1b}[31m", #"\u001b[31m"#), ("\u{9b}31m", #"\u009b31m"#), ("\u{85}", #"\u0085"#),
            ("\u{7f}", #"\u007f"#), ("a\u{202e}b\u{2066}", #"a\u202eb\u2066"#),
            ("\u{2028}\u{2029}", #"\u2028\u2029"#), ("\u{e0041}", #"\udb40\udc41"#),
        ]
    )
    func escaped(text: String, shown: String) throws {
        let value = JSONValue.object([text: .string(text)])
        #expect(value.jsonLine == "{\"\(shown)\":\"\(shown)\"}\n")
        #expect(try JSONValue(parsing: Array(value.jsonLine.utf8)) == value)
    }

    @Test("A text that is kept as it was written keeps its numbers and blanks")
    func verbatim() throws {
        let text = try JSONText(parsing: "{\"a\":\t1.50, \"b\u{202e}\":2}")
        #expect(JSONValue.verbatim(text).jsonLine == "{\"a\":\t1.50, \"b\\u202e\":2}\n")
    }
}
