// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

/// A grid of 10 s from second 0; dates are written as seconds.
@Suite("MisfirePolicy")
struct MisfirePolicyTests {
    static let grid = Schedule.every(
        IntervalGrid(first: second(0), interval: .seconds(10))
    )

    static func second(_ second: Int64) -> Timestamp {
        Timestamp(microseconds: second * 1_000_000)
    }

    /// What a resolution came to, in seconds: "skip 0-20 x3 coalesced; fire 30 +3".
    static func text(_ resolution: MisfirePolicy.Resolution) -> String {
        let skipped = resolution.skipped.map { dates in
            let (first, last) = (
                dates.first.microseconds / 1_000_000, dates.last.microseconds / 1_000_000
            )
            return "skip \(first)-\(last) x\(dates.count) \(dates.reason.rawValue)"
        }
        let fire = resolution.fire.map {
            ["fire \($0.date.microseconds / 1_000_000) +\($0.missed)"]
        }
        return (skipped + (fire ?? [])).joined(separator: "; ")
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var mode: JobDefinition.Misfire
        var after: Int64 = 60
        var window: Int64?
        var limit = 100
        var now: Int64
        var until: Int64?
        var result: String

        var testDescription: String {
            "\(mode) after \(after) window \(window ?? -1) limit \(limit) at \(now)"
        }
    }

    static let rows: [Row] = [
        // On time and late: no policy is asked.
        Row(mode: .once, now: 0, result: "fire 0 +0"),
        Row(mode: .skip, now: 9, result: "fire 0 +0"),
        Row(mode: .all, now: 9, result: "fire 0 +0"),
        // The latest is late, those before it are missed.
        Row(mode: .once, now: 35, result: "skip 0-20 x3 coalesced; fire 30 +3"),
        Row(mode: .skip, now: 35, result: "skip 0-20 x3 misfire; fire 30 +0"),
        Row(mode: .all, now: 35, result: "fire 0 +1"),
        // The latest is too old to be late: it is missed as well.
        Row(mode: .once, after: 2, now: 35, result: "skip 0-20 x3 coalesced; fire 30 +4"),
        Row(mode: .skip, after: 2, now: 35, result: "skip 0-30 x4 misfire"),
        Row(mode: .all, after: 2, now: 35, result: "fire 0 +1"),
        Row(mode: .once, after: 2, now: 5, result: "fire 0 +1"),
        Row(mode: .skip, after: 2, now: 5, result: "skip 0-0 x1 misfire"),
        Row(mode: .all, after: 2, now: 5, result: "fire 0 +1"),
        // Exactly as old as may be.
        Row(mode: .skip, after: 5, now: 35, result: "skip 0-20 x3 misfire; fire 30 +0"),
        // What is older than the window is not made up for.
        Row(
            mode: .once,
            window: 20,
            now: 35,
            result: "skip 0-10 x2 misfireWindow; skip 20-20 x1 coalesced; fire 30 +1"
        ),
        Row(
            mode: .once,
            after: 2,
            window: 3,
            now: 35,
            result: "skip 0-30 x4 misfireWindow"
        ),
        Row(
            mode: .once,
            after: 2,
            window: 3,
            now: 30,
            result: "skip 0-20 x3 misfireWindow; fire 30 +0"
        ),
        Row(mode: .all, window: 20, now: 35, result: "skip 0-10 x2 misfireWindow; fire 20 +1"),
        Row(
            mode: .skip,
            window: 20,
            now: 35,
            result: "skip 0-10 x2 misfireWindow; skip 20-20 x1 misfire; fire 30 +0"
        ),
        // `all` makes up for the newest, and the late one is not counted among them.
        Row(
            mode: .all,
            limit: 2,
            now: 55,
            result: "skip 0-20 x3 misfireLimit; fire 30 +1"
        ),
        Row(
            mode: .all,
            after: 2,
            limit: 2,
            now: 55,
            result: "skip 0-30 x4 misfireLimit; fire 40 +1"
        ),
        Row(
            mode: .all,
            after: 2,
            limit: 1,
            now: 55,
            result: "skip 0-40 x5 misfireLimit; fire 50 +1"
        ),
        Row(mode: .all, limit: 1, now: 55, result: "skip 0-30 x4 misfireLimit; fire 40 +1"),
        // As many as it makes up for: none of them is dropped.
        Row(mode: .all, limit: 2, now: 25, result: "fire 0 +1"),
        Row(mode: .all, after: 2, limit: 3, now: 25, result: "fire 0 +1"),
        // Dates end with `until`.
        Row(mode: .once, now: 95, until: 30, result: "skip 0-20 x3 coalesced; fire 30 +4"),
        Row(mode: .skip, now: 95, until: 30, result: "skip 0-30 x4 misfire"),
    ]

    @Test("Each passed date is a fire or skipped with its reason", arguments: rows)
    func settles(_ row: Row) {
        let policy = MisfirePolicy(
            mode: row.mode,
            limit: row.limit,
            after: .seconds(row.after),
            window: row.window.map(TimeSpan.seconds)
        )
        let resolution = policy.resolve(
            JobDates(Self.grid),
            from: Self.second(0),
            until: row.until.map(Self.second),
            at: Self.second(row.now)
        )
        #expect(Self.text(resolution) == row.result)
    }

    @Test("Under 'all', settling again and again fires each missed date once, oldest first")
    func allInOrder() {
        let policy = MisfirePolicy(mode: .all, limit: 3)
        var date = Self.second(0)
        var told: [String] = []
        while date <= Self.second(55) {
            let resolution = policy.resolve(JobDates(Self.grid), from: date, at: Self.second(55))
            told.append(Self.text(resolution))
            date = Self.grid.nextFireDate(after: resolution.fire?.date ?? date) ?? .distantFuture
        }
        #expect(
            told == [
                "skip 0-10 x2 misfireLimit; fire 20 +1", "fire 30 +1", "fire 40 +1", "fire 50 +0",
            ]
        )
    }

    @Test(
        "The dates that 'all' makes up for are counted and not walked through, which takes minutes here",
        .timeLimit(.minutes(1))
    )
    func manyMadeUpFor() throws {
        let dates = JobDates(.cron(try CronExpression(parsing: "* * * * * *", zone: .utc)))
        let policy = MisfirePolicy(mode: .all, limit: 200_000_000)
        let resolution = policy.resolve(
            dates,
            from: Self.second(0),
            at: Self.second(300_000_000)
        )
        #expect(
            Self.text(resolution)
                == "skip 0-99999999 x100000000 misfireLimit; fire 100000000 +1"
        )
    }

    @Test(
        "A date is not missed for the time by which its fire may be put off",
        arguments: [false, true]
    )
    func tolerance(isShort: Bool) {
        var policy = MisfirePolicy(mode: .skip, after: .seconds(1))
        policy.tolerance = .seconds(3)
        // Nor does it expire within that.
        if isShort { policy.window = .zero }
        func result(at second: Int64) -> String {
            let dates = JobDates(.once(Self.second(0)))
            return Self.text(policy.resolve(dates, from: Self.second(0), at: Self.second(second)))
        }
        #expect(result(at: 3) == "fire 0 +0")
        #expect(result(at: 4) == (isShort ? "skip 0-0 x1 misfireWindow" : "fire 0 +0"))
        #expect(result(at: 5) == "skip 0-0 x1 misfire\(isShort ? "Window" : "")")
    }

    @Test(
        "A date that was claimed is refused once it is too old for its window, or missed under 'skip'",
        arguments: [
            (.skip, nil, 63, nil), (.skip, nil, 64, .misfire), (.once, nil, 1000, nil),
            (.all, nil, 1000, nil), (.once, 20, 23, nil), (.once, 20, 24, .misfireWindow),
            (.skip, 20, 23, nil), (.skip, 20, 24, .misfireWindow), (.skip, 90, 70, .misfire),
        ] as [(JobDefinition.Misfire, Int64?, Int64, FireReason?)]
    )
    func refusal(mode: JobDefinition.Misfire, window: Int64?, late: Int64, reason: FireReason?) {
        var policy = MisfirePolicy(mode: mode, window: window.map(TimeSpan.seconds))
        policy.tolerance = .seconds(3)
        #expect(policy.refusal(ofDue: Self.second(10), at: Self.second(10 + late)) == reason)
    }

    @Test("The window counts from when a date was due, behind its jitter")
    func windowWithJitter() throws {
        let date = Self.second(0)
        var dates = JobDates(.once(date))
        dates.jitter = .seconds(1000)
        let due = dates.due(date)
        try #require(due > date)
        let policy = MisfirePolicy(after: .seconds(1), window: .seconds(20))
        let last = due + .seconds(20)
        #expect(Self.text(policy.resolve(dates, from: date, at: last)) == "fire 0 +1")
        let later = policy.resolve(dates, from: date, at: last + TimeSpan(microseconds: 1))
        #expect(Self.text(later) == "skip 0-0 x1 misfireWindow")
    }

    @Test("Two weeks of a date every 5 s are settled by arithmetic")
    func longGap() {
        let grid = Schedule.every(IntervalGrid(first: Self.second(0), interval: .seconds(5)))
        let now = Self.second(14 * 86_400 + 2)
        let resolution = MisfirePolicy().resolve(JobDates(grid), from: Self.second(0), at: now)
        #expect(resolution.fire?.missed == 14 * 86_400 / 5)
        #expect(resolution.skipped.map(\.count) == [14 * 86_400 / 5])
    }
}
