// SPDX-License-Identifier: Apache-2.0

/// What the words of a date say: a day, a time, a zone, and what is added.
struct DateParts {
    let text: String
    var day: Day?
    /// 0 for Sunday.
    var weekday: Int?
    /// Whether "next" stands before the weekday, so that today is none.
    var isNextWeekday = false
    /// µs of the day.
    var time: Int64?
    var zone: ZoneWord?
    var increment: DateIncrement?

    init(text: String) {
        self.text = text
    }

    /// What is added to the day and the time of now.
    init(text: String, adding increment: DateIncrement, to now: Timestamp, zone: Zone) {
        self.text = text
        let local = zone.localTime(at: now).microseconds
        (day, time) = (.relative(0), floorDivide(local, by: 86_400_000_000).remainder)
        self.increment = increment
    }

    enum Day {
        /// Year, month and day; alone it is its midnight if it is written as "2026-12-24".
        case date(CivilDate, isISO: Bool)
        /// The next day of that name.
        case inYear(month: Int, day: Int)
        /// Days after today.
        case relative(Int)
        /// The same day so many months from now.
        case months(Int)
    }

    enum ZoneWord {
        case zone(Zone)
        /// A name, or an abbreviation of the default zone: which one, only the date can tell.
        case name(String)
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
        let today = zone.localTime(at: now).date
        let days = try candidateDays(today: today)
        // Without a time it would be now, or in a year's time, which at(1) does not mean.
        if isByItsName, days[0] == today, time == nil, increment == nil { throw noTime() }
        let (time, timeNote) = try timeOfDay(zone.localTime(at: now))
        // If there is one candidate it is meant, even in the past; of several, the next is meant.
        let isNextMeant = days.count > 1
        let past = isNextMeant ? now - (increment?.span ?? .zero) : .distantPast
        for day in days {
            // Of several the next is meant: whether this one exists in a month that is over does not matter.
            if isNextMeant, let increment, increment.endsBefore(today, from: day) { continue }
            let local = LocalTime(try incremented(day), microsecondOfDay: time)
            var (date, note): (Timestamp, String?)
            if let abbreviation {
                (date, note) = try named(abbreviation, local, in: zone)
            } else {
                (date, note) = zone.chosen(local, after: past)
                if case .name(let name) = self.zone { note = note ?? zone.outOfSeason(name, date) }
            }
            if let span = increment?.span {
                // The sum would end with the range of dates.
                guard span <= Timestamp.distantFuture - date else { throw tooFarAway() }
                date = date + span
            }
            guard !isNextMeant || date > now else { continue }
            let shown = "\(zone.localTime(at: date))"
            return (date, note ?? timeNote.map { "\($0), \(shown)" })
        }
        throw notUnderstood()
    }

    /// Whether it is a day of the calendar that has this time of day where none is said.
    private var isByItsName: Bool {
        switch day {
        case .inYear, .date(_, isISO: false): true
        default: false
        }
    }

    /// The time in the words, else midnight for "2026-12-24", else now's, as at(1) has it, with a note.
    private func timeOfDay(
        _ now: LocalTime
    ) throws(ScheduleError) -> (microseconds: Int64, note: String?) {
        if let time { return (time, nil) }
        switch day {
        case .date(_, isISO: true): return (0, nil)
        case .relative(...0) where increment == nil:
            // It would lie in the past, or be now.
            throw noTime()
        default:
            let time = floorDivide(now.microseconds, by: 86_400_000_000).remainder
            return (time - time % 1_000_000, "'\(text)' has no time; it is this time of day")
        }
    }

    /// The day with the months and days of the increment.
    private func incremented(_ day: CivilDate) throws(ScheduleError) -> CivilDate {
        var later = day
        if let increment {
            if increment.months > 0 { later = try self.day(day, after: increment.months) }
            later = CivilDate(daysSince1970: later.daysSince1970 + increment.days)
        }
        // A local time beyond that would be taken for the last one.
        guard later.year <= 9999 else { throw tooFarAway() }
        return later
    }

    /// The day of that number in a later month.
    private func day(_ day: CivilDate, after months: Int) throws(ScheduleError) -> CivilDate {
        let count = day.year * 12 + day.month - 1 + months
        let later = CivilDate(year: count / 12, month: count % 12 + 1, day: day.day)
        guard later.exists else {
            throw ScheduleError(
                .badDate,
                "date '\(text)': \(Phrase.monthNames[later.month - 1]) \(later.year) "
                    + "has no day \(later.day)"
            )
        }
        return later
    }

    /// The days the words can mean, in order.
    private func candidateDays(today: CivilDate) throws(ScheduleError) -> [CivilDate] {
        let first = today.daysSince1970
        switch day {
        case .date(let date, _):
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
        case .months(let months):
            if weekday != nil { throw notUnderstood() }
            return [try self.day(today, after: months)]
        case .inYear(let month, let day):
            if weekday != nil { throw notUnderstood() }
            // 29 February: eight years are between 1896 and 1904, and between 2096 and 2104.
            let days = (today.year...today.year + 8)
                .map { CivilDate(year: $0, month: month, day: day) }.filter(\.exists)
            if days.isEmpty {
                throw ScheduleError(
                    .badDate,
                    "date '\(text)': \(Phrase.monthNames[month - 1]) has no day \(day)"
                )
            }
            return days
        case nil:
            // A week and a day reach the next such day even if today's time has passed; a third
            // week is for zones that skipped a day. Today at this time is none, whatever is added to it.
            let isTodayNone = isNextWeekday || time == nil
            return ((isTodayNone ? 1 : 0)...15).map { first + $0 }
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
        let other: Zone
        do throws(ScheduleError) {
            other = try Zone(inDatabase: abbreviation)
        } catch {
            let inForce = zone.abbreviation(at: zone.resolve(local).date)
            throw ScheduleError(
                .badZone,
                "date '\(text)': '\(abbreviation)' is not in force in \(zone.name) at \(local), '\(inForce)' is; "
                    + "accepted is that, none, or an offset such as '+02:00'"
            )
        }
        let (date, note) = other.chosen(local)
        return (date, note ?? other.outOfSeason(abbreviation, date))
    }

    private func noTime() -> ScheduleError {
        ScheduleError(.badDate, "date '\(text)' has no time; try '\(text) 09:00'")
    }

    /// It lies behind the last date there is.
    func tooFarAway() -> ScheduleError {
        ScheduleError(
            .badDate,
            "date '\(text)' is too far away; the last one is '\(Timestamp.distantFuture)'"
        )
    }

    func notUnderstood() -> ScheduleError {
        ScheduleError(
            .badDate,
            "date '\(text)' is not understood; accepted are RFC 3339, '2026-12-01 09:00:30', "
                + "'09:00', '4pm + 3 days', 'tomorrow noon', 'next mon 09:00', 'Dec 24 10:00' (a "
                + "zone such as 'Europe/Berlin' may follow), '+10m' and '@1700000000'"
        )
    }
}

extension LocalTime {
    var date: CivilDate {
        CivilDate(daysSince1970: Int(floorDivide(microseconds, by: 86_400_000_000).quotient))
    }
}
