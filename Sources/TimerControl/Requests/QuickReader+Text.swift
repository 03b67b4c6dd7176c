// SPDX-License-Identifier: Apache-2.0

import Platform

/// Values that are checked, and kept as text.
extension QuickReader {
    /// How many arrays and objects `userInfo` may have inside each other; beyond is for `JSONParser`.
    private static let depthLimit = 16
    /// How many members an object of it may have: each name is compared with all before it.
    private static let memberLimit = 64

    /// Reads any value but null.
    mutating func text() throws(Unusual) -> JSONText {
        guard !nextIsNull else { throw Unusual() }
        let start = position
        var isASCII = true
        try check(depth: 0, &isASCII)
        let text = bytes[start..<position]
        // Every byte beyond ASCII stands in a string: all strings are UTF-8 if the whole is.
        guard isASCII || String(validating: text, as: UTF8.self) != nil else { throw Unusual() }
        return JSONText(checked: text)
    }

    private mutating func check(depth: Int, _ isASCII: inout Bool) throws(Unusual) {
        switch next {
        case UInt8(ascii: "{"): try checkObject(depth: depth, &isASCII)
        case UInt8(ascii: "["):
            guard depth < Self.depthLimit else { throw Unusual() }
            try require("[")
            guard !skip("]") else { return }
            repeat { try check(depth: depth + 1, &isASCII) } while skip(",")
            try require("]")
        case UInt8(ascii: "\""): try checkString(&isASCII)
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default:
            _ = try integer()
            guard next == UInt8(ascii: ".") else { return }
            try checkFraction()
        }
    }

    private mutating func checkObject(depth: Int, _ isASCII: inout Bool) throws(Unusual) {
        guard depth < Self.depthLimit else { throw Unusual() }
        try require("{")
        guard !skip("}") else { return }
        let first = hashes.count
        repeat {
            let hash = try nameHash()
            // Equal hashes are most often one name twice, which is refused; `JSONParser` will see.
            guard !hashes[first...].contains(hash) else { throw Unusual() }
            hashes.append(hash)
            guard hashes.count - first <= Self.memberLimit else { throw Unusual() }
            try require(":")
            try check(depth: depth + 1, &isASCII)
        } while skip(",")
        try require("}")
        hashes.removeSubrange(first...)
    }

    /// Reads a name of any length, by FNV-1a.
    private mutating func nameHash() throws(Unusual) -> UInt64 {
        guard next == UInt8(ascii: "\"") else { throw Unusual() }
        position += 1
        var hash = FNV1a()
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte.isPlainASCII else { throw Unusual() }
            hash.add(byte)
            position += 1
        }
        try require("\"")
        return hash.hash
    }

    private mutating func checkString(_ isASCII: inout Bool) throws(Unusual) {
        position += 1
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Unusual() }
            position += 1
            if byte == UInt8(ascii: "\\") {
                guard let byte = next, Self.meaning(ofEscaped: byte) != nil else { throw Unusual() }
                position += 1
            } else if byte >= 0x80 {
                isASCII = false
            }
        }
        try require("\"")
    }

    /// Reads a point and the digits behind it; a number so short is finite.
    private mutating func checkFraction() throws(Unusual) {
        // The blanks behind an integer were skipped: none may stand before a point.
        guard bytes[position - 1].digit != nil else { throw Unusual() }
        position += 1
        let start = position
        while next?.digit != nil { position += 1 }
        guard (1...18).contains(position - start) else { throw Unusual() }
        skipBlanks()
    }
}
