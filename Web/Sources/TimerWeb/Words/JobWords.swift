// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// A job in the words of the command line.
extension Job {
    /// "backup", or "job 2".
    var title: String { definition.name ?? "job \(id)" }

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

    /// Why no form can change it, as a message; nil for one that can be changed.
    var reasonNotToChange: String? {
        if !isReadable {
            return
                "the definition of job \(id) cannot be read here, and a form would leave out what it does not show"
        }
        guard definition.isTied else { return nil }
        return
            "job \(id) is tied to a process or a connection and ends with that: it cannot be changed"
    }
}

extension Job {
    /// The schedule as a sentence: "at 09:00 on Monday to Friday, Europe/Berlin".
    ///
    /// The date of a length of time is not known any more once it has passed: it counts from the last change.
    func scheduleSentence(_ dates: LocalDate) -> String? {
        guard isReadable, definition.schedule.in == nil || fireDate != nil else { return nil }
        return schedule(in: dates.zone)?.explanation(in: dates.zone)
    }
}
