// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("What no definition says of a job") struct UnstatedHistoryTests {
    private static let grid = ScheduleWords(every: "1h", from: "2026-12-01T07:30:00.000000Z")

    @Test(
        "A next date that the schedule does not give was moved, or others were dropped",
        arguments: [
            // Its interval begins with the job: what is no further ahead than that may be its date.
            (ScheduleWords(every: "1h"), "2026-12-01T08:59:00Z", false),
            (ScheduleWords(every: "1h"), "2026-12-01T09:00:01Z", true),
            (Self.grid, "2026-12-01T08:30:00Z", false), (Self.grid, "2026-12-01T09:30:00Z", true),
            (Self.grid, "2026-12-01T08:31:00Z", true),
            // It has come, and waits for the end of a pause.
            (Self.grid, "2026-12-01T07:30:00Z", false), (Self.grid, "2026-12-01T07:31:00Z", true),
            (
                ScheduleWords(every: "1d", from: "2026-12-24T08:00:00Z"), "2026-12-24T08:00:00Z",
                false
            ),
            (ScheduleWords(cron: "0 5 * * *"), "2026-12-02T04:00:00Z", false),
            (ScheduleWords(cron: "0 5 * * *"), "2026-12-03T04:00:00Z", true),
            (ScheduleWords(cron: "0 5 * * *", tz: "UTC"), "2026-12-02T05:00:00Z", false),
            (ScheduleWords(calendar: "05:00"), "2026-12-02T04:00:00Z", false),
            (ScheduleWords(calendar: "05:00"), "2026-12-05T04:00:00Z", true),
            // A file has the date of a one-shot.
            (ScheduleWords(at: "2026-12-01T09:00:00Z"), "2026-12-24T09:00:00Z", false),
            (ScheduleWords(in: "5s"), "2026-12-24T09:00:00Z", false),
        ] as [(ScheduleWords, String, Bool)]
    )
    func nextDates(schedule: ScheduleWords, next: String, isOther: Bool) {
        let job = job(schedule: schedule) { $0.fireDate = date(next) }
        #expect(job.hasOtherNextDate(now: testNow, zone: berlin) == isOther)
    }

    @Test("A date that was moved alone is another, and a job without one has none")
    func movedAlone() {
        let cron = ScheduleWords(cron: "0 5 * * *")
        let moved = job(schedule: cron) {
            ($0.fireDate, $0.movedFrom) = (
                date("2026-12-02T04:00:00Z"), date("2026-12-01T04:00:00Z")
            )
        }
        #expect(moved.hasOtherNextDate(now: testNow, zone: berlin))
        let reboot = job(schedule: ScheduleWords(cron: "@reboot")) { $0.fireDate = nil }
        #expect(!reboot.hasOtherNextDate(now: testNow, zone: berlin))
    }

    @Test("A change to other dates tells that a moved date, or dropped ones, count no more")
    func lost() {
        let cron = ScheduleWords(cron: "0 5 * * *", tz: "UTC")
        func note(
            _ next: String,
            isTrial: Bool = false,
            _ change: (inout JobDefinition) -> Void
        ) -> String? {
            let job = job(schedule: cron) { $0.fireDate = date(next) }
            var new = job.definition
            change(&new)
            return job.lostDates(as: new, now: testNow, zone: berlin, isTrial: isTrial)
        }
        let dropped = "2026-12-03T05:00:00Z"
        let lost = note(dropped) { $0.schedule.tz = "Asia/Tokyo" }
        #expect(lost?.hasPrefix("that its next date was moved, or") == true)
        #expect(lost?.hasSuffix(", counts no more") == true)
        let trial = note(dropped, isTrial: true) { $0.schedule.tz = "Asia/Tokyo" }
        #expect(trial?.hasSuffix(", would count no more") == true)
        #expect(note(dropped) { $0.schedule = ScheduleWords(every: "1h") } == lost)
        #expect(note(dropped) { $0.timeout = "5s" } == nil, "the dates are the same")
        #expect(note("2026-12-02T05:00:00Z") { $0.schedule.tz = "Asia/Tokyo" } == nil)
    }

    @Test("It is told in a line for all jobs of which it is so, however many they are")
    func notes() {
        func jobs(_ ids: ClosedRange<Int64>) -> [Job] {
            ids.map { id in
                job(id, schedule: Self.grid) {
                    $0.fireDate = date("2026-12-24T17:00:00Z")
                    ($0.definition.count, $0.fires) = (5, id == 2 ? 1 : 0)
                }
            }
        }
        func notes(_ jobs: [Job]) -> [String] {
            UnstatedHistory(jobs, now: testNow, zone: berlin).notes
        }
        let dates =
            "the file does not say that the next date was moved, or dates ahead were dropped: "
        #expect(notes([job()]) == [])
        #expect(notes(jobs(1...1)) == [dates + "job 1"])
        #expect(
            notes(jobs(1...3)) == [
                dates + "jobs 1, 2, 3",
                "the file does not say how many fires of a count there have been: job 2",
            ]
        )
        let told = job {
            $0.definition.notify = ["desktop", "https://hooks.example/…#3f9a"]
        }
        let pings = job(3) { $0.definition.ping = "https://ping.example/…#0a1b" }
        let urls = "the file does not say the whole URLs of notify and ping, without which no "
        #expect(notes([told, pings]) == [urls + "other daemon takes it: jobs 2, 3"])
        #expect(notes([job { $0.definition.notify = ["mail:ann", "command:true"] }]) == [])
        #expect(notes(jobs(3...5002)) == [dates + "jobs 3, 4, 5, 6, 7, 8, 9, 10 and 4992 more"])
    }
}
