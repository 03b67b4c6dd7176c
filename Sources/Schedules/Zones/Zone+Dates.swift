// SPDX-License-Identifier: Apache-2.0

extension Zone {
    /// The instant the daylight saving rule chooses for a local time, and a note if there was a
    /// choice.
    ///
    /// Of a local time that comes twice the second, where it alone lies behind `past`: who means the next one means that.
    func chosen(_ local: LocalTime, after past: Timestamp = .distantPast) -> (Timestamp, String?) {
        func taken(_ date: Timestamp) -> String {
            "\(localTime(at: date)) \(abbreviation(at: date))"
        }
        switch resolve(local) {
        case .unique(let date): return (date, nil)
        case .gap(let date):
            return (date, "\(local) does not exist in \(name); it becomes \(taken(date))")
        case .repeated(let first, let second) where first <= past && past < second:
            let choice = "the first has passed, and it becomes the second, \(taken(second))"
            return (second, "\(local) comes twice in \(name); \(choice)")
        case .repeated(let first, _):
            let choice = "it becomes the first, \(taken(first))"
            return (first, "\(local) comes twice in \(name); \(choice)")
        }
    }

    /// A note if this zone, such as "CET", has another abbreviation than its name at `date`.
    func outOfSeason(_ name: String, _ date: Timestamp) -> String? {
        let shown = abbreviation(at: date)
        guard table.abbreviations.contains(name), shown != name else { return nil }
        return "'\(name)' is a zone with summer time; the date is \(localTime(at: date)) \(shown)"
    }

    /// A fixed offset: "+02:00", "+0200" or "+02".
    init?(offset text: String) {
        var reader = DigitReader(text.utf8)
        let isEast = reader.skip("+")
        guard isEast || reader.skip("-"), let hours = reader.number(digits: 2) else { return nil }
        var minutes = 0
        if !reader.isAtEnd {
            _ = reader.skip(":")
            guard let number = reader.number(digits: 2) else { return nil }
            minutes = number
        }
        guard reader.isAtEnd, hours <= 23, minutes <= 59 else { return nil }
        let seconds = Int32(hours * 3600 + minutes * 60)
        self.init(
            table: ZoneTable(name: text, offset: isEast ? seconds : -seconds, abbreviation: text)
        )
    }
}
