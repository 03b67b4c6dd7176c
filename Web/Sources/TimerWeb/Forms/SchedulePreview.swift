// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What a schedule means: words, dates, and what is to be known of them.
struct SchedulePreview: Sendable {
    var sentence = ""
    var coming: [Timestamp] = []
    var notes: [String] = []
    var conflict: String?
    /// Why there is no schedule.
    var error: String?

    private static let count = 5
    /// How many dates are looked at for one that daylight saving moves.
    private static let looked = 400

    /// What a definition means.
    ///
    /// `job`: the job that is changed: with the schedule that it has, it keeps its dates.
    /// `runs`: some of its rows; dates ahead that have one, as they were dropped, are left out.
    init(
        _ definition: JobDefinition,
        of job: Job?,
        _ times: RunTimes,
        _ dates: LocalDate,
        without runs: [Run] = []
    ) {
        if var job, job.definition.schedule == definition.schedule {
            // Another jitter puts off the next date by another time.
            let isPutOff = job.definition.jitter == definition.jitter
            if !isPutOff { job.dueDate = nil }
            sentence = job.scheduleSentence(dates) ?? ""
            coming = job.comingDates(dates, atMost: Self.count, without: runs)
            conflict = times.conflict(definition, coming)
            let note =
                isPutOff ? job.jitterNote(of: coming) : definition.jitterNote(hasNext: false)
            if !coming.isEmpty { notes += [note].compactMap(\.self) }
            return
        }
        do throws(ScheduleError) {
            let resolved = try definition.schedule.resolve(now: dates.now, zone: dates.zone)
            try resolved.requireFuture(after: dates.now)
            let schedule = resolved.schedule
            sentence = schedule.explanation(in: dates.zone)
            notes = resolved.notes
            var all: [Timestamp] = []
            var date = resolved.firstFireDate
            // With other dates its count begins anew.
            let most = min(Self.looked, definition.count ?? .max)
            let last = definition.until.flatMap { Timestamp(rfc3339: $0) } ?? .distantFuture
            while let next = date, all.count < most, next <= last {
                all.append(next)
                date = schedule.nextFireDate(after: next)
            }
            coming = Array(all.prefix(Self.count))
            conflict = times.conflict(definition, coming)
            if let moved = all.first(where: { ClockChange.words($0, of: schedule, dates) != nil }),
                let words = ClockChange.words(moved, of: schedule, dates)
            {
                notes.append("\(dates.shortDay(moved)): \(words)".asSentence)
            }
            if !coming.isEmpty {
                notes += [definition.jitterNote(hasNext: false)].compactMap(\.self)
            }
            if schedule == .reboot { notes.append("It fires at each start of the machine.") }
        } catch {
            self.error = error.message
        }
    }
}
