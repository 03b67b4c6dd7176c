// SPDX-License-Identifier: Apache-2.0

extension Schedule {
    /// Its date, interval or expression in one form for most spellings, for show; reads back as the same.
    ///
    /// "2026-12-01T08:00:00.000000Z", "1h 30min", "0 9 * * 1-5", "*-*-* 00:00:00", "@reboot".
    public var normalized: String {
        switch self {
        case .once(let date): date.rfc3339
        case .every(let grid): grid.interval.description
        case .cron(let expression): expression.normalized
        case .calendar(let expression): expression.normalized
        case .reboot: "@reboot"
        }
    }

    /// The zone whose clock it follows; nil if it follows none.
    public var zone: Zone? {
        switch self {
        case .cron(let expression): expression.zone
        case .calendar(let expression): expression.zone
        case .once, .every, .reboot: nil
        }
    }
}

extension CronExpression {
    /// The expression with words such as `@daily` as fields and names as numbers: "0 9 * * 1-5".
    ///
    /// Its items stay what they are, as `0-59` and `*` differ under daylight saving.
    public var normalized: String {
        var fields = (Self.macros[text.lowercased()] ?? text).split(separator: " ").map(String.init)
        for (index, kind) in [(fields.count - 2, CronField.month), (fields.count - 1, .dayOfWeek)] {
            fields[index] = Self.numbered(fields[index], kind)
        }
        return fields.joined(separator: " ").uppercased()
    }

    private static func numbered(_ field: String, _ kind: CronField) -> String {
        var text = ""
        var rest = field[...]
        while let first = rest.first {
            let word = rest.prefix { $0.isLetter }
            if let number = kind.value(word) {
                text += String(number)
            } else {
                text += word.isEmpty ? String(first) : String(word)
            }
            rest = rest.dropFirst(max(word.count, 1))
        }
        return text
    }
}
