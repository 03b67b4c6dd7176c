// SPDX-License-Identifier: Apache-2.0

/// Reads JSON of the usual form in one pass, without a value in between.
///
/// It knows what clients of the protocol send on hot paths, and gives up at anything else: `JSONParser` and the
/// decoders then read the whole text again, and say what is wrong with it, if anything is. Whatever it does read,
/// they read as the same; `QuickReaderTests` and the fuzz test of requests compare the two.
struct QuickReader {
    /// Thrown at what is not of the usual form.
    struct Unusual: Error {}

    /// The name of a member as one number, so that it is looked up without a string.
    ///
    /// Its bytes, at most 16, none of which needs an escape.
    struct Name: Hashable {
        fileprivate(set) var packed: UInt128 = 0

        fileprivate init() {}

        /// Nil for a name that is too long; it is unknown to the reader, then.
        init?(_ text: String) {
            guard text.utf8.count <= QuickReader.nameLimit else { return nil }
            for byte in text.utf8 { append(byte) }
        }

        fileprivate mutating func append(_ byte: UInt8) { packed = packed << 8 | UInt128(byte) }
    }

    private static let nameLimit = 16
    let bytes: [UInt8]
    var position = 0
    /// Hashes of the names of the objects around the position, inside `userInfo`.
    var hashes: [UInt64] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        skipBlanks()
    }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipBlanks() {
        while position < bytes.count, bytes[position].isJSONBlank { position += 1 }
    }

    /// Skips `mark` and the blanks behind it, if it comes next.
    mutating func skip(_ mark: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: mark) else { return false }
        position += 1
        skipBlanks()
        return true
    }

    mutating func require(_ mark: Unicode.Scalar) throws(Unusual) {
        guard skip(mark) else { throw Unusual() }
    }

    func requireEnd() throws(Unusual) {
        guard position == bytes.count else { throw Unusual() }
    }
}

// Each reads one value and the blanks behind it.
extension QuickReader {
    /// Reads an object; `member` reads the value of each of its members.
    mutating func object(
        _ member: (inout Self, Name) throws(Unusual) -> Void
    ) throws(Unusual) {
        try require("{")
        guard !skip("}") else { return }
        repeat {
            let name = try name()
            try require(":")
            try member(&self, name)
        } while skip(",")
        try require("}")
    }

    /// Reads an array; `element` reads each of its elements.
    mutating func array(_ element: (inout Self) throws(Unusual) -> Void) throws(Unusual) {
        try require("[")
        guard !skip("]") else { return }
        repeat { try element(&self) } while skip(",")
        try require("]")
    }

    /// Reads a string that a name may be.
    mutating func name() throws(Unusual) -> Name {
        guard next == UInt8(ascii: "\"") else { throw Unusual() }
        position += 1
        let start = position
        var name = Name()
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte.isPlainASCII, position - start < Self.nameLimit else { throw Unusual() }
            name.append(byte)
            position += 1
        }
        try require("\"")
        return name
    }

    mutating func string() throws(Unusual) -> String {
        guard next == UInt8(ascii: "\"") else { throw Unusual() }
        position += 1
        let start = position
        var isASCII = true
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Unusual() }
            if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
            if byte >= 0x80 { isASCII = false }
            position += 1
        }
        let text = try Self.text(bytes[start..<position], isASCII: isASCII)
        try require("\"")
        return text
    }

    private static func text(
        _ bytes: ArraySlice<UInt8>,
        isASCII: Bool
    ) throws(Unusual) -> String {
        // The library's check of other bytes is not specialized, and costs more than all else here.
        if isASCII { return String(decoding: bytes, as: UTF8.self) }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Unusual() }
        return text
    }

    /// Reads the rest of a string that holds an escape.
    private mutating func escapedString(from start: Int) throws(Unusual) -> String {
        var text = Array(bytes[start..<position])
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Unusual() }
            position += 1
            if byte == UInt8(ascii: "\\") {
                guard let byte = next, let meaning = Self.meaning(ofEscaped: byte) else {
                    throw Unusual()
                }
                text.append(meaning)
                position += 1
            } else {
                text.append(byte)
            }
        }
        guard let text = String(validating: text, as: UTF8.self) else { throw Unusual() }
        try require("\"")
        return text
    }

    /// What stands behind a backslash; nil for an escape of four digits, and for none.
    static func meaning(ofEscaped byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Reads an integer of at most 18 digits.
    mutating func integer() throws(Unusual) -> Int64 {
        let isNegative = next == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let start = position
        var value: Int64 = 0
        while let digit = next?.digit {
            guard position - start < 18 else { throw Unusual() }
            value = value * 10 + Int64(digit)
            position += 1
        }
        let count = position - start
        // No digit follows a leading zero.
        guard count == 1 || count > 1 && bytes[start] != UInt8(ascii: "0") else { throw Unusual() }
        // A fraction or an exponent is refused by whoever expects a comma or a brace.
        skipBlanks()
        return isNegative ? -value : value
    }

    mutating func flag() throws(Unusual) -> Bool {
        if next == UInt8(ascii: "t") {
            try word("true")
            return true
        }
        try word("false")
        return false
    }

    mutating func word(_ word: StaticString) throws(Unusual) {
        let length = word.utf8CodeUnitCount
        guard bytes.count - position >= length else { throw Unusual() }
        for index in 0..<length where bytes[position + index] != word.utf8Start[index] {
            throw Unusual()
        }
        position += length
        skipBlanks()
    }

    /// What begins next.
    var nextIsString: Bool { next == UInt8(ascii: "\"") }
    var nextIsNull: Bool { next == UInt8(ascii: "n") }

    mutating func strings() throws(Unusual) -> [String] {
        var strings: [String] = []
        try array { (reader) throws(Unusual) in strings.append(try reader.string()) }
        return strings
    }

    mutating func integers() throws(Unusual) -> [Int64] {
        var integers: [Int64] = []
        try array { (reader) throws(Unusual) in integers.append(try reader.integer()) }
        return integers
    }

    /// Reads an object of strings, whose names may be any.
    mutating func variables() throws(Unusual) -> [String: String] {
        var variables: [String: String] = [:]
        try require("{")
        guard !skip("}") else { return variables }
        repeat {
            let name = try string()
            try require(":")
            guard variables.updateValue(try string(), forKey: name) == nil else { throw Unusual() }
        } while skip(",")
        try require("}")
        return variables
    }
}

extension UInt8 {
    fileprivate var isJSONBlank: Bool {
        self <= 0x20 && (self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D)
    }

    /// Whether it stands for itself in a string of ASCII.
    var isPlainASCII: Bool {
        self >= 0x20 && self < 0x80 && self != UInt8(ascii: "\\")
    }

    var digit: UInt8? {
        let digit = self &- UInt8(ascii: "0")
        return digit < 10 ? digit : nil
    }

    /// By arithmetic: by way of a `Character` the digits of a line, up to 700,000, take fifteen times as long, and so do
    /// those of a stored definition each time that it is read.
    var hexDigit: UInt8? {
        if let digit { return digit }
        let letter = (self | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? letter + 10 : nil
    }
}
