// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Reads the whole number that follows `option`; a range that depends on more is checked by the command.
///
/// - Throws: `ValidationError`, which says what is accepted: argument-parser's own does not.
func wholeNumber<Number: FixedWidthInteger & Sendable>(
    _ option: String,
    _ accepted: String
) -> @Sendable (String) throws -> Number {
    { text in
        guard let number = Number(text) else {
            throw ValidationError("\(option) is '\(text)', accepted is a whole number \(accepted)")
        }
        return number
    }
}
