// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// What was done to jobs since they were added that their definitions do not say, and the URLs, which no reply shows whole: a
/// file or a copy has none of it.
struct UnstatedHistory {
    /// Those whose next date is not their schedule's.
    private(set) var otherDates: [Job] = []
    /// Those that have fired some of the times that they are to fire.
    private(set) var counted: [Job] = []
    /// Those that have URLs, which stand in a file as marks.
    private(set) var marked: [Job] = []

    init(_ jobs: [Job], now: Timestamp, zone: Zone) {
        otherDates = jobs.filter { $0.hasOtherNextDate(now: now, zone: zone) }
        counted = jobs.filter { $0.definition.count != nil && $0.fires > 0 }
        marked = jobs.filter { !$0.definition.optionsWithHiddenURLs.isEmpty }
    }

    /// What a file does not say, in a line for all jobs of which it is so.
    var notes: [String] {
        [
            ("that the next date was moved, or dates ahead were dropped", otherDates),
            ("how many fires of a count there have been", counted),
            ("the whole URLs of notify and ping, without which no other daemon takes it", marked),
        ]
        .filter { !$0.1.isEmpty }
        .map { "the file does not say \($0): \(Self.list($1))" }
    }

    /// "job 4", "jobs 4, 7, 9", "jobs 1, 2, 3, 4, 5, 6, 7, 8 and 92 more".
    private static func list(_ jobs: [Job]) -> String {
        let shown = jobs.count > 10 ? 8 : jobs.count
        let ids = jobs.map(\.id).sorted().prefix(shown).map { "\($0)" }.joined(separator: ", ")
        let more = jobs.count > shown ? " and \(jobs.count - shown) more" : ""
        return "\(jobs.count == 1 ? "job" : "jobs") \(ids)\(more)"
    }
}

extension Job {
    /// Whether the next date of a job that repeats is another than its schedule gives: its grid or that date was moved, or
    /// dates ahead were dropped.
    ///
    /// The grid of an interval without a first date is known to the daemon alone: of that one only a date counts which lies
    /// further ahead than the interval.
    func hasOtherNextDate(now: Timestamp, zone: Zone) -> Bool {
        guard !firesOnce, let date = fireDate else { return false }
        if movedFrom != nil { return true }
        let next: Timestamp?
        // A date that has come, as of a job that is paused, is to be one of the schedule's.
        let start = min(now, date - TimeSpan(microseconds: 1))
        if let every = definition.schedule.every {
            // try?: an interval that cannot be read here is told by who reads it.
            guard let interval = try? TimeSpan(parsing: every) else { return false }
            guard let from = definition.schedule.from else { return date > now + interval }
            guard let first = Timestamp(rfc3339: from) else { return false }
            next = IntervalGrid(first: first, interval: interval).nextFireDate(after: start)
        } else {
            guard let schedule = schedule(in: zone) else { return false }
            next = schedule.nextFireDate(after: start)
        }
        return next != date
    }

    /// What of that goes, in a sentence, where the job becomes `new`, with other dates; nil where nothing does.
    ///
    /// `isTrial`: it would become that.
    func lostDates(
        as new: JobDefinition,
        now: Timestamp,
        zone: Zone,
        isTrial: Bool = false
    ) -> String? {
        guard !definition.hasDates(of: new, now: now, zone: zone) else { return nil }
        return lostDates(now: now, zone: zone, isTrial: isTrial)
    }

    /// The same where its dates begin anew, whatever it becomes.
    func lostDates(now: Timestamp, zone: Zone, isTrial: Bool) -> String? {
        guard hasOtherNextDate(now: now, zone: zone) else { return nil }
        let counts = isTrial ? "would count" : "counts"
        return "that its next date was moved, or dates ahead were dropped, \(counts) no more"
    }
}

extension JobDefinition {
    /// Those of notify and ping whose URLs no reply shows whole.
    var optionsWithHiddenURLs: [String] {
        [("notify", self.notify ?? []), ("ping", [self.ping ?? ""])]
            .filter { _, places in
                places.contains { if case .masked? = NoticePlace($0) { true } else { false } }
            }
            .map(\.0)
    }
}
