// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import timerctl

/// Values as JSON text, right ones and wrong ones, for each form of an option.
enum SchemaValues {
    /// For every option, whatever its form.
    static let shapes = [
        "null", "true", "false", "0", "1", "-1", "1.5", "\"\"", "[]", "[null]", "[1]", "[true]",
        "[[]]", #"[""]"#, "{}", #"{"A":"b"}"#,
    ]

    /// A string that is `start`, and then a text so often.
    static func quoted(_ start: String, _ text: String, _ count: Int) -> String {
        "\"\(start)\(String(repeating: text, count: count))\""
    }

    static func quoted(_ text: String, _ count: Int) -> String { quoted("", text, count) }

    static func of(_ option: JobOption) -> [String] {
        switch option.form {
        case .label: labels
        case .labels: lists(of: labels) + lengths(upTo: Limits.tags) + [#"["applied:web"]"#]
        case .command:
            [
                #""ls -l""#, #"" ""#, #"["a",1,true,1.5]"#, #"["a",""]"#, #"["","a"]"#,
                #"["a",null]"#,
            ] + lengths(upTo: Limits.arguments)
        case .environment:
            [
                #"{"A":1}"#, #"{"A":true}"#, #"{"A":null}"#, #"{"A":[]}"#, #"{"":"x"}"#,
                #"{"A=B":"x"}"#, #"{"a b":"ü"}"#, #"{"1A":"x"}"#, #"{"A1":"x"}"#,
                variables(Limits.variables), variables(Limits.variables + 1),
            ]
        case .json: [#""x""#, #"{"a":[1.5,null]}"#]
        case .path: paths + [#""tmp""#]
        case .files:
            lists(of: paths) + [#"["-/x"]"#, #"["x"]"#, #"["-x"]"#, #"["--/x"]"#]
                + lengths(upTo: Limits.files, of: #""/x""#)
        case .credentials: credentials
        case .flag: [#""true""#, #""yes""#]
        case .integer(let range):
            [range.lowerBound, range.lowerBound - 1].map { "\($0)" } + [#""1""#]
                + (range.upperBound < .max
                    ? ["\(range.upperBound)", "\(range.upperBound + 1)"] : [])
        case .process: []
        case .exitCodes: ["[0]", "[0,0]", "[255]", "[256]", "[-1]", #"["0"]"#, "[1.5]"]
        case .choice(let words):
            (words + words.map { $0.uppercased() } + ["x"]).map { "\"\($0)\"" }
        case .words(let words):
            (words + ["x"]).flatMap { ["[\"\($0)\"]", "[\"\($0)\",\"\($0)\"]", "\"\($0)\""] }
        case .duration, .backoff: durations
        case .bytes(let range):
            ["0", "1K", "1k", "512m", "1.5G", "007", "K", "1KiB", "-1", "8M"].map { "\"\($0)\"" }
                + (range.upperBound < .max
                    ? ["\(range.upperBound)", "\(range.upperBound + 1)"] : ["16777217"])
        case .percent:
            [
                "50%", "1%", "0%", "00%", "005%", "100000%", "100001%", "0100000%", "200000%",
                "50.5%", "-1%", "%", "50", "50 %",
            ].map { "\"\($0)\"" }
        case .octal:
            ["22", "777", "778", "1000"]
                + ["0", "022", "777", "0777", "00022", "1000", "7777", "8", "0o22", "u"]
                .map { "\"\($0)\"" }
        case .expression, .zone, .date: [right(option), quoted("x", Limits.words + 1)]
        case .places:
            lists(of: (places + urls).map { "\"\($0)\"" })
                + [#"["none","mail"]"#, #"["mail","none"]"#, #"["none","none"]"#, #""mail""#]
                + lengths(upTo: Limits.places, of: #""mail""#)
        case .url: urls.map { "\"\($0)\"" }
        }
    }

    private static func right(_ option: JobOption) -> String {
        switch option {
        case .cron: #""0 9 * * 1-5""#
        case .calendar: #""Mon *-*-* 09:00""#
        case .tz: #""UTC""#
        default: #""2027-01-01 09:00""#
        }
    }

    private static let labels =
        [#""a b""#, #""ü""#, #""a\tb""#, #""a\u0085b""#] + [255, 256].map { quoted("x", $0) }

    /// The limit counts a NUL behind a path.
    private static let paths =
        [#""/""#, #""/tmp/a b""#]
        + [Limits.path - 2, Limits.path - 1].map { quoted("/", "x", $0) }

    private static let credentials: [String] = {
        let some = [
            "a", "a:/x", "a:/x:y", "a:x", "a:", ":/x", ".", "..", "..:/x", "...:/x", "a/b", "a b",
            "ä",
            "-a",
        ]
        return lists(of: some.map { "\"\($0)\"" } + [255, 256].map { quoted("a", $0) })
            + [Limits.credentials, Limits.credentials + 1].map { count in
                "[" + (1...count).map { "\"c\($0)\"" }.joined(separator: ",") + "]"
            }
    }()

    private static let durations =
        ["0.001", "0.0001", "5", "2.5", "3155760000", "3155760001"]
        + [
            "5s", "1h 30min", " 5s", "+5s", "1.5h", "0", "0s", "0.0s", "-1s", "abc", "s", ".",
            "100y",
        ].map { "\"\($0)\"" }

    private static let places = [
        "mail", "Mail", "desktop", "none", "mail:", "mail:a@b", "mail:a@b,c@d", "mail:a@b,",
        "mail:-a",
        "mail:a b", "mail:<a@b>", "mail:ü@b", "command:x", "command: x y", "command: ",
        "command:a\\tb",
        "command:", "x",
    ]

    private static let urls = [
        "http://x", "https://x/", "HTTP://X", "https://x/y?z#a", "https://x?y", "https://x#y",
        "https://u:p@x/y", "https://u@v@x", "https://#@x", "https://[::1]:80/", "https://x:80",
        "https://:80", "http://", "http:///x", "http://a b", "https://é", "https://x!y", "ftp://x",
        "x", "https://x/…", "https://x/…#3f9a", "https://x/…#3F9A", "https://x/…#3f9",
        "https://x/…y",
    ]

    private static func lists(of values: [String]) -> [String] { values.map { "[\($0)]" } }

    /// Lists that are as long as they may be, and longer by one.
    private static func lengths(upTo limit: Int, of value: String = #""a""#) -> [String] {
        [limit, limit + 1].map { count in
            "[" + Array(repeating: value, count: count).joined(separator: ",") + "]"
        }
    }

    private static func variables(_ count: Int) -> String {
        "{" + (1...count).map { "\"A\($0)\":\"\"" }.joined(separator: ",") + "}"
    }
}
