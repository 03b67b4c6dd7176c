// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import TimerControl
import TimerWords

/// What a path means.
enum Route: Hashable, Sendable {
    case now, calendar, calendarDates, jobs, runs, queues, doctor, events, add
    case job(JobID)
    case change(JobID)
    case run(RunID)
    /// A run's output as a file.
    case output(RunID)
    /// The same while it is written.
    case outputStream(RunID)
    case queue(String)
    case actOnJobs
    case actOnJob(JobID, JobAction)
    case actOnRun(RunID, RunAction)
    case actOnQueue(String, QueueAction)

    /// Nil for a path that means nothing.
    init?(_ path: [String]) {
        switch path.count {
        case 0: self = .now
        case 1:
            guard let route = Self.first[path[0]] else { return nil }
            self = route
        case 2: self.init(path[0], path[1])
        case 3: self.init(path[0], path[1], path[2])
        case 4:
            guard path[0] == "runs", path[2] == "output", path[3] == "stream",
                let id = RunID(path[1])
            else { return nil }
            self = .outputStream(id)
        default: return nil
        }
    }

    private static let first: [String: Self] = [
        "calendar": .calendar, "jobs": .jobs, "runs": .runs, "queues": .queues, "doctor": .doctor,
        "events": .events, "add": .add,
    ]

    private init?(_ folder: String, _ name: String) {
        switch (folder, name) {
        case ("calendar", "dates"): self = .calendarDates
        case ("jobs", "act"): self = .actOnJobs
        case ("queues", let name) where !name.isEmpty: self = .queue(name)
        case ("jobs", let text):
            guard let id = JobID(text) else { return nil }
            self = .job(id)
        case ("runs", let text):
            guard let id = RunID(text) else { return nil }
            self = .run(id)
        default: return nil
        }
    }

    private init?(_ folder: String, _ name: String, _ verb: String) {
        switch folder {
        case "jobs":
            guard let id = JobID(name) else { return nil }
            if verb == "change" {
                self = .change(id)
            } else {
                guard let action = JobAction(rawValue: verb) else { return nil }
                self = .actOnJob(id, action)
            }
        case "runs":
            guard let id = RunID(name) else { return nil }
            if verb == "output.txt" {
                self = .output(id)
            } else {
                guard let action = RunAction(rawValue: verb) else { return nil }
                self = .actOnRun(id, action)
            }
        case "queues":
            guard let action = QueueAction(rawValue: verb) else { return nil }
            self = .actOnQueue(name, action)
        default: return nil
        }
    }

    /// Where it stands in the navigation.
    var section: Page.Section? {
        switch self {
        case .now: .now
        case .calendar, .calendarDates: .calendar
        case .jobs, .job, .change, .actOnJobs, .actOnJob, .add: .jobs
        case .runs, .run, .output, .outputStream, .actOnRun: .runs
        case .queues, .queue, .actOnQueue: .queues
        case .doctor: .doctor
        case .events: nil
        }
    }

    /// Whether it can be asked for, by a link; and whether a form may be sent to it.
    var methods: (get: Bool, post: Bool) {
        switch self {
        case .add, .change, .actOnJob, .actOnRun, .actOnQueue: (true, true)
        case .actOnJobs: (false, true)
        default: (true, false)
        }
    }

    /// Whether a form only asks what it would do, and so changes nothing.
    func isTry(_ form: [Link.Field]) -> Bool {
        switch self {
        case .add, .change: form.first { $0.name == "do" }?.value == "preview"
        default: false
        }
    }

    /// What is accepted for it, as an answer names it.
    ///
    /// A stream has no head of its own: it would be begun for that.
    var allowed: [HTTPRequest.Method] {
        switch self {
        case .events, .output, .outputStream: [.get]
        default: (methods.get ? [.get, .head] : []) + (methods.post ? [.post] : [])
        }
    }
}

/// What may be done with a job; the raw value is the last part of the path.
enum JobAction: String, Hashable, Sendable, CaseIterable {
    case fire, pause, resume, skip, move, end, undo
    /// Undoes a change.
    case revert
}

enum RunAction: String, Hashable, Sendable, CaseIterable {
    case kill, retry
}

enum QueueAction: String, Hashable, Sendable, CaseIterable {
    case pause, resume, kick, retry, drop, limit
    /// What is done with the tasks that were chosen.
    case tasks

    /// What undoes it; nil where nothing does.
    var opposite: Self? {
        switch self {
        case .pause: .resume
        case .resume: .pause
        case .kick, .retry, .drop, .limit, .tasks: nil
        }
    }
}

extension Identifier {
    /// A number from 1, in digits; nil for anything else.
    init?(_ text: some StringProtocol) {
        guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let number = Int64(text), number > 0
        else { return nil }
        self.init(rawValue: number)
    }
}
