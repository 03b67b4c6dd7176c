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
}
