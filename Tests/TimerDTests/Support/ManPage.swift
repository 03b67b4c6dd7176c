// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The project's files, as tests read them.
enum Repository {
    static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(of path: String) throws -> String {
        try String(contentsOf: folder.appending(path: path), encoding: .utf8)
    }
}

/// A manual page of docs/, as far as tests go by it.
struct ManPage {
    /// Its source, with the characters that roff(7) writes as escapes.
    let text: String

    /// `path`: in docs/, such as "man/timerd.8".
    init(_ path: String) throws {
        text = try Repository.text(of: "docs/" + path)
            .replacing("\\-", with: "-").replacing("\\(aq", with: "'")
            .replacing("\\e", with: "\\")
    }

    /// The commands in its examples, as a user would type them: what stands behind "$ ".
    var commands: [String] {
        text.split(separator: "\n").compactMap { line in
            let line = line.hasPrefix(".Dl ") ? line.dropFirst(4) : line
            return line.hasPrefix("$ ") ? String(line.dropFirst(2)) : nil
        }
    }

    /// The arguments of a macro's lines, such as those of "It Cm".
    func lines(of macro: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(".\(macro) ") }
            .map { String($0.dropFirst(macro.count + 2)) }
    }
}
