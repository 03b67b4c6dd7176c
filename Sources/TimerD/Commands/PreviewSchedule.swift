// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

extension CommandHandler {
    /// `schedule.preview`: the coming dates of a schedule, without a job.
    func previewSchedule(_ request: PreviewSchedule) throws(ControlError) -> Answer {
        // Takes `after` for now: a length of time counts from there, and so does "tomorrow".
        var now = clock.now().wall
        var notes: [String] = []
        if let text = request.after {
            let (date, note) = try reading(text) { [now] text throws(ScheduleError) in
                try DateExpression.parse(text, now: now, zone: .local)
            }
            now = date
            notes += [note].compactMap(\.self)
        }
        let resolved: ResolvedSchedule
        do {
            resolved = try request.schedule.resolve(now: now, zone: .local)
        } catch {
            throw ControlError(error)
        }
        var dates: [Timestamp] = []
        let schedule = resolved.schedule
        // One of `in` "0s" is now.
        let first = resolved.firstFireDate.flatMap { $0 < now ? nil : $0 }
        var coming = first ?? schedule.nextFireDate(after: now)
        while dates.count < request.count ?? 5, let date = coming {
            dates.append(date)
            coming = schedule.nextFireDate(after: date)
        }
        notes += resolved.notes
        do throws(ScheduleError) {
            try resolved.requireFuture(after: now)
        } catch {
            notes.append(error.message)
        }
        return PreviewReply(fireDates: dates, notes: notes.isEmpty ? nil : notes)
    }
}
