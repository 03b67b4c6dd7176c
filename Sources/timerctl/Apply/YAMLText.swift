// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// Writes values as YAML that reads back as the same.
enum YAMLText {
    /// A string: plain if no reader can take it for something else, else in quotes.
    static func string(_ text: String) -> String {
        isPlain(text) ? text : quoted(text)
    }

    /// A value on one line, in JSON's form.
    static func inline(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): string(text)
        case .array(let elements): "[" + elements.map(inline).joined(separator: ", ") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }
                .map { "\(key(quoted($0.key))): \(inline($0.value))" }
                .joined(separator: ", ") + "}"
        case .verbatim: withMarkedKeys(json(value))
        default: value.jsonText
        }
    }

    /// The most bytes of a key that stands alone: libyaml, as YAML itself, allows 1,024 characters up to its colon.
    private static let longestKey = 1000

    /// A key of a map on one line: a long one is marked as a key.
    private static func key(_ quoted: String) -> String {
        quoted.utf8.count > longestKey ? "? \(quoted) " : quoted
    }

    /// A value in JSON's form with its long keys marked.
    private static func withMarkedKeys(_ json: String) -> String {
        guard json.utf8.count > longestKey else { return json }
        var bytes: [UInt8] = []
        var rest = Array(json.utf8)[...]
        while let byte = rest.first {
            guard byte == UInt8(ascii: "\"") else {
                bytes.append(byte)
                rest.removeFirst()
                continue
            }
            let string = rest.prefix(lengthOfString(rest))
            rest = rest.dropFirst(string.count)
            let next = rest.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            let isKey = next == UInt8(ascii: ":")
            let text = String(decoding: string, as: UTF8.self)
            bytes += Array((isKey ? key(text) : text).utf8)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text as it is, if YAML reads it as JSON does; else with blanks for tabs, and strings without escapes that
    /// need not be.
    ///
    /// YAML does not read two escapes as one character, and restricts tabs.
    static func verbatim(_ text: JSONText) -> JSONText {
        let differs = text.text.utf8.contains { $0 == UInt8(ascii: "\\") || $0 == 0x09 }
        // try?: a text from a damaged database stays as it is.
        guard differs, (try? text.meaning()) != nil else { return text }
        var bytes: [UInt8] = []
        var rest = Array(text.text.utf8)[...]
        while let byte = rest.first {
            guard byte == UInt8(ascii: "\"") else {
                bytes.append(byte == 0x09 ? 0x20 : byte)
                rest.removeFirst()
                continue
            }
            let string = rest.prefix(lengthOfString(rest))
            rest = rest.dropFirst(string.count)
            // try?: as above.
            bytes += (try? JSONValue(parsing: Array(string)).jsonBytes) ?? Array(string)
        }
        return JSONText(checked: bytes[...])
    }

    /// How many bytes the string of JSON has that the text begins with, its quotes among them.
    private static func lengthOfString(_ text: ArraySlice<UInt8>) -> Int {
        var isEscaped = false
        for (index, byte) in text.enumerated().dropFirst() {
            if byte == UInt8(ascii: "\""), !isEscaped { return index + 1 }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return text.count
    }

    /// A value as JSON that is YAML as well: characters that YAML does not accept, or a terminal would obey, are escaped.
    ///
    /// Those beyond U+FFFF are not: their escape in JSON is two in YAML.
    static func json(_ value: JSONValue) -> String {
        var result = ""
        for scalar in value.jsonText.unicodeScalars {
            switch scalar.value {
            case 0xfffe, 0xffff: result += "\\u" + hex(scalar, 4)
            case 0x7f..<0xfffe where HiddenCharacters.contain(scalar):
                result += "\\u" + hex(scalar, 4)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Whether it is a duration, or a word of letters and some marks that YAML 1.1 and 1.2 read as a string.
    private static func isPlain(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first else { return false }
        if isDigit(first) {
            let unit = bytes.drop(while: isDigit)
            return ["ms", "s", "min", "h", "d", "w"].contains { $0.utf8.elementsEqual(unit) }
        }
        guard isLetter(first) || first == UInt8(ascii: "/"),
            bytes.allSatisfy({ isLetter($0) || isDigit($0) || marks.contains($0) })
        else { return false }
        return !["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
            .contains(text.lowercased())
    }

    private static let marks = Array("_/.+@-".utf8)

    private static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        // In ASCII a letter and its capital differ in this bit alone.
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    /// The text in double quotes; characters that a reader of YAML may refuse or fold are escaped.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case _ where isSafe(scalar): result.unicodeScalars.append(scalar)
            case _ where scalar.value <= 0xff: result += "\\x" + hex(scalar, 2)
            case _ where scalar.value <= 0xffff: result += "\\u" + hex(scalar, 4)
            default: result += "\\U" + hex(scalar, 8)
            }
        }
        return result + "\""
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return 0x20...0x7e ~= scalar.value }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
            return false
        default: return true
        }
    }

    private static func hex(_ scalar: Unicode.Scalar, _ digits: Int) -> String {
        let text = String(scalar.value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
