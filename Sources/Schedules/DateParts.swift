// SPDX-License-Identifier: Apache-2.0

/// The words of a date sorted by what they are: a day, a time, a zone.
struct DateParts {
    let text: String
    private var day: Day?
    private var weekday: Int?
    private var time: Int64?
    private var zone: ZoneWord?

    init(text: String) {
        self.text = text
    }

    private enum Day {
        case date(CivilDate)
        /// Days after today.
        case relative(Int)
    }

    private enum ZoneWord {
        case zone(Zone)
        /// A name, or an abbreviation of the default zone: which one, only the date can tell.
        case name(String)
    }

    /// Sorts the words; a time may stand before its day, a zone comes last.
    mutating func read(_ words: [String]) throws(ScheduleError) {
        for word in words {
            if zone != nil { throw notUnderstood() }
            let lower = word.lowercased()
            if let number = Self.weekday(lower) {
                if weekday != nil { throw notUnderstood() }
                weekday = number
            } else if let distance = Self.dayWords[lower] {
                try set(.relative(distance))
            } else if word.first?.isNumber == true, word.contains(":") {
                try readTime(word)
            } else if word.first?.isNumber == true {
                try set(.date(try date(word)))
            } else if day != nil || weekday != nil || time != nil {
                try readZone(word)
            } else {
                throw notUnderstood()
            }
        }
    }

    private static let dayWords = ["yesterday": -1, "today": 0, "tomorrow": 1]

    private static let weekdays = [
        "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
    ]

    /// 0 for "sun" or "sunday", and so on.
    static func weekday(_ word: String) -> Int? {
        weekdays.firstIndex { $0 == word || word.utf8.count == 3 && $0.hasPrefix(word) }
    }

    private mutating func set(_ new: Day) throws(ScheduleError) {
        if day != nil { throw notUnderstood() }
        day = new
    }

    /// "2026-12-01".
    private func date(_ word: String) throws(ScheduleError) -> CivilDate {
        var reader = DigitReader(word.utf8)
        guard let year = reader.number(digits: 4), reader.skip("-"),
            let month = reader.number(digits: 2), reader.skip("-"),
            let day = reader.number(digits: 2), reader.isAtEnd, year >= 1
        else { throw notUnderstood() }
        let date = CivilDate(year: year, month: month, day: day)
        if !date.exists {
            throw ScheduleError(.badDate, "date '\(text)': there is no day '\(word)'")
        }
        return date
    }

    /// "09:00", "09:00:30", "09:00:30.5", with "Z" or an offset directly behind it if wanted.
    private mutating func readTime(_ word: String) throws(ScheduleError) {
        if time != nil { throw notUnderstood() }
        let end = word.utf8.firstIndex { "Zz+-".utf8.contains($0) } ?? word.endIndex
        if end != word.endIndex { try readZone(String(word[end...])) }
        var reader = DigitReader(word.utf8[..<end])
        guard let hour = reader.number(upTo: 99), reader.skip(":"),
            let minute = reader.number(digits: 2)
        else { throw notUnderstood() }
        var second = 0
        var fraction = 0
        if reader.skip(":") {
            guard let number = reader.number(digits: 2) else { throw notUnderstood() }
            second = number
            if reader.skip(".") {
                guard let digits = reader.fraction() else { throw notUnderstood() }
                fraction = digits
            }
        }
        guard reader.isAtEnd else { throw notUnderstood() }
        guard hour <= 23, minute <= 59, second <= 59 else {
            throw ScheduleError(
                .badDate,
                "date '\(text)': there is no time '\(word)'; times are 00:00 to 23:59:59"
            )
        }
        time = Int64(hour * 3600 + minute * 60 + second) * 1_000_000 + Int64(fraction)
    }

    private mutating func readZone(_ word: String) throws(ScheduleError) {
        if zone != nil { throw notUnderstood() }
        if word == "Z" || word == "z" {
            zone = .zone(.utc)
        } else if word.first == "+" || word.first == "-" {
            guard let fixed = Zone(offset: word) else { throw notUnderstood() }
            zone = .zone(fixed)
        } else {
            zone = .name(word)
        }
    }

    /// The instant, and a note when the local time does not exist or comes twice.
    func resolve(
        now: Timestamp,
        zone standard: Zone
    ) throws(ScheduleError) -> (date: Timestamp, note: String?) {
        var zone = standard
        var abbreviation: String?
        switch self.zone {
        case .zone(let fixed): zone = fixed
        case .name(let name) where standard.table.abbreviations.contains(name): abbreviation = name
        case .name(let name): zone = try Zone(inDatabase: name)
        case nil: break
        }
        let days = try candidateDays(today: zone.localTime(at: now).date)
        guard let time = time ?? midnightOfDate else {
            throw ScheduleError(
                .badDate,
                "date '\(text)' has no time; try '\(text) 09:00'"
            )
        }
        for day in days {
            let local = LocalTime(day, microsecondOfDay: time)
            var (date, note): (Timestamp, String?)
            if let abbreviation {
                (date, note) = try named(abbreviation, local, in: zone)
            } else {
                (date, note) = zone.chosen(local)
                if case .name(let name) = self.zone { note = note ?? zone.outOfSeason(name, date) }
            }
            // If there is one candidate it is meant, even in the past; of several, the next is meant.
            if days.count == 1 || date > now { return (date, note) }
        }
        throw notUnderstood()
    }

    /// A day alone means its midnight; other words need a time.
    private var midnightOfDate: Int64? {
        if case .date = day { return 0 }
        return nil
    }

    /// The days the words can mean, in order.
    private func candidateDays(today: CivilDate) throws(ScheduleError) -> [CivilDate] {
        let first = today.daysSince1970
        switch day {
        case .date(let date):
            if let weekday, weekday != CivilDate.weekday(daysSince1970: date.daysSince1970) {
                throw ScheduleError(
                    .badDate,
                    "date '\(text)': that day is not a \(Phrase.weekdayNames[weekday])"
                )
            }
            return [date]
        case .relative(let distance):
            if weekday != nil { throw notUnderstood() }
            return [CivilDate(daysSince1970: first + distance)]
        case nil:
            // A week and a day reach the next such day even if today's time has passed; a third
            // week is for zones that skipped a day.
            return (0...15).map { first + $0 }
                .filter { weekday == nil || CivilDate.weekday(daysSince1970: $0) == weekday }
                .map(CivilDate.init(daysSince1970:))
        }
    }

    /// The instant at which the local time has that abbreviation.
    private func named(
        _ abbreviation: String,
        _ local: LocalTime,
        in zone: Zone
    ) throws(ScheduleError) -> (Timestamp, String?) {
        let instants: [Timestamp]
        switch zone.resolve(local) {
        case .unique(let date): instants = [date]
        case .gap: instants = []
        case .repeated(let first, let second): instants = [first, second]
        }
        if let match = instants.first(where: { zone.abbreviation(at: $0) == abbreviation }) {
            return (match, nil)
        }
        // Outside its season an abbreviation may still be a zone of its own, as "EST" is.
        let other = try Zone(inDatabase: abbreviation)
        let (date, note) = other.chosen(local)
        return (date, note ?? other.outOfSeason(abbreviation, date))
    }

    private func notUnderstood() -> ScheduleError {
        ScheduleError(
            .badDate,
            "date '\(text)' is not understood; accepted are RFC 3339, '2026-12-01 09:00:30', "
                + "'09:00', 'tomorrow 09:00', 'mon 09:00' (a zone such as 'Europe/Berlin' may "
                + "follow), '+10m' and '@1700000000'"
        )
    }
}

extension LocalTime {
    var date: CivilDate {
        CivilDate(daysSince1970: Int(floorDivide(microseconds, by: 86_400_000_000).quotient))
    }
}

extension Zone {
    /// The instant the daylight saving rule chooses for a local time, and a note if there was a
    /// choice.
    fileprivate func chosen(_ local: LocalTime) -> (Timestamp, String?) {
        let resolution = resolve(local)
        let date = resolution.date
        let taken = "\(localTime(at: date)) \(abbreviation(at: date))"
        switch resolution {
        case .unique: return (date, nil)
        case .gap: return (date, "\(local) does not exist in \(name); it becomes \(taken)")
        case .repeated:
            return (date, "\(local) comes twice in \(name); it becomes the first, \(taken)")
        }
    }

    /// A note if this zone, such as "CET", has another abbreviation than its name at `date`.
    fileprivate func outOfSeason(_ name: String, _ date: Timestamp) -> String? {
        let shown = abbreviation(at: date)
        guard table.abbreviations.contains(name), shown != name else { return nil }
        return "'\(name)' is a zone with summer time; the date is \(localTime(at: date)) \(shown)"
    }

    /// A fixed offset: "+02:00", "+0200" or "+02".
    fileprivate init?(offset text: String) {
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
