// SPDX-License-Identifier: Apache-2.0

/// How many marks that combine with the character before them, such as accents, stand in a row in a line of JSON.
///
/// Swift compares and hashes texts by their canonical forms. For that it sorts each row of marks by insertion, in a time
/// that grows with the square of the row's length: a method's name of 4 kB took 0.06 s of processor time, as it is compared
/// with each there is, one of 16 kB 1 s. So a line with a long row is refused before a text is made of any part of it.
public enum CombiningMarks {
    /// Whether a line has a longer row than 64; linear, and one look at each byte where none is beyond ASCII.
    ///
    /// Of bytes that are no UTF-8, and of escapes that are none, the parser tells.
    public static func areTooMany(in line: [UInt8]) -> Bool {
        // Without either, there is no character beyond ASCII.
        guard line.contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "\\") }) else { return false }
        var (position, row) = (0, 0)
        while position < line.count {
            let (scalar, length) = scalar(in: line, at: position)
            position += length
            row = scalar.map(isMark) == true ? row + 1 : 0
            if row > Limits.marks { return true }
        }
        return false
    }

    /// Throws `limitReached` where they are too many.
    static func check(_ line: [UInt8]) throws(ControlError) {
        guard areTooMany(in: line) else { return }
        throw ControlError(
            .limitReached,
            "a line has more than \(Limits.marks) marks in a row that combine with the character before them"
        )
    }

    static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        // None before U+0300 is one.
        scalar.value >= 0x300 && scalar.properties.canonicalCombiningClass != .notReordered
    }

    /// The character at a position, as it is or behind `\u`, and how many bytes it takes; nil for one of no interest.
    private static func scalar(
        in line: [UInt8],
        at position: Int
    ) -> (Unicode.Scalar?, length: Int) {
        let byte = line[position]
        if byte == UInt8(ascii: "\\") { return escaped(in: line, at: position) }
        // The first byte of a character beyond ASCII says how many follow.
        let length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
        guard length > 1 else { return (nil, 1) }
        var code = UInt32(byte) & (0x7F >> UInt32(length))
        for next in line[position...].prefix(length).dropFirst() {
            code = code << 6 | UInt32(next & 0x3F)
        }
        return (Unicode.Scalar(code), length)
    }

    private static func escaped(
        in line: [UInt8],
        at position: Int
    ) -> (Unicode.Scalar?, length: Int) {
        guard let first = unit(in: line, at: position) else { return (nil, 2) }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        // Half a character, whose other half is to follow.
        guard first < 0xDC00, let second = unit(in: line, at: position + 6),
            (0xDC00...0xDFFF).contains(second)
        else { return (nil, 6) }
        return (Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)), 12)
    }

    /// The four digits behind `\u`; nil for anything else.
    private static func unit(in line: [UInt8], at position: Int) -> UInt32? {
        guard position + 6 <= line.count, line[position] == UInt8(ascii: "\\"),
            line[position + 1] == UInt8(ascii: "u")
        else { return nil }
        var code: UInt32 = 0
        for index in position + 2..<position + 6 {
            guard let digit = line[index].hexDigit else { return nil }
            code = code << 4 | UInt32(digit)
        }
        return code
    }
}
