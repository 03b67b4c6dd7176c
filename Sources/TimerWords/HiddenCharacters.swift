// SPDX-License-Identifier: Apache-2.0

/// Characters that are invisible themselves, and change what is shown around them, or start a new line.
///
/// Names, commands and messages come from the user who added the job: nothing in them is to colour, hide or
/// reorder what the reader sees.
public enum HiddenCharacters {
    public static func contain(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7f }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        // Emoji and many Asian scripts need the two joiners; the rest of this category reorders text or hides
        // in it.
        case .format: return scalar.value != 0x200c && scalar.value != 0x200d
        default: return false
        }
    }

    /// Control characters in caret notation ("^[" for ESC); other hidden ones as "\u{202e}".
    public static func escaped(_ text: String) -> String {
        if text.unicodeScalars.allSatisfy({ !contain($0) }) { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if !contain(scalar) {
                result.unicodeScalars.append(scalar)
            } else if scalar.value < 0x20 || scalar.value == 0x7f {
                result += "^"
                result.unicodeScalars.append(Unicode.Scalar(UInt8(scalar.value ^ 0x40)))
            } else {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return result
    }
}
