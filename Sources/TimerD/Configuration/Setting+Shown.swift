// SPDX-License-Identifier: Apache-2.0

import JobModel
import TimerControl

/// Values that are refused, as a message repeats them: it ends in logs, and what is secret in one must not.
extension Setting {
    /// The value as the file has it; of what may be a URL no more than its host, and of an address of PostgreSQL nothing.
    func shown(_ value: JSONValue) -> String {
        switch (kind, value) {
        case (.places, _): Self.masked(value).jsonText
        // Of text in it `SettingError.unaccepted` says what is wrong.
        case (.database, .array), (.database, .object): value.kind
        default: value.jsonText
        }
    }

    /// The same of words on the command line or in the environment.
    func shown(ofWords text: String) -> String {
        guard kind == .places, let mark = text.firstRange(of: "://") else {
            return kind == .places ? "'\(NoticePlace.shown(text))'" : "'\(text)'"
        }
        // A comma may be the URL's own, so that what is behind it is no other place.
        return "'\(text[..<mark.upperBound])…'"
    }

    private static func masked(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(JobDefinition.reference(text))
        case .array(let values): .array(values.map(masked))
        case .object(let members): .object(members.mapValues(masked))
        default: value
        }
    }
}
