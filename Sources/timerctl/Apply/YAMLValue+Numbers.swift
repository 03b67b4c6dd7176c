// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Words without quotes, by the core schema of YAML 1.2.
extension YAMLValue {
    /// What they mean.
    ///
    /// - Throws: a `Mistake` for a number that JSON cannot express.
    func plain(_ text: String) throws(Mistake) -> JSONValue {
        if isNull { return .null }
        if ["true", "True", "TRUE"].contains(text) { return .bool(true) }
        if ["false", "False", "FALSE"].contains(text) { return .bool(false) }
        if let number = integer(text) { return .integer(number) }
        if Self.isDecimal(text), let number = Double(text), number.isFinite {
            return .number(number)
        }
        let unsigned = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
        guard ![".inf", ".Inf", ".INF"].contains(unsigned),
            ![".nan", ".NaN", ".NAN"].contains(text), !Self.isDecimal(text)
        else { throw Mistake(place: place, message: "'\(text)' is no number that JSON has") }
        return .string(text)
    }

    /// The same as text of JSON: no number is rounded, and one that JSON writes alike stays as it is.
    ///
    /// - Throws: a `Mistake` for infinities and for what is not a number, which JSON has no text for.
    func plainText(_ text: String) throws(Mistake) -> String {
        // Not by its value: JSON has text also for what no double holds, such as 1e400.
        try Self.isDecimal(text) ? Self.decimal(text) : plain(text).jsonText
    }

    /// A decimal number as JSON writes it, which has no `+5`, `007`, `.5` and `5.`.
    private static func decimal(_ text: String) -> String {
        var rest = text[...]
        let sign = rest.first == "-" ? "-" : ""
        if rest.first == "-" || rest.first == "+" { rest.removeFirst() }
        let isDigit = { (character: Character) in ("0"..."9").contains(character) }
        let digits = rest.prefix(while: isDigit)
        rest = rest[digits.endIndex...]
        let whole = digits.drop { $0 == "0" }
        var fraction: Substring = ""
        if rest.first == "." {
            fraction = rest.dropFirst().prefix(while: isDigit)
            rest = rest[fraction.endIndex...]
        }
        return sign + (whole.isEmpty ? "0" : whole) + (fraction.isEmpty ? "" : ".\(fraction)")
            + rest
    }

    /// Whether it has the form `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`.
    private static func isDecimal(_ text: String) -> Bool {
        var rest = text.utf8[...]
        func skip(_ bytes: String) -> Bool {
            guard let byte = rest.first, bytes.utf8.contains(byte) else { return false }
            rest.removeFirst()
            return true
        }
        func skipDigits() -> Bool {
            let count = rest.count
            rest = rest.drop { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            return rest.count < count
        }
        _ = skip("-+")
        let hasWhole = skipDigits()
        let hasFraction = skip(".") && skipDigits()
        guard hasWhole || hasFraction else { return false }
        if skip("eE") {
            _ = skip("-+")
            guard skipDigits() else { return false }
        }
        return rest.isEmpty
    }

    private func integer(_ text: String) -> Int64? {
        for (prefix, radix) in [("0x", 16), ("0o", 8)] where text.hasPrefix(prefix) {
            let digits = text.dropFirst(2)
            // To YAML it is text with a sign here; Swift takes one in front of any digits.
            return digits.first == "-" || digits.first == "+" ? nil : Int64(digits, radix: radix)
        }
        return Int64(text)
    }
}
