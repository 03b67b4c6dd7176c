// SPDX-License-Identifier: Apache-2.0

/// Reads JSON text strictly, by RFC 8259 and the interoperable subset of it, RFC 7493 (I-JSON).
///
/// Foundation's decoder is not used on what clients send: it accepts a comma too many, keeps one of two equal
/// keys in silence, and needs minutes for a line of 200 kB that is nested 500 deep, since each failed guess
/// of a type builds the path to it. This parser is linear in the text, never recurses deeper than
/// `Limits.depth`, and says where the fault is.
struct JSONParser {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    /// Members of this name are checked, then kept as text.
    private let keptKey: String?
    /// Numbers are kept as text, in one form of all that are equal.
    private let isExact: Bool
    /// What is read stays as its text: no number of it has to be one of this program.
    private var isText: Bool

    private init(_ bytes: [UInt8], keeping key: String?, isExact: Bool, isText: Bool = false) {
        self.bytes = bytes
        keptKey = key
        self.isExact = isExact
        self.isText = isText
    }

    /// Parses the whole text as one value; members named `key` become `JSONValue.verbatim`, except null, and where it
    /// is to be exact, numbers do.
    static func parse(
        _ bytes: [UInt8],
        keeping key: String? = nil,
        isExact: Bool = false
    ) throws(JSONSyntaxError) -> JSONValue {
        var parser = Self(bytes, keeping: key, isExact: isExact)
        parser.skipBlanks()
        let value = try parser.value()
        guard parser.next == nil else { throw parser.fault("the end") }
        return value
    }

    /// Checks the whole text as one value that stays as it is: only its numbers may be larger than any here.
    static func check(_ bytes: [UInt8]) throws(JSONSyntaxError) {
        var parser = Self(bytes, keeping: nil, isExact: false, isText: true)
        parser.skipBlanks()
        _ = try parser.value()
        guard parser.next == nil else { throw parser.fault("the end") }
    }

    /// Reads one value and the blanks behind it.
    private mutating func value() throws(JSONSyntaxError) -> JSONValue {
        guard let next else { throw fault("a value") }
        let value: JSONValue
        switch next {
        case UInt8(ascii: "{"): value = .object(try object())
        case UInt8(ascii: "["): value = .array(try array())
        case UInt8(ascii: "\""): value = .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): value = try number()
        case UInt8(ascii: "t"): value = try word("true", .bool(true))
        case UInt8(ascii: "f"): value = try word("false", .bool(false))
        case UInt8(ascii: "n"): value = try word("null", .null)
        default: throw fault("a value")
        }
        skipBlanks()
        return value
    }

    private mutating func object() throws(JSONSyntaxError) -> [String: JSONValue] {
        try enter()
        var members: [String: JSONValue] = [:]
        if skip("}") {
            depth -= 1
            return members
        }
        while true {
            guard next == UInt8(ascii: "\"") else { throw fault("a key in quotes") }
            let start = position
            let key = try string()
            skipBlanks()
            guard skip(":") else { throw fault("':'") }
            skipBlanks()
            let value = key == keptKey ? try keptValue() : try value()
            if members.updateValue(value, forKey: key) != nil {
                // Texts of one meaning in Unicode are one to Swift, and to a dictionary.
                let forms = key.utf8.allSatisfy { $0 < 0x80 } ? "" : ", in whatever Unicode form"
                throw JSONSyntaxError(
                    offset: start,
                    expected: "a key other than '\(key)', again\(forms)"
                )
            }
            if skip(",") {
                skipBlanks()
            } else if skip("}") {
                depth -= 1
                return members
            } else {
                throw fault("',' or '}'")
            }
        }
    }

    /// Reads one value, and keeps its text alone.
    private mutating func keptValue() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        let wasText = isText
        isText = true
        defer { isText = wasText }
        if case .null = try value() { return .null }
        return .verbatim(JSONText(checked: bytes[start..<position]))
    }

    private mutating func array() throws(JSONSyntaxError) -> [JSONValue] {
        try enter()
        var elements: [JSONValue] = []
        if skip("]") {
            depth -= 1
            return elements
        }
        while true {
            elements.append(try value())
            if skip(",") {
                skipBlanks()
            } else if skip("]") {
                depth -= 1
                return elements
            } else {
                throw fault("',' or ']'")
            }
        }
    }

    /// Passes the bracket of an object or array, and the blanks behind it.
    private mutating func enter() throws(JSONSyntaxError) {
        guard depth < Limits.depth else { throw fault("no more than \(Limits.depth) levels") }
        depth += 1
        position += 1
        skipBlanks()
    }

    private mutating func word(
        _ word: StaticString,
        _ value: JSONValue
    ) throws(JSONSyntaxError) -> JSONValue {
        let length = word.utf8CodeUnitCount
        let isSame = bytes[position...].prefix(length).elementsEqual("\(word)".utf8)
        guard isSame else { throw fault("a value") }
        position += length
        return value
    }
}

extension JSONParser {
    /// Reads a string, from its first quote to behind its last.
    private mutating func string() throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        while let byte = next, byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
            guard byte >= 0x20 else { throw fault("an escape for a control character") }
            position += 1
        }
        guard next != nil else { throw fault("'\"'") }
        guard let text = String(validating: bytes[start..<position], as: UTF8.self) else {
            throw JSONSyntaxError(offset: start, expected: "a string in UTF-8")
        }
        position += 1
        return text
    }

    /// Reads the rest of a string that holds an escape.
    private mutating func escapedString(from start: Int) throws(JSONSyntaxError) -> String {
        var text = Array(bytes[start..<position])
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw fault("an escape for a control character") }
            if byte == UInt8(ascii: "\\") {
                try escape(into: &text)
            } else {
                text.append(byte)
                position += 1
            }
        }
        guard next != nil else { throw fault("'\"'") }
        guard let text = String(validating: text, as: UTF8.self) else {
            throw JSONSyntaxError(offset: start, expected: "a string in UTF-8")
        }
        position += 1
        return text
    }

    /// Reads a backslash and what it stands for.
    private mutating func escape(into text: inout [UInt8]) throws(JSONSyntaxError) {
        let start = position
        position += 1
        switch next {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(bytes[position])
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            position += 1
            let scalar = try scalar(escapedAt: start)
            if scalar.isASCII {
                text.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                text.append(contentsOf: scalar.utf8)
            }
            return
        default: throw fault("one of \"\\/bfnrtu")
        }
        position += 1
    }

    /// Reads the digits behind `\u`, and a second escape where the first is half a character.
    private mutating func scalar(escapedAt start: Int) throws(JSONSyntaxError) -> Unicode.Scalar {
        let first = try fourDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        if first < 0xDC00, skip("\\"), skip("u") {
            let second = try fourDigits()
            if (0xDC00...0xDFFF).contains(second) {
                let code = 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
                if let scalar = Unicode.Scalar(code) { return scalar }
            }
        }
        throw JSONSyntaxError(offset: start, expected: "a surrogate pair, not half of one")
    }

    private mutating func fourDigits() throws(JSONSyntaxError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = next?.hexDigit else { throw fault("four hexadecimal digits") }
            code = code << 4 | UInt32(digit)
            position += 1
        }
        return code
    }

    /// Reads a number; one without fraction and exponent stays an integer if it fits 64 bits.
    private mutating func number() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        let isNegative = skip("-")
        var integer: Int64? = 0
        // No digit follows a leading zero.
        if !skip("0") {
            try digits { digit in
                // Summed up as a negative number, since the range reaches further on that side.
                let product = integer?.multipliedReportingOverflow(by: 10)
                let sum = product?.partialValue.subtractingReportingOverflow(Int64(digit))
                integer =
                    product?.overflow == false && sum?.overflow == false
                    ? sum?.partialValue : nil
            }
        }
        if skip(".") {
            integer = nil
            try digits { _ in }
        }
        if skip("e") || skip("E") {
            integer = nil
            _ = skip("+") || skip("-")
            try digits { _ in }
        }
        if !isExact, let integer, isNegative || integer != .min {
            return .integer(isNegative ? integer : -integer)
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard !isExact else { return .verbatim(JSONText(number: text)) }
        guard let value = Double(text), value.isFinite || isText else {
            throw JSONSyntaxError(offset: start, expected: "a number up to 1.8e308")
        }
        return .number(value)
    }

    /// Reads one digit or more.
    private mutating func digits(_ body: (UInt8) -> Void) throws(JSONSyntaxError) {
        let start = position
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
            body(byte - UInt8(ascii: "0"))
            position += 1
        }
        guard position > start else { throw fault("a digit") }
    }
}

extension JSONParser {
    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skip(_ mark: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: mark) else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() {
        while let byte = next, byte <= 0x20,
            byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
        {
            position += 1
        }
    }

    private func fault(_ expected: String) -> JSONSyntaxError {
        JSONSyntaxError(offset: position, expected: expected)
    }
}
