// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

extension JSONValue {
    /// The value as a line of JSON for standard output.
    ///
    /// In strings the characters that a terminal would obey, or not show, are escapes, which mean the same to whoever reads JSON:
    /// texts come from the users who added the jobs.
    var jsonLine: String { Self.shown(jsonText) + "\n" }

    private static func shown(_ text: String) -> String {
        if text.utf8.allSatisfy({ 0x20...0x7e ~= $0 }) { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            // Those before DEL are blanks between values, or escapes already; the others stand in strings alone.
            guard scalar.value >= 0x7f, HiddenCharacters.contain(scalar) else {
                result.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return result
    }
}
