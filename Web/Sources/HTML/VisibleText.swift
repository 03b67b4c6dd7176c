// SPDX-License-Identifier: Apache-2.0

import TimerWords

/// Characters that are invisible themselves, and change what is shown around them, as symbols.
///
/// Names, commands and outputs come from the user who added the job: nothing in them is to hide or reorder what
/// the reader sees.
public enum VisibleText {
    /// The symbol of a control character ("␛"), the replacement character for one that reorders text, else the
    /// scalar itself.
    public static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        guard HiddenCharacters.contain(scalar) else { return scalar }
        switch scalar.value {
        case 0..<0x20: return Unicode.Scalar(0x2400 + scalar.value) ?? "\u{fffd}"
        case 0x7f: return "\u{2421}"
        default: return "\u{fffd}"
        }
    }

    /// The text with all of them so.
    static func shown(_ text: String) -> String {
        if text.unicodeScalars.allSatisfy({ !HiddenCharacters.contain($0) }) { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { result.append(shown(scalar)) }
        return String(result)
    }
}
