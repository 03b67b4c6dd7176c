// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// How long runs of a job take.
struct RunTimes: Hashable, Sendable {
    var count = 0
    var average = TimeSpan.zero
    var longest = TimeSpan.zero

    /// How many rows of a job are looked at for them.
    static let most = 50

    /// Of its own command alone, and of runs that are over.
    init(_ runs: [Run]) {
        let spans = runs.compactMap { run -> TimeSpan? in
            guard run.handlerWords == nil, run.state == .done, let end = run.endedAt else {
                return nil
            }
            return run.duration(end)
        }
        count = spans.count
        guard count > 0 else { return }
        longest = spans.max() ?? .zero
        let sum = spans.reduce(0.0) { $0 + Double($1.microseconds) }
        average = TimeSpan(microseconds: Int64(sum / Double(count)))
    }

    /// What its dates and its runs do to each other; nil where they go together.
    func conflict(_ definition: JobDefinition, _ dates: [Timestamp]) -> String? {
        let gaps = zip(dates, dates.dropFirst()).map { $1 - $0 }
        guard let interval = gaps.min() else { return nil }
        if count > 0, average > interval {
            return "Its runs take \(average.roughly) on average, longer than its interval of "
                + "\(interval.roughly): while one is in progress, \(Self.consequence(definition))."
        }
        // try?: a duration that cannot be read is told beside its field.
        if let timeout = definition.timeout.flatMap({ try? TimeSpan(parsing: $0) }),
            timeout > interval
        {
            return "A run may take up to \(timeout.roughly), longer than its interval of "
                + "\(interval.roughly): while one is in progress, \(Self.consequence(definition))."
        }
        return nil
    }

    private static func consequence(_ definition: JobDefinition) -> String {
        switch definition.overlap ?? .skip {
        case .skip: "dates are skipped"
        case .queue: "one date waits, and further ones are skipped"
        case .allow: "others run beside it, ever more of them"
        case .replace: "the next date ends it"
        }
    }
}
