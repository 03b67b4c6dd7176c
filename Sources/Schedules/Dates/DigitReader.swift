// SPDX-License-Identifier: Apache-2.0

/// Reads numbers and marks from the bytes of a text, front to back.
struct DigitReader<Bytes: Collection> where Bytes.Element == UInt8 {
    private var rest: Bytes.SubSequence

    init(_ bytes: Bytes) {
        rest = bytes[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    var next: UInt8? { rest.first }

    /// Skips `mark` if it comes next.
    mutating func skip(_ mark: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: mark) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// The bytes up to the first that `accepts` refuses, as text.
    mutating func text(_ accepts: (UInt8) -> Bool) -> String {
        let end = rest.firstIndex { !accepts($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return String(decoding: rest[..<end], as: UTF8.self)
    }

    /// Exactly `digits` digits.
    mutating func number(digits: Int) -> Int? {
        var value = 0
        for _ in 0..<digits {
            guard let digit = nextDigit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// One digit or more; nil for none, or for a number above `limit`.
    mutating func number(upTo limit: Int) -> Int? {
        guard var value = nextDigit() else { return nil }
        while let digit = nextDigit() {
            guard value <= limit else { return nil }
            value = value * 10 + digit
        }
        return value <= limit ? value : nil
    }

    /// The digits after a decimal point as µs, cut off below 1 µs; nil without a digit.
    mutating func fraction() -> Int? {
        guard let first = nextDigit() else { return nil }
        var scale = 100_000
        var value = first * scale
        while let digit = nextDigit() {
            scale /= 10
            value += digit * scale
        }
        return value
    }

    /// "Z", or an offset such as "+02:00", in seconds.
    mutating func rfc3339Offset() -> Int? {
        if skip("Z") || skip("z") { return 0 }
        let sign: Int
        if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
        guard let hours = number(digits: 2), skip(":"), let minutes = number(digits: 2),
            hours <= 23, minutes <= 59
        else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }

    private mutating func nextDigit() -> Int? {
        guard let byte = rest.first, byte.isDigit else { return nil }
        rest = rest.dropFirst()
        return Int(byte - UInt8(ascii: "0"))
    }
}

extension UInt8 {
    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    var isLetter: Bool { self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "z") }

    var isBlank: Bool { self == UInt8(ascii: " ") || self >= 0x09 && self <= 0x0d }
}

extension String {
    /// Its words, with white space between them.
    var wordsApart: [Substring] {
        // Whether a character is white space, the library looks up in Unicode's tables.
        guard utf8.allSatisfy({ $0 < 0x80 }) else { return split(whereSeparator: \.isWhitespace) }
        return utf8.split(whereSeparator: \.isBlank).map { Substring($0) }
    }
}
