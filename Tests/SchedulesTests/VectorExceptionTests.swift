// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Exceptions to the vectors") struct VectorExceptionTests {
    @Test("Each exception names a row that is there")
    func rowsExist() {
        for (file, exceptions) in VectorTable.exceptions {
            let rows = VectorTable.rows(file).map(\.columns)
            for columns in exceptions.keys {
                let isThere = rows.contains { $0.starts(with: columns) }
                #expect(isThere, "\(file): \(columns)")
            }
        }
    }

    @Test("Each exception has a reason that the file explains")
    func reasonsAreExplained() throws {
        let folder = try #require(Bundle.module.url(forResource: "Vectors", withExtension: nil))
        let text = try String(contentsOf: folder.appending(path: "exceptions.tsv"), encoding: .utf8)
        for reason in Set(VectorTable.exceptions.values.flatMap(\.values)) {
            #expect(text.contains("\n# \(reason): "), "\(reason)")
        }
    }
}
