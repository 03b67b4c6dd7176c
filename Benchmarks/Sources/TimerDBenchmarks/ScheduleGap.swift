// SPDX-License-Identifier: Apache-2.0

import Schedules

/// Two weeks of a 5 s job without a daemon, as a misfire policy asks for their dates.
///
/// The policy itself is the daemon's and decides by these dates alone: how many there are, and the
/// newest few.
struct ScheduleGap: Sendable {
    var kind: ScheduleCase.Kind
    var expression: String
    var policy: String
    var newest: Int

    static let all: [ScheduleGap] = [
        (ScheduleCase.Kind.every, "5s"), (.cron, "*/5 * * * * *"), (.calendar, "*:*:0/5"),
    ].flatMap { kind, expression in
        // Two for once and skip; for all its limit of 100, the late one, and one too old to fire.
        [("once or skip", 2), ("all, limit 100", 102)].map { policy, newest in
            ScheduleGap(kind: kind, expression: expression, policy: policy, newest: newest)
        }
    }

    func figure(rounds: Int, seconds: Double) throws -> Figure {
        let times = try (0..<rounds).map { _ in try time(seconds: seconds) }
        return Figure("\(kind) '\(expression)', \(policy)", over: times, .microseconds)
            .expecting("within 1 ms", Samples(times).median < 1000)
    }

    /// Processor time of one gap, in µs.
    private func time(seconds: Double) throws -> Double {
        let zone = "Europe/Berlin"
        let schedule = try ScheduleCase(kind: kind, expression: expression, zone: zone, dates: 1)
            .schedule()
        let first = ScheduleCase.start
        let now = first + .seconds(14 * 86_400)
        // To read the clock takes longer than some of them.
        let gapsInPart = 100
        var gaps = 0
        return try Clock.processorTime(atLeast: seconds) {
            for _ in 0..<gapsInPart {
                let passed = schedule.passedDates(from: first, through: now, newest: newest)
                guard passed.count == 14 * 17_280 + 1, passed.newest.count == newest else {
                    throw BenchmarkError("\(passed.count) dates of '\(expression)' in two weeks")
                }
            }
            gaps += gapsInPart
        } * 1e6 / Double(gaps)
    }
}
