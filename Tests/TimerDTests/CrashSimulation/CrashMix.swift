// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Jobs as a simulation's clients add them: every form of schedule, with what goes with it by chance.
enum CrashMix {
    static let onFailure = "on-failure"
    static let overlapping = "overlapping"
    static let names = ["a", "b", "c", "d"]
    static let tags = ["red", "blue"]

    /// `number`: of the definition, by which it is found again.
    static func job(_ number: Int, at now: Timestamp, _ dice: inout Dice) -> JobDefinition {
        var job = JobDefinition(schedule: schedule(at: now, &dice))
        job.userInfo = JSONText(.integer(Int64(number)))
        if dice.isTrue(0.25) { job.name = names.randomElement(using: &dice) }
        if dice.isTrue(0.3) { job.tags = [tags.randomElement(using: &dice) ?? ""] }
        if dice.isTrue(0.1) { job.paused = true }
        if dice.isTrue(0.25) {
            addQueue(to: &job, &dice)
        } else if dice.isTrue(0.6) {
            addCommand(to: &job, &dice)
        }
        addDates(to: &job, at: now, &dice)
        return job
    }

    private static func schedule(at now: Timestamp, _ dice: inout Dice) -> ScheduleWords {
        let span = dice.span(.milliseconds(1), .seconds(90))
        let text = "\(span.microseconds)us"
        return dice.pick([
            (3, ScheduleWords(in: text)),
            (2, ScheduleWords(at: (now + span).rfc3339)),
            (3, ScheduleWords(every: dice.pick([(1, "3s"), (2, "7s"), (2, "20s"), (1, "1min")]))),
            (2, ScheduleWords(every: dice.pick([(1, "300ms"), (1, "1100ms")]))),
            (1, ScheduleWords(every: "13s", from: (now - span).rfc3339)),
            (2, ScheduleWords(cron: "*/5 * * * * *", tz: "UTC")),
            (2, ScheduleWords(cron: "* * * * *", tz: "UTC")),
            (1, ScheduleWords(calendar: "*-*-* *:*:00/15", tz: "UTC")),
            (1, ScheduleWords(calendar: "*-*-* *:*:10,40", tz: "UTC")),
            (1, ScheduleWords(cron: "@reboot")),
        ])
    }

    private static func addCommand(to job: inout JobDefinition, _ dice: inout Dice) {
        job.overlap = dice.pick([
            (3, nil), (2, .queue), (2, .replace), (1, .allow),
        ])
        job.command = [job.overlap == .allow ? overlapping : "command"]
        if dice.isTrue(0.3) {
            job.retries = Int.random(in: 1...3, using: &dice)
            job.backoff = dice.pick([(1, "0s"), (2, "100ms..2s")])
        }
        if dice.isTrue(0.2) { job.onFailure = [onFailure] }
        if dice.isTrue(0.2) { job.rerunInterrupted = true }
        if dice.isTrue(0.1) { job.timeout = "5s" }
    }

    private static func addQueue(to job: inout JobDefinition, _ dice: inout Dice) {
        job.queue = CrashWorkers.queues.randomElement(using: &dice)
        job.priority = dice.pick([(3, nil), (1, -5), (2, 7)])
        job.overlap = dice.pick([(2, nil), (1, .replace), (3, .allow)])
        if dice.isTrue(0.3), job.schedule.in != nil { job.schedule.in = "0s" }
        if dice.isTrue(0.5) {
            job.retries = Int.random(in: 1...3, using: &dice)
            job.backoff = dice.pick([(1, "0s"), (2, "100ms..2s")])
        }
    }

    private static func addDates(to job: inout JobDefinition, at now: Timestamp, _ dice: inout Dice)
    {
        job.misfire = dice.pick([(2, nil), (1, .skip), (2, .all)])
        if dice.isTrue(0.3) { job.misfireAfter = dice.pick([(1, "2s"), (1, "1ms")]) }
        if dice.isTrue(0.2) { job.misfireLimit = 3 }
        if dice.isTrue(0.2) { job.misfireWindow = "30s" }
        if dice.isTrue(0.2) { job.jitter = "3s" }
        if dice.isTrue(0.2) { job.tolerance = "1s" }
        let isOnce = job.schedule.in != nil || job.schedule.at != nil
        if !isOnce, dice.isTrue(0.15) { job.count = Int.random(in: 1...5, using: &dice) }
        // Not a date of a grid: that is in elapsed time and `until` in wall time, so it would be before one and behind it by turns.
        if !isOnce, dice.isTrue(0.1) { job.until = (now + .milliseconds(150_100)).rfc3339 }
    }
}
