// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A job in the words of the command line.
extension Job {
    /// "backup", or "job 2".
    var title: String { definition.name ?? "job \(id)" }

    var isReadable: Bool { stored == nil }

    var stateWord: StateWord {
        if held != nil { return StateWord("held", .held) }
        return switch state {
        case .scheduled: StateWord("scheduled", .scheduled)
        case .paused: StateWord(maintenance ? "in maintenance" : "paused", .paused)
        case .finished: StateWord("finished", .ended)
        case .invalidated: StateWord("ended", .ended)
        }
    }

    /// Its command as it would be typed; what it is instead, if it has none.
    var action: String {
        guard isReadable else { return "cannot be read" }
        if let command = definition.command { return ShellWords.joined(command) }
        return definition.queue.map { "a task in queue '\($0)'" } ?? "an event"
    }

    /// The job's schedule; nil for a kind that only a newer daemon knows.
    func schedule(in zone: Zone) -> Schedule? {
        // try?: a schedule that cannot be read here is shown in the words in which it came.
        try? definition.schedule.schedule(anchor: fireDate ?? addedAt, zone: zone)
    }

    /// The dates after now; a moved grid, the count and the last date are taken into account.
    func comingDates(_ dates: Dates, atMost limit: Int) -> [Timestamp] {
        guard state == .scheduled, held == nil, let first = fireDate,
            let schedule = schedule(in: dates.zone)
        else { return [] }
        let left = definition.count.map { $0 - fires } ?? .max
        let last = definition.until.flatMap { Timestamp(rfc3339: $0) } ?? .distantFuture
        var coming: [Timestamp] = []
        var date = first > dates.now ? first : schedule.nextFireDate(after: dates.now)
        while let next = date, coming.count < min(left, limit), next <= last {
            coming.append(next)
            // A fire that was moved alone stands for the date it was moved away from.
            let from = next == first ? movedFrom : nil
            date = schedule.nextFireDate(after: max(next, from ?? next))
        }
        return coming
    }

    /// Why it ended, in words.
    var endSentence: String? {
        switch endReason {
        case "once": "its one date has passed"
        case "count": "it has fired as often as it was to"
        case "until": "its last date has passed"
        case "invalidated": "by request"
        case "targetGone": "what its life was tied to has gone"
        case "fired": "it was fired by hand"
        case "skipped": "its one date was dropped (skip)"
        case "missed": "its date passed without a fire"
        case "exhausted": "its schedule has no further date"
        case "replaced": "another job took its name"
        default: endReason
        }
    }
}

extension ScheduleWords {
    /// "every 5s from 2026-12-01 09:00:00 CET"; fixed dates on the reader's clock.
    func words(_ dates: Dates) -> String {
        let parts = [
            self.in.map { "in \($0)" }, at.map { "at \(dates.local($0))" },
            every.map { "every \($0)" }, from.map { "from \(dates.local($0))" },
            cron.map { "cron \($0)" }, calendar.map { "calendar \($0)" }, tz,
        ]
        return parts.compactMap(\.self).joined(separator: " ")
    }
}

extension Job {
    /// The schedule as a sentence: "at 09:00 on Monday to Friday, Europe/Berlin".
    func scheduleSentence(_ dates: Dates) -> String? {
        guard isReadable else { return nil }
        return schedule(in: dates.zone)?.explanation(in: dates.zone)
    }
}
