// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import TimerD

/// A job of a simulated year, and what was done to it: what the ledger needs to know its dates,
/// kept apart from what the daemon knows.
struct YearJob {
    let id: JobID
    let words: String
    let clock: ScheduleClock
    let until: Timestamp?
    let jitter: TimeSpan
    /// The job's clock when it was added: no date before it is the job's.
    let start: Timestamp
    /// Whether it has dates one by one, and not one alone.
    let repeats: Bool
    /// Each rule with the stretch of the job's clock that it holds for; one, unless the grid moved.
    private(set) var rules: [Rule]
    /// Where single fires were moved to.
    private(set) var moved: Set<Timestamp> = []

    struct Rule {
        var schedule: Schedule
        /// Its dates are those before this one; nil for no end.
        var end: Timestamp?
    }

    init(_ job: StoredJob, words: String, at moment: ClockReading) {
        id = job.id
        self.words = words
        clock = job.clock
        until = job.policy.until
        jitter = job.policy.jitter
        start = moment.reading(of: job.clock)
        repeats = !job.isOneShot
        rules = [Rule(schedule: job.schedule)]
    }

    /// The next fire was moved from `old` to `new`: alone, or with the grid behind it.
    ///
    /// `passed`: the last date of the old grid that had come by then, where any had; they have a row. `told`: later dates of
    /// the old grid that may have been told before a crash, and have stayed for that.
    mutating func move(
        from old: Timestamp,
        to new: Timestamp,
        passed: Timestamp? = nil,
        told: [Timestamp] = []
    ) {
        guard case .every(let grid) = rules[rules.count - 1].schedule else {
            moved.insert(new)
            return
        }
        rules[rules.count - 1].end = passed.map { $0 + TimeSpan(microseconds: 1) } ?? old
        // It stands where its event may have been told before a crash.
        moved.formUnion(
            [old] + told.filter { grid.nextFireDate(after: $0 - TimeSpan(microseconds: 1)) == $0 }
        )
        rules.append(Rule(schedule: .every(IntervalGrid(first: new, interval: grid.interval))))
    }

    /// The dates from `first` through `last`, in order; not those that single fires were moved to.
    func dates(from first: Timestamp, through last: Timestamp) -> [Timestamp] {
        var dates: Set<Timestamp> = []
        for rule in rules {
            var date = rule.schedule.nextFireDate(after: first - TimeSpan(microseconds: 1))
            while let next = date, next <= last, rule.end.map({ next < $0 }) ?? true {
                dates.insert(next)
                date = rule.schedule.nextFireDate(after: next)
            }
        }
        return dates.sorted()
    }

    /// Whether a row that begins with `first` may stand for `date`: not where they lie on two grids.
    func isDate(_ date: Timestamp, ofRowFrom first: Timestamp) -> Bool {
        guard clock == .elapsed, case .every(let grid) = rules[0].schedule else { return true }
        return (date - first).microseconds % grid.interval.microseconds == 0
    }

    // MARK: - The mix

    /// Kinds of schedules by the policies that they meet, for a year in `zone`.
    static func mix(_ zone: AwkwardZone) -> [JobDefinition] {
        func job(_ words: ScheduleWords, _ change: (inout JobDefinition) -> Void = { _ in })
            -> JobDefinition
        {
            var words = words
            if words.in == nil, words.every == nil || words.from != nil { words.tz = zone.name }
            var job = JobDefinition(schedule: words)
            change(&job)
            return job
        }
        let year = zone.year
        return [
            job(ScheduleWords(cron: "30 2 * * *")),
            job(ScheduleWords(cron: "0 0 * * *")) { ($0.misfire, $0.command) = (.skip, ["a"]) },
            job(ScheduleWords(cron: "15 */6 * * *")) {
                ($0.misfire, $0.misfireLimit) = (.all, 5)
            },
            job(ScheduleWords(cron: "*/90 */8 * * *")) {
                ($0.jitter, $0.command) = ("20min", ["b"])
            },
            job(ScheduleWords(calendar: "*-*~01 23:30:00")) { $0.misfire = .all },
            job(ScheduleWords(calendar: "Sat,Sun *-*-* 00,01,02,03:15:00")) {
                ($0.misfireAfter, $0.misfireWindow) = ("10min", "2d")
            },
            job(ScheduleWords(every: "19h")),
            job(ScheduleWords(every: "29h")) {
                ($0.misfire, $0.tolerance, $0.command) = (.skip, "1h", ["c"])
            },
            job(ScheduleWords(every: "1d", from: "\(year)-01-01 02:30")) {
                ($0.misfire, $0.misfireLimit, $0.command) = (.all, 3, ["d"])
            },
            job(ScheduleWords(every: "36h", from: "\(year)-01-03 00:00")) {
                ($0.misfireWindow, $0.jitter) = ("12h", "2h")
            },
            job(ScheduleWords(cron: "0 12 1,15 * *")) { $0.count = 10 },
            job(ScheduleWords(cron: "45 23 * * *")) {
                ($0.until, $0.misfire, $0.jitter) = ("\(year)-08-01 00:00Z", .skip, "1h")
            },
            job(ScheduleWords(in: "40d")),
            job(ScheduleWords(at: "\(year)-07-01 00:00")) { $0.command = ["e"] },
        ]
    }

    static func words(_ definition: JobDefinition) -> String {
        let words = definition.schedule
        let text = [
            words.in, words.at, words.every, words.from.map { "from \($0)" }, words.cron,
            words.calendar, definition.misfire?.rawValue, definition.jitter.map { "jitter \($0)" },
            definition.command.map { "command \($0[0])" },
        ]
        return text.compactMap(\.self).joined(separator: " ")
    }
}
