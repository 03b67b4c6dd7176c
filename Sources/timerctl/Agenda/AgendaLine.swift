// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// A date of a job to come, or the first of many.
struct AgendaLine: Hashable {
    var job: JobID
    var owner: String
    var name: String?
    var action: String
    var date: Timestamp
    /// The last of the dates that the line stands for, and how many these are; nil for one alone.
    var many: Many?

    struct Many: Hashable {
        var last: Timestamp
        var count: Int
        /// Whether there are more, which were not counted.
        var isCut: Bool
    }

    /// The most dates of one job that are looked at.
    static let mostDates = 1000

    /// The lines of `jobs` up to `end`, in the order of time; a job with more than `each` dates has one.
    ///
    /// `dropped`: the rows of dates ahead that do not fire, by their jobs.
    static func lines(
        of jobs: [Job],
        _ dates: LocalDate,
        until end: Timestamp,
        each: Int,
        without dropped: [JobID: [Run]] = [:]
    ) -> [AgendaLine] {
        jobs.flatMap {
            lines(of: $0, dates, until: end, each: each, without: dropped[$0.id] ?? [])
        }.sorted { ($0.date, $0.job) < ($1.date, $1.job) }
    }

    private static func lines(
        of job: Job,
        _ dates: LocalDate,
        until end: Timestamp,
        each: Int,
        without dropped: [Run]
    ) -> [AgendaLine] {
        guard job.held == nil, job.state == .scheduled else { return [] }
        var coming = job.comingDates(
            dates,
            until: end,
            atMost: mostDates + 1,
            without: dropped
        )
        // One whose date has come and that waits fires next of all.
        if let overdue = job.nextFire, overdue <= dates.now { coming.insert(overdue, at: 0) }
        let line = { date in
            AgendaLine(
                job: job.id,
                owner: job.owner,
                name: job.definition.name,
                action: job.action,
                date: date
            )
        }
        guard let first = coming.first, coming.count > each else { return coming.map(line) }
        let isCut = coming.count > mostDates
        let counted = coming.prefix(mostDates)
        var all = line(first)
        all.many = Many(last: counted[counted.count - 1], count: counted.count, isCut: isCut)
        return [all]
    }
}

extension AgendaLine {
    /// "", "once", or "288 times, the last at 08:55:00".
    func times(_ dates: LocalDate) -> String {
        guard let many else { return "" }
        if many.count == 1, !many.isCut { return "once" }
        return many.isCut
            ? "more than \(many.count) times"
            : "\(many.count) times, the last \(dates.phrase(many.last))"
    }

    /// `{"action":…,"fireDate":…,"job":…,"name":…,"owner":…,"times":…,"last":…}`.
    var json: JSONValue {
        var members: [String: JSONValue] = [
            "job": .integer(job.rawValue), "action": .string(action),
            "fireDate": .string(date.rfc3339), "owner": .string(owner),
        ]
        members["name"] = name.map { .string($0) }
        if let many {
            members["times"] = .integer(Int64(many.count))
            members["last"] = .string(many.last.rfc3339)
            members["isCut"] = many.isCut ? .bool(true) : nil
        }
        return .object(members)
    }
}
