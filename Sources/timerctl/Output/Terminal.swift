// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The width of standard output, if it is a terminal, and whether it may be coloured.
struct Terminal: Hashable {
    /// Columns; nil if the output is no terminal, or one that does not know its width.
    var width: Int?
    var hasColour: Bool
    /// What stands where a text is cut: of one column.
    var mark = "…"

    /// For a file or a pipe: whole lines, without colour.
    static let plain = Terminal(width: nil, hasColour: false)

    /// Standard output of this process.
    static var current: Self {
        guard isatty(STDOUT_FILENO) == 1 else { return .plain }
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return Self(
            width: isKnown ? Int(size.ws_col) : nil,
            hasColour: allowsColour(
                noColour: getenv("NO_COLOR").map { String(cString: $0) },
                term: getenv("TERM").map { String(cString: $0) }
            ),
            mark: isUnicode ? "…" : "~"
        )
    }

    /// The text cut to `columns`, with the mark at its end, if it is wider.
    func cut(_ text: String, to columns: Int) -> String {
        Printable.cut(text, to: columns, mark: mark)
    }

    /// The text cut to the terminal's width; uncut where that is not known.
    func cut(_ text: String) -> String { width.map { cut(text, to: $0) } ?? text }

    /// Has the help laid out for as many columns as it can be: in fewer it would lose its sentences, and a debug
    /// build would end.
    ///
    /// It stands behind a margin of 28 columns. For this process, which prints help and ends.
    static func widenForHelp() {
        let stated = getenv("COLUMNS").flatMap { Int(String(cString: $0)) }
        guard let width = stated ?? current.width, width < leastForHelp else { return }
        setenv("COLUMNS", "\(leastForHelp)", 1)
    }

    private static let leastForHelp = 40

    /// Whether a terminal may be coloured: NO_COLOR, by no-color.org, counts unless it is empty.
    static func allowsColour(noColour: String?, term: String?) -> Bool {
        guard noColour ?? "" == "" else { return false }
        return !isDumb(term)
    }

    /// Whether nothing but lines can be written on it; `term`: the variable TERM.
    static func isDumb(_ term: String?) -> Bool { ["", "dumb"].contains(term ?? "") }

    /// Whether this process's locale is UTF-8, so that more than ASCII can be drawn.
    static var isUnicode: Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"]
        let values = names.compactMap { name in getenv(name).map { String(cString: $0) } }
        return isUnicode(locale: values.first { !$0.isEmpty })
    }

    /// `locale`: the first that is set of LC_ALL, LC_CTYPE and LANG (locale(7)).
    static func isUnicode(locale: String?) -> Bool {
        let codeset = (locale ?? "").lowercased().replacing("-", with: "")
        return codeset.contains(".utf8")
    }

    /// The text in a style, for a terminal that has colours.
    func styled(_ text: String, _ style: Style?) -> String {
        guard hasColour, let style, !text.isEmpty else { return text }
        return "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m"
    }

    /// The parameter of the control sequence that selects it (ECMA-48, SGR).
    enum Style: Int {
        case bold = 1
        case inverse = 7
        case dim = 2
        case red = 31
        case green = 32
        case yellow = 33
    }
}
