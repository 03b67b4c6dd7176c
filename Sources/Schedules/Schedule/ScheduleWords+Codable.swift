// SPDX-License-Identifier: Apache-2.0

extension ScheduleWords: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case `in`
        case at
        case every
        case from
        case cron
        case calendar
        case tz
    }

    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int?

        init?(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            self.intValue = intValue
            stringValue = String(intValue)
        }
    }

    /// - Throws: a `ScheduleError` `badSchedule` for an unknown key, `DecodingError` for a value
    ///   that is no string.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
        if let unknown = keys.sorted().first(where: { CodingKeys(rawValue: $0) == nil }) {
            let known = CodingKeys.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            throw ScheduleError(
                .badSchedule,
                "a schedule has no field '\(unknown)'; its fields are \(known)"
            )
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            in: try container.decodeIfPresent(String.self, forKey: .in),
            at: try container.decodeIfPresent(String.self, forKey: .at),
            every: try container.decodeIfPresent(String.self, forKey: .every),
            from: try container.decodeIfPresent(String.self, forKey: .from),
            cron: try container.decodeIfPresent(String.self, forKey: .cron),
            calendar: try container.decodeIfPresent(String.self, forKey: .calendar),
            tz: try container.decodeIfPresent(String.self, forKey: .tz)
        )
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(self.in, forKey: .in)
        try container.encodeIfPresent(at, forKey: .at)
        try container.encodeIfPresent(every, forKey: .every)
        try container.encodeIfPresent(from, forKey: .from)
        try container.encodeIfPresent(cron, forKey: .cron)
        try container.encodeIfPresent(calendar, forKey: .calendar)
        try container.encodeIfPresent(tz, forKey: .tz)
    }
}
