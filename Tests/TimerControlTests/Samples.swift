// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Values that fill the wire types.
enum Samples {
    static let date = Timestamp(microseconds: 1_700_000_000_123_456)

    static var fullDefinition: JobDefinition {
        var definition = JobDefinition(
            schedule: ScheduleWords(every: "5s", from: "09:00", tz: "UTC")
        )
        definition.name = "heartbeat"
        definition.command = ["/bin/echo", "a/b", "é\u{1F600}", ""]
        definition.userInfo = JSONText(
            .object([
                "n": .integer(1), "x": .number(1.5), "list": .array([.null, .bool(true)]),
                "o": .object([:]),
            ])
        )
        definition.tags = ["nightly", "b"]
        definition.cwd = "/tmp"
        definition.envFile = ["/etc/backup.env", "-/etc/more.env"]
        definition.keepRuns = 50
        definition.on = "gpu"
        definition.queue = "mails"
        definition.priority = 5
        definition.key = "order-7"
        definition.keyKept = "2h"
        definition.credentials = ["token", "key:/srv/key"]
        definition.env = ["B": "2", "A": "1", "C": ""]
        definition.count = 3
        definition.until = "2030-01-01"
        definition.tolerance = "1s"
        definition.jitter = "5min"
        definition.timeout = "1h"
        definition.killAfter = "10s"
        definition.overlap = .queue
        definition.retries = 3
        definition.backoff = "10s..5min"
        definition.successCodes = [0, 3]
        definition.onSuccess = ["/bin/mail", "-s", "done"]
        definition.onFailure = ["/bin/mail", "-s", "failed"]
        definition.notify = ["mail:ops@example.org", "desktop"]
        definition.notifyOn = ["failed", "late"]
        definition.notifyLate = "5min"
        definition.notifyEvery = "2h"
        definition.ping = "https://ping.example/backup"
        definition.rerunInterrupted = true
        definition.output = .journal
        definition.outputKept = "1M"
        definition.nice = 10
        definition.memoryMax = "512M"
        definition.memoryHigh = "256M"
        definition.cpuWeight = 50
        definition.cpuQuota = "150%"
        definition.tasksMax = 9
        definition.ioWeight = 200
        definition.cpuTime = "10min"
        definition.umask = "077"
        definition.whilePid = 4711
        definition.whileConnected = false
        definition.misfire = .all
        definition.misfireLimit = 7
        definition.misfireAfter = "1min"
        definition.misfireWindow = "1h"
        definition.paused = true
        return definition
    }

    static var fullJob: Job {
        Job(
            id: JobID(rawValue: 12),
            owner: "root",
            state: .paused,
            fireDate: date,
            fires: 4,
            addedAt: date,
            endedAt: date,
            endReason: "count",
            definition: fullDefinition
        )
    }

    static var plainJob: Job {
        Job(
            id: JobID(rawValue: 1),
            owner: "0",
            state: .scheduled,
            fireDate: nil,
            fires: 0,
            addedAt: date,
            endedAt: nil,
            endReason: nil,
            definition: JobDefinition(schedule: ScheduleWords(in: "30m"))
        )
    }

    static var event: Event {
        var event = Event(seq: 9, type: .runFinished, at: date, job: JobID(rawValue: 12))
        event.fire = FireID(rawValue: 3)
        event.fireDate = date
        event.userInfo = JSONText(.array([.string("x")]))
        event.redelivered = true
        event.outcome = .exited
        event.status = 0
        return event
    }
}
