// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// One row of a file of what other programs answer.
struct VectorRow: Sendable, CustomTestStringConvertible {
    let file: String
    let columns: [String]

    subscript(_ index: Int) -> String { index < columns.count ? columns[index] : "" }

    var testDescription: String { columns.prefix(4).joined(separator: " | ") }
}

/// Reads the files in Vectors: tab-separated, `#` before remarks, the first line names the columns.
enum VectorTable {
    static func rows(_ file: String) -> [VectorRow] {
        // A file that is missing or unreadable fails the test by the issue below.
        guard let folder = Bundle.module.url(forResource: "Vectors", withExtension: nil),
            let text = try? String(
                contentsOf: folder.appending(path: file + ".tsv"),
                encoding: .utf8
            )
        else {
            Issue.record("no vectors '\(file)'")
            return []
        }
        return text.split(separator: "\n").filter { !$0.hasPrefix("# ") }.dropFirst().map {
            VectorRow(
                file: file,
                columns: $0.split(separator: "\t", omittingEmptySubsequences: false).map(
                    String.init
                )
            )
        }
    }

    /// Rows where we differ on purpose, by file: the row's columns before its answer, and the
    /// reason.
    static let exceptions: [String: [[String]: String]] = {
        var table: [String: [[String]: String]] = [:]
        for row in rows("exceptions") {
            table[row[0], default: [:]][Array(row.columns.dropFirst(2))] = row[1]
        }
        return table
    }()

    /// Checks one row: it agrees, or it is a named exception and still differs.
    ///
    /// - Parameters:
    ///   - row: the row.
    ///   - key: the number of columns that tell it from others.
    ///   - difference: what differs; nil when the row is reproduced.
    static func check(_ row: VectorRow, key: Int, difference: String?) {
        let columns = Array(row.columns.prefix(key))
        if let reason = exceptions[row.file]?[columns] {
            #expect(difference != nil, "exception no longer needed (\(reason)): \(columns)")
        } else if let difference {
            Issue.record("\(row.file): \(columns): \(difference)")
        }
    }
}
