// SPDX-License-Identifier: Apache-2.0

extension String {
    /// What may stand between double quotes of a log, of metrics and of what curl reads: a quote and a backslash have a
    /// backslash before them, and a newline is `\n`.
    ///
    /// It goes by Unicode's scalars: to Swift a quote and an accent behind it are one character.
    package var escapedForQuotes: String {
        var escaped = UnicodeScalarView()
        for scalar in unicodeScalars {
            if ["\"", "\\", "\n"].contains(scalar) { escaped.append("\\") }
            escaped.append(scalar == "\n" ? "n" : scalar)
        }
        return String(escaped)
    }
}
