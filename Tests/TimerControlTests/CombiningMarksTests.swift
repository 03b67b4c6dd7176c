// SPDX-License-Identifier: Apache-2.0

import JobModel
import Testing
import TimerControl

/// To compare two texts, Swift sorts each row of marks in them in a time that grows with the square of its length.
@Suite("Marks that combine") struct CombiningMarksTests {
    private static let most = Limits.marks

    /// A row of so many marks of two kinds, which have to be sorted.
    private static func marks(_ count: Int, _ one: String = "\u{315}", _ other: String = "\u{300}")
        -> String
    { (0..<count).map { $0.isMultiple(of: 2) ? one : other }.joined() }

    /// Lines with such a row in some place of them.
    static let places: [String] = [
        #"{"jsonrpc":"2.0","id":1,"method":"aROW"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"daemon.status","params":{"aROW":1}}"#,
        #"{"jsonrpc":"2.0","id":"aROW","method":"daemon.status"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"schedule":{"in":"1h"},"userInfo":{"aROW":1}}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"job.get","params":{"name":"\"\\ROW"}}"#,
        #"[{"jsonrpc":"2.0","id":1,"method":"job.get","params":{"name":"aROW"}}]"#,
        #"ROW"#,
    ]

    @Test(
        "A line with too many of them in a row is refused, wherever they stand",
        arguments: places
    )
    func tooMany(_ line: String) {
        let row = Self.marks(Self.most + 1)
        expectRefusal(line.replacing("ROW", with: row))
    }

    @Test("So is one that spells them as escapes")
    func escaped() {
        let line = #"{"jsonrpc":"2.0","id":1,"method":"job.get","params":{"name":"aROW"}}"#
        expectRefusal(
            line.replacing("ROW", with: Self.marks(Self.most + 1, #"\u0315"#, #"\u0300"#))
        )
        // Some are beyond what four digits spell.
        expectRefusal(
            line.replacing("ROW", with: Self.marks(Self.most + 1, "\u{1D165}", "\u{1D16D}"))
        )
        expectRefusal(
            line.replacing(
                "ROW",
                with: Self.marks(Self.most + 1, #"\uD834\uDD65"#, #"\ud834\udd6d"#)
            )
        )
    }

    @Test("As many as are accepted, and rows that others divide, stay as they are")
    func accepted() throws {
        let row = Self.marks(Self.most)
        let name = "a\(row)b\(row)\u{1161}\(row)\\\\u0300"
        let line = #"{"jsonrpc":"2.0","id":1,"method":"job.get","params":{"name":"NAME"}}"#
        guard
            case .single(let envelope) = try RequestLine(
                parsing: Array(line.replacing("NAME", with: name).utf8)
            ), case .success(.getJob(.name(let read))) = envelope.request
        else {
            Issue.record("it is no job.get by name")
            return
        }
        #expect(Array(read.utf8) == Array(name.replacing(#"\\"#, with: #"\"#).utf8))
    }

    private func expectRefusal(_ line: String) {
        let error = #expect(throws: ControlError.self) {
            try RequestLine(parsing: Array(line.utf8))
        }
        #expect(error?.reason == .limitReached, "\(line)")
    }
}
