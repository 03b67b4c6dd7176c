// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension FuzzTarget {
    /// The inputs that its fuzzing begins with; at least one.
    func corpus() throws -> [[UInt8]] {
        let fuzz = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = fuzz.appending(path: "Corpus/\(self).txt")
        let inputs = Corpus.inputs(of: try String(contentsOf: file, encoding: .utf8))
        try #require(!inputs.isEmpty)
        return inputs
    }
}

/// Inputs packed into a text, one a line.
///
/// A backslash begins an escape: `\n`, `\r`, `\t`, `\\`, or `\xHH` for any other byte; `Fuzz/corpus` writes them.
enum Corpus {
    static func inputs(of text: String) -> [[UInt8]] {
        text.split(separator: "\n").map { unpacked(Array($0.utf8)) }
    }

    private static func unpacked(_ line: [UInt8]) -> [UInt8] {
        var input: [UInt8] = []
        var rest = line[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let mark = rest.popFirst() else {
                input.append(byte)
                continue
            }
            switch mark {
            case UInt8(ascii: "n"): input.append(0x0a)
            case UInt8(ascii: "r"): input.append(0x0d)
            case UInt8(ascii: "t"): input.append(0x09)
            case UInt8(ascii: "x"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                rest = rest.dropFirst(2)
                if let byte = UInt8(digits, radix: 16) { input.append(byte) }
            default: input.append(mark)
            }
        }
        return input
    }
}
