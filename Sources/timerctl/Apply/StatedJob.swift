// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a job is stated to be; of one that cannot be read, as much of what is stored as is understood here.
struct StatedJob {
    private(set) var definition: JobDefinition
    /// The stored fields that are not understood, by name: of a newer version, or damaged.
    private(set) var unknown: [String] = []
    /// Whether the daemon has told what is stored in place of the definition; userInfo is not among it.
    let isUnread: Bool

    init(_ job: Job) {
        definition = job.definition
        // What holds a job may be a row of its fires: its definition is told whole then.
        isUnread = job.stored != nil && job.definition.schedule == ScheduleWords()
        guard isUnread, let stored = job.stored else { return }
        guard case .object(let members) = stored else {
            unknown = ["definition"]
            return
        }
        for (name, value) in members where name != "name" && name != "schedule" {
            state(JobOption(field: name), name, value)
        }
        if case .object(let words)? = members["schedule"] {
            for (word, value) in words {
                let option = JobOption(rawValue: word)
                state(option?.isOfSchedule == true ? option : nil, word, value)
            }
        } else {
            unknown.append("schedule")
        }
        unknown.sort()
    }

    /// "'onlyIf' and 'lunar'"; nil where all is understood.
    var unknownWords: String? {
        unknown.isEmpty ? nil : unknown.map { "'\($0)'" }.joined(separator: " and ")
    }

    private mutating func state(_ option: JobOption?, _ name: String, _ value: JSONValue) {
        if case .null = value { return }
        do {
            guard let option else { return unknown.append(name) }
            try definition.set(option, try option.value(of: value))
        } catch {
            unknown.append(name)
        }
    }
}

extension Job {
    /// The label of the job.
    var label: String? {
        StatedJob(self).definition.tags?.first { $0.hasPrefix(Label.prefix) }
            .map { String($0.dropFirst(Label.prefix.count)) }
    }

    /// - Throws: 1 for a job of which not all is told: nothing of the rest could be kept.
    func requireTold() throws(Failure) {
        guard StatedJob(self).isUnread else { return }
        throw Failure(
            .refused,
            "\(title) cannot be changed or copied, as not all of it is known: "
                + (held ?? "it cannot be read")
        )
    }
}
