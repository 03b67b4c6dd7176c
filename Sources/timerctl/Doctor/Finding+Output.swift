// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

extension Finding {
    /// The finding as lines of text, with the advice under it.
    func lines(on terminal: Terminal) -> String {
        let (word, style): (String, Terminal.Style?) =
            switch level {
            case .ok: ("ok", nil)
            case .warning: ("warning", .yellow)
            case .broken: ("BROKEN", .red)
            }
        let columns = terminal.width ?? .max
        let indent = min(22, columns / 4)
        var lines = Printable.wrapped(
            word.padded(to: 9) + subject.padded(to: 13) + Printable.escaped(text),
            to: columns,
            indent: indent
        )
        if lines[0].hasPrefix(word) {
            lines[0] = terminal.styled(word, style) + lines[0].dropFirst(word.count)
        }
        if let advice {
            lines += Printable.wrapped(
                "".padded(to: indent) + "-> \(Printable.escaped(advice))",
                to: columns,
                indent: indent
            )
        }
        return lines.map { $0 + "\n" }.joined()
    }

    var json: JSONValue {
        var members: [String: JSONValue] = [
            "level": .string(level.rawValue), "subject": .string(subject), "text": .string(text),
        ]
        members["advice"] = advice.map { .string($0) }
        return .object(members)
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
