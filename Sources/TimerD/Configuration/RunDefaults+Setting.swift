// SPDX-License-Identifier: Apache-2.0

import JobModel
import TimerControl

/// The setting `defaults`: options of jobs, as the wire has them.
extension RunDefaults {
    static var accepted: String {
        "an object of what jobs may say as well: "
            + options.map { "'\($0)' (\($0.form.accepted))" }.joined(separator: ", ")
    }

    /// The name in such an object that is not accepted, or whose value is not; nil where each is accepted by itself.
    static func refusedName(inJSON text: String) -> String? {
        // try?: what is no object has no names.
        guard case .object(let members)? = try? JSONValue(parsing: Array(text.utf8)) else {
            return nil
        }
        return members.sorted { $0.key < $1.key }
            .first { RunDefaults(.object([$0.key: $0.value])) == nil }?.key
    }

    /// Nil for what is none.
    init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        var stated: [JobOption: OptionValue] = [:]
        do {
            for (name, value) in members {
                guard let option = JobOption(field: name) else { return nil }
                let value = try option.value(of: value)
                _ = try option.normal(value)
                stated[option] = value
            }
            try self.init(stated)
        } catch {
            return nil
        }
    }

    /// Nil for text that is none.
    init?(json: String) {
        // try?: who reads the setting says what is accepted.
        guard let value = try? JSONValue(parsing: Array(json.utf8)) else { return nil }
        self.init(value)
    }

    var jsonValue: JSONValue {
        .object(
            Dictionary(uniqueKeysWithValues: stated.map { ($0.key.rawValue, JSONValue($0.value)) })
        )
    }
}
