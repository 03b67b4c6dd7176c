// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The sessions of a Markdown document: what stands behind "$ " in its indented lines, and what
/// follows there.
struct DocumentSession {
    struct Step {
        var command: String
        /// What the document shows of the answer; empty where it shows none.
        var output: [String]
    }

    let steps: [Step]

    /// `path`: in the repository, such as "README.md".
    init(_ path: String) throws {
        var steps: [Step] = []
        var isOpen = false
        for line in try Repository.text(of: path).split(
            separator: "\n",
            omittingEmptySubsequences: false
        ) {
            // An answer may have an empty line.
            guard !line.isEmpty else { continue }
            guard line.hasPrefix("    ") else {
                isOpen = false
                continue
            }
            let text = String(line.drop { $0 == " " })
            if let last = steps.last, last.command.hasSuffix("\\") {
                steps[steps.count - 1].command = last.command.dropLast() + text
            } else if text.hasPrefix("$ ") {
                steps.append(Step(command: String(text.dropFirst(2)), output: []))
                isOpen = true
            } else if isOpen {
                steps[steps.count - 1].output.append(text)
            }
        }
        self.steps = steps
    }

    /// What an answer says, without what the clock and the machine make of it: each number is 0,
    /// each unit of time is t, nothing is late, a day is a day, a zone a zone, and runs of spaces are one.
    static func shape(_ line: some StringProtocol) -> String {
        String(line).replacing(#/[0-9]+([.:-][0-9]+)*/#, with: "0")
            .replacing(#/\b0 ?(µs|ms|s|min|h|d)\b/#, with: "0 t")
            .replacing("0 t late", with: "on time")
            .replacing(#/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) 0/#, with: "day 0")
            // In the evening a few minutes later is another day.
            .replacing(", tomorrow at 0", with: ", at 0")
            .replacing(#/\b(UTC|CES?T)\b/#, with: "zone")
            .replacing(#/ +/#, with: " ")
            .trimmingCharacters(in: .whitespaces)
    }
}
