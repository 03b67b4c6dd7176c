// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("JobPage") struct JobPageTests {
    @Test("A job's page tells what is set, what became of its fires, and what comes")
    func page() {
        let job = job {
            $0.fires = 3
            $0.definition.name = "heartbeat"
            $0.definition.command = ["curl", "-fsS", "http://localhost/"]
            $0.definition.cwd = "/srv"
            $0.definition.env = ["B": "two words", "A": "1"]
            $0.definition.userInfo = JSONText(.object(["b": .integer(1), "a": .null]))
            $0.definition.tags = ["web", "night"]
            $0.definition.count = 5
            $0.definition.misfire = .all
            $0.definition.misfireLimit = 7
            $0.addedAt = testNow - .seconds(7200)
        }
        let runs = [
            run(.claimed) { $0.fireDate = testNow + .seconds(5) },
            run(.skipped) { $0.reason = .overlap },
            run(.done) {
                $0.fireDate = testNow - .seconds(5)
                $0.id = RunID(rawValue: 9)
                $0.outcome = .exited
                ($0.status, $0.failed) = (22, true)
                $0.startedAt = testNow - .seconds(5)
                $0.endedAt = testNow - .milliseconds(3800)
            },
        ]
        #expect(
            JobPage(job: job, runs: runs, dates: testDates).text(for: .plain) == """
                job 2 (heartbeat)
                  state        scheduled
                  next fire    in 5 s, 2026-12-01 09:00:05 CET
                  schedule     every 5s
                  command      curl -fsS http://localhost/
                  directory    /srv
                  environment  A=1 B='two words'
                  userInfo     {"a":null,"b":1}
                  tags         web, night
                  fires        3 of 5
                  misfire      all; at most 7
                  owner        anna
                  added        2 h ago, 2026-12-01 07:00:00 CET

                last fires
                  2026-12-01 09:00:00 CET  skipped: the fire before was not over (overlap)
                  2026-12-01 08:59:55 CET  exit 22 after 1.2 s  (run 9)

                coming dates
                  Tue 2026-12-01 09:00:05 CET  in 5 s
                  Tue 2026-12-01 09:00:10 CET  in 10 s

                """
        )
    }

    @Test("A job's page tells each option that is set, also without the one that it stands beside")
    func eachOption() throws {
        func text(_ job: Job) -> String {
            JobPage(job: job, runs: [], dates: testDates).text(for: .plain)
        }
        let bare = text(job())
        for option in JobOption.allCases where !option.isOfSchedule {
            // The job's state tells whether it is paused; a key's time is refused without a key.
            guard option != .paused, option != .keyKept,
                let value = ExportTests.full.definition[option]
            else { continue }
            var job = job()
            try job.definition.set(option, value)
            #expect(text(job) != bare, "\(option)")
        }
        let backoff = job { $0.definition.backoff = "7s" }
        #expect(text(backoff).contains("  backoff    7s\n"))
        let killAfter = job { $0.definition.killAfter = "9s" }
        #expect(text(killAfter).contains("  kill after  9s\n"))
    }

    @Test("A job that has ended says when and why, and has no coming dates")
    func ended() {
        let job = job(schedule: ScheduleWords(at: "2026-12-01T07:59:00.000000Z")) {
            $0.state = .finished
            $0.fireDate = nil
            $0.fires = 1
            $0.endedAt = testNow - .seconds(60)
            $0.endReason = "once"
        }
        let text = JobPage(job: job, runs: [], dates: testDates).text(for: .plain)
        #expect(
            text.contains(
                "  state     finished 60 s ago, 2026-12-01 08:59:00 CET: its one date has passed\n"
            )
        )
        #expect(text.contains("last fires\n  none is kept any more; it has fired 1 time\n"))
        #expect(!text.contains("coming dates"))
        #expect(!text.contains("next fire"))
    }

    @Test("A job says on which host it runs, and each run on which it was")
    func node() {
        let job = job { $0.definition.on = "gpu" }
        let runs = [
            run(.done) { ($0.id, $0.outcome, $0.node) = (RunID(rawValue: 9), .exited, "alpha") },
            run(.running) { ($0.id, $0.startedAt) = (RunID(rawValue: 8), testNow - .seconds(2)) },
        ]
        let text = JobPage(job: job, runs: runs, dates: testDates).text(for: .plain)
        #expect(text.contains("  runs on    gpu\n"))
        #expect(text.contains("exit 0  (run 9 on alpha)\n"))
        #expect(text.contains("running for 2.0 s  (run 8)\n"))
    }

    @Test("A fire that waits for a place: the page says why there is none")
    func waits() {
        var status = TopTests.status
        let job = job { $0.definition.on = "gpu" }
        let waiting = [
            run(.waiting) {
                ($0.waitsFor, $0.limit) = (.place, .init(.maxRunsPerUser, 4))
            }
        ]
        func page(_ runs: [Run]) -> String {
            JobPage(job: job, runs: runs, dates: testDates, status: status).text(for: .plain)
        }
        let why = "2 runs are in progress; it waits for one of 4 places (maxRunsPerUser)"
        #expect(page(waiting).contains("  waits      \(why)\n"))
        status.runner = .init(pid: 7, version: nil, runs: 0, absentHosts: "1 waits for 'gpu'")
        #expect(page(waiting).contains("  waits      1 waits for 'gpu'\n"))
        status.runner?.trouble = "timerd-runner does not answer: why"
        let away = "  waits      commands wait: timerd-runner does not answer: why\n"
        #expect(page(waiting).contains(away))
        #expect(!page([run(.waiting) { $0.waitsFor = .retry }]).contains("  waits "))
    }

    @Test("A command that a runner was asked for which does not answer: the page says since when")
    func unheard() {
        var status = TopTests.status
        func page(_ run: Run) -> String {
            JobPage(job: job(), runs: [run], dates: testDates, status: status).text(for: .plain)
        }
        let asked = run(.running) { $0.id = RunID(rawValue: 8) }
        status.runner = .init(pid: 7, version: nil, runs: 0)
        #expect(page(asked).contains("starting: timerd-runner has not said yet that it has begun"))
        #expect(!page(asked).contains("  waits "))
        status.runner = .init(
            pid: nil,
            version: nil,
            runs: 0,
            trouble: "timerd-runner does not answer: why",
            troubleSince: testNow
        )
        let since = testDates.dayAndTime(testNow)
        let wait = "commands wait since \(since): timerd-runner does not answer: why\n"
        #expect(page(asked).contains(wait))
        status.node = .init(name: "alpha", leadsSince: testNow, epoch: 7, standby: ["beta"])
        #expect(page(asked).contains("no command begins on 'alpha' since \(since): timerd-runner"))
        status.node = nil
        #expect(!page(run(.running) { $0.startedAt = testNow }).contains(wait))
        #expect(!page(run(.running) { $0.node = "beta" }).contains(wait))
    }

    @Test("A task that waits: the page says that its queue is paused, or has as many as it may")
    func queue() {
        let job = job { $0.definition.queue = "mails" }
        var queue = TaskQueue(queue: "mails", owner: "anna", paused: true, ready: 1)
        func page(_ run: Run) -> String {
            JobPage(job: job, runs: [run], dates: testDates, queue: queue).text(for: .plain)
        }
        let paused = "  waits      queue 'mails' is paused; 'timerctl queue resume mails', by its "
        #expect(page(run(.queued)).contains(paused))
        #expect(!page(run(.reserved)).contains("  waits "))
        #expect(!page(run(.queued) { $0.nextAttemptAt = testNow }).contains("  waits "))
        (queue.paused, queue.maxReserved, queue.reserved) = (false, 5, 4)
        #expect(!page(run(.queued)).contains("  waits "))
        queue.reserved = 5
        let taken = "  waits      workers have 5 tasks of queue 'mails', whose limit is 5\n"
        #expect(page(run(.queued)).contains(taken))
        (queue.reserved, queue.maxRate, queue.waiting) = (0, "10/s", 1)
        #expect(page(run(.queued)).contains("  waits      queue 'mails' hands out 10/s at most\n"))
    }

    @Test("Of a job with more runs kept than are allowed by now the page says how many are")
    func history() {
        let kept = job { $0.definition.keepRuns = 300 }
        func history(most: Int?) -> String? {
            var page = JobPage(job: kept, runs: [], dates: testDates)
            page.status = TopTests.status
            page.status?.maxRunsKept = most
            return page.fields.first { $0.label == "history" }?.value
        }
        #expect(history(most: nil) == "300 runs kept")
        #expect(history(most: 300) == "300 runs kept")
        #expect(history(most: 100) == "300 runs, at most 100 are kept here (maxRunsKept)")
    }

    @Test("A job that has not fired has no fires; one whose history is gone says how often it has")
    func noFires() {
        func text(_ fires: Int) -> String {
            let job = job { $0.fires = fires }
            return JobPage(job: job, runs: [], dates: testDates).text(for: .plain)
        }
        #expect(text(0).contains("last fires\n  none yet\n"))
        #expect(text(2).contains("last fires\n  none is kept any more; it has fired 2 times\n"))
    }

    @Test("A paused job says how it is armed, and when it would be due")
    func paused() {
        let job = job { $0.state = .paused }
        let text = JobPage(job: job, runs: [], dates: testDates).text(for: .plain)
        #expect(text.contains("state      paused; 'timerctl resume 2' arms it\n"))
        #expect(text.contains("none while paused; due in 5 s, 2026-12-01 09:00:05 CET\n"))
        #expect(!text.contains("coming dates"))
    }

    @Test("A job that is overdue says so")
    func overdue() {
        let job = job { $0.fireDate = testNow - .seconds(3) }
        let text = JobPage(job: job, runs: [], dates: testDates).text(for: .plain)
        #expect(text.contains("next fire  overdue: 3 s ago, 2026-12-01 08:59:57 CET\n"))
        #expect(text.contains("coming dates\n  Tue 2026-12-01 09:00:02 CET  in 2 s\n"))
    }

    @Test("An overdue job says what keeps it; an event is not overdue while nothing is stored")
    func delay() {
        var status = TopTests.status
        let event = job { $0.fireDate = testNow - .seconds(3) }
        let command = job {
            ($0.fireDate, $0.definition.command) = (testNow - .seconds(3), ["true"])
        }
        func page(_ job: Job) -> String {
            JobPage(job: job, runs: [], dates: testDates, status: status).text(for: .plain)
        }
        (status.trouble, status.runner) = ("the disk is full", nil)
        let date = "3 s ago, 2026-12-01 08:59:57 CET; "
        let trouble = "the database takes no writes: the disk is full\n"
        #expect(page(command).contains("next fire  overdue: \(date)\(trouble)"))
        #expect(page(event).contains("next fire  \(date)as it was last stored: \(trouble)"))
        status.trouble = nil
        status.runner = .init(pid: nil, version: nil, runs: 0, trouble: "no answer")
        #expect(page(command).contains("next fire  overdue: \(date)commands wait: no answer\n"))
        #expect(page(event).contains("next fire  overdue: 3 s ago, 2026-12-01 08:59:57 CET\n"))
        // What is still to come waits for nothing yet.
        let coming = job { $0.definition.command = ["true"] }
        #expect(page(coming).contains("next fire  in 5 s, 2026-12-01 09:00:05 CET\n"))
    }

    @Test("No coming date lies after the last one")
    func until() {
        let job = job { $0.definition.until = "2026-12-01T08:00:12.000000Z" }
        let text = JobPage(job: job, runs: [], dates: testDates).text(for: .plain)
        #expect(text.contains("  until      2026-12-01 09:00:12 CET\n"))
        #expect(text.hasSuffix("09:00:05 CET  in 5 s\n  Tue 2026-12-01 09:00:10 CET  in 10 s\n"))
    }

    @Test("What a job's owner wrote cannot reach the terminal")
    func harmless() {
        let job = job {
            $0.owner = "\u{1b}[2J"
            $0.definition.name = "\u{1b}[2J"
            $0.definition.command = ["\u{1b}[2J"]
            $0.definition.tags = ["\u{1b}[2J"]
            $0.definition.env = ["\u{1b}[2J": "\u{1b}[2J"]
            $0.definition.userInfo = JSONText(.string("\u{9b}2J"))
        }
        let text = JobPage(job: job, runs: [], dates: testDates).text(for: .plain)
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || !HiddenCharacters.contain($0) })
    }

    @Test(
        "A calendar job shows its normal form and its words; a moved fire, where it was and comes"
    )
    func moved() {
        let job = job {
            $0.definition.schedule = ScheduleWords(calendar: "mon,tue,wed 10:00", tz: "UTC")
            $0.fireDate = testNow + .seconds(1800)
            $0.movedFrom = testNow + .seconds(7200)
        }
        let text = JobPage(job: job, runs: [], dates: testDates).text(for: .plain)
        #expect(
            text.contains(
                "next fire    in 30 min, 2026-12-01 09:30:00 CET; moved from 2026-12-01 11:00:00 CET\n"
            )
        )
        #expect(text.contains("normal form  Mon..Wed *-*-* 10:00:00\n"))
        #expect(text.contains("in words     at 10:00 on Monday to Wednesday, UTC\n"))
        // The moved fire stands for 2026-12-01 11:00 CET.
        #expect(
            text.hasSuffix(
                """
                coming dates
                  Tue 2026-12-01 09:30:00 CET  in 30 min
                  Wed 2026-12-02 11:00:00 CET  in 26 h
                  Mon 2026-12-07 11:00:00 CET  in 6 days
                  Tue 2026-12-08 11:00:00 CET  in 7 days
                  Wed 2026-12-09 11:00:00 CET  in 8 days

                """
            )
        )
    }

    @Test("What is not over is shown behind all that is newer, what runs ahead of what waits")
    func openRows() {
        func row(_ fire: Int64, _ state: Run.State) -> Run {
            run(state) {
                $0.fire = FireID(rawValue: fire)
                $0.fireDate = testNow - .seconds(1000 - fire)
                if state == .running { ($0.id, $0.startedAt) = (RunID(rawValue: 1), testNow) }
            }
        }
        var rows = JobRows((0..<10).map { row(90 - $0, .skipped) })
        // The newest first; one of them is known already, and one is claimed for a date ahead.
        let waiting = (0..<15).map { row(80 - $0, .waiting) }
        rows.add(open: [row(95, .claimed), row(85, .waiting)] + waiting + [row(2, .running)])
        #expect(rows.shown.count == 20)
        #expect(rows.shown.last?.state == .running)
        #expect(rows.shown.dropFirst(10).prefix(9).map(\.fire) == waiting.prefix(9).map(\.fire))
        #expect(rows.more == 6)
        let page = JobPage(job: job(), runs: rows.shown, dates: testDates, more: rows.more)
        let text = page.text(for: .plain)
        #expect(text.contains("(run 1)\n  and 6 more that are not over\n"), "\(text)")
    }
}
