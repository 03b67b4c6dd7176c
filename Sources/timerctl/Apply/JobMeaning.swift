// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a job is, option by option, in the one form of all that mean the same.
///
/// Label and pause are not part of it: they are compared on their own.
struct JobMeaning: Hashable {
    private(set) var values: [JobOption: OptionValue] = [:]

    init(_ definition: JobDefinition, now: Timestamp, zone: Zone) {
        var definition = definition
        // try?: words that mean nothing any more differ from all others.
        if let words = try? definition.schedule.normalized(now: now, zone: zone) {
            definition.schedule = words
        }
        // An instant, however it was written.
        if let until = definition.until.flatMap(Timestamp.init(rfc3339:)) {
            definition.until = until.rfc3339
        }
        definition.tags = definition.ownTags
        for option in JobOption.inFiles where option != .paused {
            guard let value = definition[option], !value.isEmpty else { continue }
            let meaning = option.meaning(of: value)
            if meaning != option.standardInFile.map(option.meaning) { values[option] = meaning }
        }
    }
}

extension JobDefinition {
    /// Its fields as a file has them: those of the schedule among the others, and without the label.
    var fields: [String: JSONValue] {
        var words = words
        (words.name, words.tags) = (nil, ownTags)
        var fields: [String: JSONValue] = [:]
        for option in JobOption.allCases {
            fields[option.rawValue] = words[option].map { JSONValue($0) }
        }
        return fields
    }

    /// Leaves userInfo as another definition has it written, where it means the same there.
    mutating func keepUserInfo(of other: JobDefinition) {
        guard let mine = self.userInfo, let theirs = other.userInfo else { return }
        let option = JobOption.userInfo
        if option.meaning(of: .json(mine)) == option.meaning(of: .json(theirs)) {
            self.userInfo = theirs
        }
    }

    /// Its tags but for the label.
    fileprivate var ownTags: [String]? {
        let own = (self.tags ?? []).filter { !$0.hasPrefix(Label.prefix) }
        return own.isEmpty ? nil : own
    }
}
