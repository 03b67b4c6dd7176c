// SPDX-License-Identifier: Apache-2.0

/// Where an option stands, and under which name.
extension JobOption {
    package var form: OptionForm { row.form }

    /// Whether it is a word of the schedule.
    package var isOfSchedule: Bool {
        switch self {
        case .every, .from, .at, .in, .cron, .calendar, .tz: true
        default: false
        }
    }

    /// What stands beside `schedule` in a definition on the wire.
    package static let fields = allCases.filter { !$0.isOfSchedule }

    /// The option that stands under that name in a definition on the wire.
    package init?(field name: String) {
        guard let option = Self(rawValue: name), !option.isOfSchedule else { return nil }
        self = option
    }

    /// The way to it in a definition on the wire.
    package var path: String { isOfSchedule ? "schedule.\(rawValue)" : rawValue }

    /// Its name on the command line, without dashes; nil for the command, which stands by itself.
    package var flag: String? {
        switch self {
        case .command: nil
        case .tags: "tag"
        case .credentials: "credential"
        default: rawValue.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
        }
    }
}
