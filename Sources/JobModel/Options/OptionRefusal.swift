// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// Why a value of an option is not accepted.
package struct OptionRefusal: Error, Hashable, Sendable {
    package var option: JobOption
    /// Where inside the value; nil for the whole.
    package var part: Part?
    package var problem: Problem

    package enum Part: Hashable, Sendable {
        case index(Int)
        case key(String)
    }

    package enum Problem: Hashable, Sendable {
        case wrong(found: String, accepted: String)
        /// More of something than there may be: "bytes", "tags".
        case tooMany(Int, of: String, limit: Int)
        /// Words that are no date or no duration.
        case unreadable(ScheduleError)
    }

    /// "tags[1]", "schedule.every".
    package var path: String { option.path + place }

    /// The way from the option to the part: "[1]", ".NAME"; empty for the whole.
    package var place: String {
        switch part {
        case nil: ""
        case .index(let index): "[\(index)]"
        case .key(let key): ".\(key)"
        }
    }

    /// What follows the option's name in a message: " is 0, expected a number from 1 upwards".
    package var predicate: String { predicate(expecting: "expected") }

    package func predicate(expecting word: String) -> String {
        switch problem {
        case .wrong(let found, let accepted): " is \(found), \(word) \(accepted)"
        case .tooMany(let count, let things, let limit):
            " has \(count) \(things); at most \(limit) are accepted"
        case .unreadable(let error): ": \(error.message)"
        }
    }
}

extension OptionRefusal: CustomStringConvertible {
    package var description: String { "'\(path)'\(predicate)" }
}

extension JobOption {
    /// The refusal of what was found in its place.
    package func refusal(
        of found: String,
        at part: OptionRefusal.Part? = nil,
        expecting accepted: String? = nil
    ) -> OptionRefusal {
        OptionRefusal(
            option: self,
            part: part,
            problem: .wrong(found: found, accepted: accepted ?? form.accepted)
        )
    }
}
