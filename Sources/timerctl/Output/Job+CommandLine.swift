// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// A job in the words of the command line.
extension Job {
    /// "job 2 (standup)", or "job 2".
    var title: String {
        definition.name.map { "job \(id) (\(Printable.escaped($0)))" } ?? "job \(id)"
    }

    /// Its command as it would be typed; "(event)" or "(task of mails)", and the userInfo, if it has none.
    var action: String {
        guard isReadable else { return "-" }
        if let command = definition.command { return ShellWords.joined(command) }
        let kind = definition.queue.map { "(task of \($0))" } ?? "(event)"
        return definition.userInfo.map { "\(kind) \($0.text)" } ?? kind
    }
}

extension Job {
    /// "first fire in 5 s, at 09:00:05"; counted from when the daemon added the job.
    ///
    /// Of a trial the job is not kept: no command that names it is said.
    func firstFireSentence(in zone: Zone, isTrial: Bool = false) -> String {
        if isTrial, state == .paused { return maintenance ? "paused for maintenance" : "paused" }
        if maintenance { return "paused for maintenance; '\(maintenanceEnd)' arms it" }
        if state == .paused { return "paused; 'timerctl resume \(id)' arms it" }
        guard let date = nextFire else {
            // Of a task that is due at once the write that adds the job has made the fire.
            return state == .finished ? "first fire now" : "fires when the machine starts"
        }
        let dates = LocalDate(now: addedAt, zone: zone)
        return "first fire \(dates.distance(date)), \(dates.phrase(date))"
    }
}
