// SPDX-License-Identifier: Apache-2.0

import JobModel
package import Logging

extension Logger.MetadataValue {
    /// The value as it stands in a line beside others and the message: users choose names.
    ///
    /// `text` makes each string of it harmless first.
    package func inLine(_ text: (String) -> String = { $0 }) -> Self {
        switch self {
        case .string(let value): .string(Self.quoted(text(value)))
        case .stringConvertible(let value): .string(Self.quoted(text(value.description)))
        case .array(let values): .array(values.map { $0.inLine(text) })
        case .dictionary(let values): .dictionary(values.mapValues { $0.inLine(text) })
        }
    }

    /// In quotes where it could be taken for further values, for the message, or for another line.
    private static func quoted(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { !["=", "[", "\"", "\n"].contains($0) }
        return isPlain ? text : "\"\(text.escapedForQuotes)\""
    }
}
