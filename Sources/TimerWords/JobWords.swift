// SPDX-License-Identifier: Apache-2.0

public import Schedules
public import TimerControl

/// A job in the words that all programs have for it.
extension Job {
    /// Whether its definition could be read.
    public var isReadable: Bool { stored == nil }

    /// What it is, to be said again with changes: `paused` only where that is what pauses it now.
    ///
    /// Said of a job that was resumed, it would pause it; left out of one that it pauses, it would resume it.
    public var restated: JobDefinition {
        var definition = definition
        if state != .paused || maintenance { definition.paused = nil }
        return definition
    }

    /// "none is kept any more; it has fired 2 times", to be said where no fire of it is there; nil where it has not fired.
    public var goneSentence: String? {
        guard fires > 0 else { return nil }
        return "none is kept any more; it has fired \(fires == 1 ? "1 time" : "\(fires) times")"
    }

    /// Why it ended, and by whom where that was not its owner; nil where that is not known.
    public var endSentence: String? { Self.endSentence(endReason, by: endedBy) }

    /// Why a job ended, of whom `by` is an administrator who is not its owner.
    public static func endSentence(_ reason: String?, by: String?) -> String? {
        let words = [reason.map { endSentence($0) }, by.map(askerWords)].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// Who has asked for what was done to a job, where that was not its owner: "by an administrator".
    public static func askerWords(_ word: String) -> String {
        word == RunStop.administrator.rawValue ? "by an administrator" : "by \(word)"
    }

    /// Why it ended, as a sentence for each word of `endReason`; an unknown word stays as it is.
    public static func endSentence(_ word: String) -> String {
        switch word {
        case "once": "its one date has passed"
        case "count": "it has fired as often as it was to"
        case "until": "its last date has passed"
        case "invalidated": "by request"
        case "targetGone": "what its life was tied to has gone"
        case "fired": "it was fired by hand"
        case "skipped": "its last date was dropped (skip)"
        case "missed": "its date passed without a fire"
        case "exhausted": "its schedule has no further date"
        case "replaced": "another job took its name"
        default: word
        }
    }
}

/// When a job fires, by its definition; no daemon is asked.
extension Job {
    /// The job's schedule; nil for a kind that only a newer daemon knows.
    public func schedule(in zone: Zone) -> Schedule? {
        // That of a date which has passed is in the words, where it is a date of the wall clock.
        let anchor = fireDate ?? definition.schedule.at.flatMap(Timestamp.init(rfc3339:)) ?? addedAt
        // try?: a schedule that cannot be read here is shown in the words in which it came.
        return try? definition.schedule.schedule(anchor: anchor, zone: zone)
    }

    /// The dates after now; a moved grid, the count and the last date are taken into account.
    ///
    /// A job that is held has none. Of the job's next date, when its fire is due, if jitter puts that off; those behind it
    /// may be put off too, as `jitterNote` says.
    ///
    /// `runs`: some of its rows; dates ahead that have one, as they were dropped, are left out.
    /// `skip`: called with each date; returns up to when further dates are left out, nil to go on with the
    /// next.
    public func comingDates(
        _ dates: LocalDate,
        until end: Timestamp = .distantFuture,
        atMost limit: Int,
        without runs: [Run] = [],
        skip: (Timestamp) -> Timestamp? = { _ in nil }
    ) -> [Timestamp] {
        guard state == .scheduled, held == nil, let first = fireDate,
            let schedule = schedule(in: dates.zone)
        else { return [] }
        let left = definition.count.map { $0 - fires } ?? .max
        let last = definition.until.flatMap { Timestamp(rfc3339: $0) } ?? .distantFuture
        let taken = runs.filter { $0.takesDates && ($0.through ?? $0.fireDate) > first }
        var coming: [Timestamp] = []
        let due = nextFire ?? first
        var date = due > dates.now ? first : schedule.nextFireDate(after: dates.now)
        while let next = date, coming.count < min(left, limit), next <= last {
            if next > first, let row = taken.first(where: { $0.covers(next, of: schedule) }) {
                date = schedule.nextFireDate(after: row.through ?? row.fireDate)
                continue
            }
            let fire = next == first ? due : next
            guard fire <= end else { break }
            coming.append(fire)
            // A fire that was moved alone stands for the date it was moved away from.
            let from = next == first ? movedFrom : nil
            date = schedule.nextFireDate(after: max(next, from ?? next, skip(fire) ?? next))
        }
        return coming
    }

    /// What its coming dates leave out; nil without jitter, and where they are none but the next one.
    public func jitterNote(of coming: [Timestamp]) -> String? {
        let hasNext = coming.first.map { $0 == nextFire } ?? false
        return coming.count > (hasNext ? 1 : 0) ? definition.jitterNote(hasNext: hasNext) : nil
    }
}

extension Run {
    /// Whether its dates fire no more: it is none by hand, and no claim.
    fileprivate var takesDates: Bool {
        state != .claimed && reason != .manual && reason != .withdrawn
    }

    /// Whether `date` of `schedule` is one of its dates; those of a grid that was moved since are others.
    fileprivate func covers(_ date: Timestamp, of schedule: Schedule) -> Bool {
        guard fireDate <= date, date <= through ?? fireDate else { return false }
        guard case .every(let grid) = schedule else { return true }
        return (date - fireDate).microseconds % grid.interval.microseconds == 0
    }
}

extension JobDefinition {
    /// What the dates that its schedule gives leave out; nil without jitter.
    ///
    /// How much each is put off hangs on the job's number and on its clock; the daemon tells it of a job's next date.
    /// `hasNext`: the first of the dates is that one.
    public func jitterNote(hasNext: Bool) -> String? {
        // try?: a duration that cannot be read is told beside its field.
        guard let jitter = words.jitter, let span = try? TimeSpan(parsing: jitter), span > .zero
        else { return nil }
        let which = hasNext ? "dates behind the first" : "these dates"
        return "\(which) are without jitter, which puts off each by less than \(jitter)"
    }

    /// What bounds its runs: "nice 5", "memory 512M".
    public var limitWords: [String] {
        let words = words
        let all = [
            words.nice.map { "nice \($0)" }, words.memoryMax.map { "memory \($0)" },
            words.memoryHigh.map { "memory slowed from \($0)" },
            words.cpuWeight.map { "processor weight \($0)" },
            words.cpuQuota.map { "processor \($0)" },
            words.tasksMax.map { "tasks \($0)" }, words.ioWeight.map { "io weight \($0)" },
            words.cpuTime.map { "processor time \($0)" }, words.umask.map { "umask \($0)" },
        ]
        return all.compactMap(\.self)
    }
}

extension ScheduleWords {
    /// "every 5s from 2026-12-01 09:00:00 CET"; fixed dates on the reader's clock.
    public func words(_ dates: LocalDate) -> String {
        let parts = [
            self.in.map { "in \($0)" }, at.map { "at \(dates.local($0))" },
            every.map { "every \($0)" }, from.map { "from \(dates.local($0))" },
            cron.map { "cron \($0)" }, calendar.map { "calendar \($0)" }, tz,
        ]
        return parts.compactMap(\.self).joined(separator: " ")
    }
}
