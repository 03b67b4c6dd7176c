// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("Runs and logs") struct RunsAndLogsTests {
    @Test("Each fire has a line with its date and what became of it")
    func table() {
        let runs = [
            run(.skipped) { $0.reason = .overlap },
            run(.done) {
                $0.id = RunID(rawValue: 12)
                $0.job = JobID(rawValue: 10)
                $0.name = "backup"
                $0.fireDate = testNow - .seconds(300)
                $0.outcome = .notStarted
                $0.error = "no such file\nor directory"
            },
        ]
        #expect(
            Runs.table(of: runs, isOfOneJob: false, dates: testDates).text(for: .plain) == """
                RUN  JOB  NAME    FIRE DATE                       OUTCOME
                  -    2  -       2026-12-01 09:00:00  now        skipped: the fire before was not over (overlap)
                 12   10  backup  2026-12-01 08:55:00  5 min ago  not started: no such file^Jor directory

                """
        )
        let ofOneJob = Runs.table(of: runs, isOfOneJob: true, dates: testDates)
        #expect(ofOneJob.text(for: .plain).hasPrefix("RUN  FIRE DATE "))
    }

    @Test("Whose a run is has a column where the runs are several users'")
    func owners() {
        var runs = [
            run(.fired) { ($0.name, $0.owner) = ("backup", "anna") },
            run(.fired) { ($0.job, $0.name, $0.owner) = (JobID(rawValue: 3), "backup", "ben") },
        ]
        #expect(
            Runs.table(of: runs, isOfOneJob: false, dates: testDates).text(for: .plain) == """
                RUN  JOB  OWNER  NAME    FIRE DATE                 OUTCOME
                  -    2  anna   backup  2026-12-01 09:00:00  now  fired
                  -    3  ben    backup  2026-12-01 09:00:00  now  fired

                """
        )
        runs.removeLast()
        let ofOneUser = Runs.table(of: runs, isOfOneJob: false, dates: testDates)
        #expect(ofOneUser.columns.allSatisfy { $0.title != "OWNER" })
    }

    @Test("The node of a run has a column where any run has one")
    func nodes() {
        let runs = [
            run(.skipped) { $0.reason = .skip },
            run(.done) {
                ($0.id, $0.outcome, $0.node) = (RunID(rawValue: 12), .exited, "al\u{1b}pha")
            },
        ]
        #expect(
            Runs.table(of: runs, isOfOneJob: true, dates: testDates).text(for: .plain) == """
                RUN  FIRE DATE                 NODE     OUTCOME
                  -  2026-12-01 09:00:00  now  -        skipped: dropped on request (skip)
                 12  2026-12-01 09:00:00  now  al^[pha  exit 0

                """
        )
    }

    @Test("Runs are those of one job, by id or name, or of all")
    func request() throws {
        #expect(try Runs.parse([]).request(testDates) == ListRuns())
        #expect(try Runs.parse(["2", "-n", "5"]).request(testDates).job == JobID(rawValue: 2))
        #expect(try Runs.parse(["--name", "n"]).request(testDates).name == "n")
        expectUsageError("a job and --name exclude each other") {
            try Runs.parse(["2", "--name", "n"])
        }
        expectUsageError("-n -1 is not a number from 1") { try Runs.parse(["-n", "-1"]) }
    }

    @Test("Runs are those that failed, since a time, with an outcome, a tag, an owner")
    func narrowed() throws {
        var expected = ListRuns()
        (expected.failed, expected.since) = (true, testNow - .seconds(8 * 3600))
        #expect(try Runs.parse(["--failed", "--since", "8h"]).request(testDates) == expected)
        expected = ListRuns()
        (expected.outcome, expected.tag, expected.owner) = (.timedOut, "t", "ann")
        let words = ["--outcome", "timedOut", "--tag", "t", "--owner", "ann"]
        #expect(try Runs.parse(words).request(testDates) == expected)
        expectUsageError(
            """
            --outcome 'bad' is none of success, failure, signalled, timedOut, notStarted, interrupted, \
            skipped, fired
            """
        ) { try Runs.parse(["--outcome", "bad"]) }
    }

    @Test("A date that has passed is a duration, the last time of day, or a date")
    func since() throws {
        func since(_ words: String) throws -> Timestamp {
            try #require(Runs.parse(["--since", words]).request(testDates).since)
        }
        // It is 09:00:00 on 1 December.
        #expect(try since("90min") == testNow - .seconds(5400))
        #expect(try since("08:00") == testNow - .seconds(3600))
        #expect(try since("10:00") == testNow - .seconds(23 * 3600))
        #expect(try since("8.30") == testNow - .seconds(1800))
        #expect(try since("10.00") == since("10:00"))
        #expect(try since("8.5") == testNow - .milliseconds(8500))
        #expect(try since("8h30") == testNow - .seconds(8 * 3600 + 30))
        #expect(try since("yesterday 09:00") == testNow - .seconds(86_400))
        // A day alone is its midnight.
        #expect(try since("today") == testNow - .seconds(9 * 3600))
        #expect(try since("yesterday") == testNow - .seconds(33 * 3600))
        #expect(try since("Yesterday") == since("2026-11-30"))
        #expect(try since("2026-11-30 09:00") == testNow - .seconds(86_400))
        // 19:49 on the day on which the clock was set back at 3:00, so that a day earlier it showed an hour more.
        let long = LocalDate(now: date("2026-10-25T18:49:00Z"), zone: berlin)
        #expect(try PastDate.parse("20:14", long) == date("2026-10-24T18:14:00Z"))
        #expect(try PastDate.parse("19:20", long) == date("2026-10-25T18:20:00Z"))
        // 02:30 of that day once it has come once, and once it has come twice.
        let once = LocalDate(now: date("2026-10-25T01:20:00Z"), zone: berlin)
        #expect(try PastDate.parse("02:30", once) == date("2026-10-25T00:30:00Z"))
        let twice = LocalDate(now: date("2026-10-25T01:40:00Z"), zone: berlin)
        #expect(try PastDate.parse("02:30", twice) == date("2026-10-25T01:30:00Z"))
        let accepted =
            "accepted are a duration such as '8h', and a date such as '22:00' or 'yesterday 03:00'"
        let ahead = #expect(throws: ValidationError.self) { try since("2026-12-03") }
        #expect(ahead?.message == "--since: '2026-12-03' is still to come; \(accepted)")
        let none = #expect(throws: ValidationError.self) { try since("foo") }
        #expect(none?.message == "--since: date 'foo' is not understood; \(accepted)")
        // What counts from now, or from today, is none of a day earlier.
        for words in [
            "+1h", "now + 1h", "next hour", "tomorrow", "tomorrow 09:00", "next day", "today 22:00",
        ] {
            let error = #expect(throws: ValidationError.self) { try since(words) }
            #expect(error?.message == "--since: '\(words)' is still to come; \(accepted)")
        }
        // The day before is none that has no time, on that day.
        for words in ["Nov 30", "nov 30", "30 Nov"] {
            let error = #expect(throws: ValidationError.self) { try since(words) }
            #expect(error?.message == "--since: '\(words)' is still to come; \(accepted)")
        }
        #expect(try since("today 08:00") == testNow - .seconds(3600))
        let nonsense = #expect(throws: ValidationError.self) { try since("whenever") }
        #expect(nonsense?.message.hasPrefix("--since: ") == true)
        #expect(nonsense?.message.hasSuffix("; \(accepted)") == true)
    }

    @Test(
        "What took place comes first, the newest first, and dates ahead that are skipped come last"
    )
    func aheadLast() {
        let ahead = (1...3).reversed().map { minutes in
            RunsFound.Row(
                run: run(.skipped) { $0.fireDate = testNow + .seconds(60 * Int64(minutes)) }
            )
        }
        let (done, missed) = (
            RunsFound.Row(run: run(.done)),
            RunsFound.Row(run: run(.skipped) { $0.fireDate = testNow - .seconds(60) })
        )
        var found = RunsFound(2, now: testNow)
        #expect(found.take([ahead[0], ahead[1]]).isEmpty && !found.isFull)
        #expect(found.limit == 4, "the next page is larger: there may be many more")
        #expect(found.take([ahead[2], done, missed, done]).map(\.run) == [done.run, missed.run])
        #expect(found.isFull && !found.isEmpty)
        #expect(found.ahead.map(\.run) == [ahead[1].run, ahead[2].run], "the nearest of them")
        var one = RunsFound(20, now: testNow)
        #expect(one.limit == 20)
        #expect(one.take([done]).count == 1)
        #expect(one.limit == 19 && !one.isFull)
    }

    @Test("The newest run is the newest with a command; a newer date that was skipped is known")
    func newestRun() {
        let ahead = run(.skipped) { ($0.fireDate, $0.reason) = (testNow + .seconds(60), .skip) }
        let skipped = run(.skipped) { $0.reason = .overlap }
        let handler = run(.done) { ($0.id, $0.onFailure) = (RunID(rawValue: 13), true) }
        let done = run(.done) { $0.id = RunID(rawValue: 12) }
        let older = run(.done) { $0.id = RunID(rawValue: 11) }
        var newest = NewestRun()
        let isFound = newest.read([ahead, skipped, handler, done, older], now: testNow)
        #expect(isFound)
        #expect(newest.run == done)
        #expect(newest.skipped == skipped)

        newest = NewestRun()
        let isFoundAgain = newest.read([done, skipped], now: testNow)
        #expect(isFoundAgain)
        #expect(newest.skipped == nil)
    }

    @Test("A newer fire whose command waits is known beside what was skipped, the newest first")
    func newerWaits() {
        // A date ahead that is armed is no news.
        let armed = run(.claimed) { $0.fireDate = testNow + .seconds(60) }
        let waiting = run(.waiting) { ($0.waitsFor, $0.fireDate) = (.place, testNow - .seconds(5)) }
        let first = run(.waiting) { ($0.waitsFor, $0.fireDate) = (.place, testNow - .seconds(8)) }
        let skipped = run(.skipped) { $0.reason = .overlap }
        let done = run(.done) {
            ($0.id, $0.fireDate) = (RunID(rawValue: 12), testNow - .seconds(9))
        }
        var newest = NewestRun()
        let isFound = newest.read([armed, skipped, waiting, first, done], now: testNow)
        #expect(isFound)
        #expect(newest.newer == [skipped, waiting])

        newest = NewestRun()
        let isNothing = newest.read([armed], now: testNow)
        #expect(!isNothing && newest.isToCome && newest.newer.isEmpty)
    }

    @Test("What ends another user's maintenance names the user, as root has to")
    func othersMaintenance() {
        var root = LocalUser.current
        (root.name, root.uid) = ("root", 0)
        #expect(Maintenance.end(of: "root", by: root) == "timerctl maintenance off")
        #expect(Maintenance.end(of: "0", by: root) == "timerctl maintenance off")
        #expect(Maintenance.end(of: "ann", by: root) == "timerctl maintenance off --owner ann")
        let others = job { ($0.state, $0.maintenance, $0.owner) = (.paused, true, "n0b0dy-here") }
        let end = "'timerctl maintenance off --owner n0b0dy-here'"
        #expect(
            others.standstill == "paused for maintenance; \(end) resumes what that has paused"
        )
        #expect(others.firstFireSentence(in: .utc) == "paused for maintenance; \(end) arms it")
    }

    @Test("A job that fires nothing for now says why, in the words of its page")
    func standstill() {
        #expect(job().standstill == nil)
        #expect(job { $0.state = .finished }.standstill == nil)
        let paused = job { $0.state = .paused }
        #expect(paused.standstill == "paused; 'timerctl resume 2' arms it")
        let maintained = job {
            ($0.state, $0.maintenance, $0.owner) = (.paused, true, LocalUser.current.name)
        }
        #expect(
            maintained.standstill
                == "paused for maintenance; 'timerctl maintenance off' resumes what that has paused"
        )
        let held = job { ($0.state, $0.held) = (.paused, "its zone 'X' is gone") }
        #expect(held.standstill == "held: its zone 'X' is gone")
        #expect(job { ($0.state, $0.held) = (.finished, "why") }.standstill == nil)
    }

    @Test("A date that has passed, and fires not, is told of with what the daemon says of that")
    func overdue() throws {
        let late = job {
            $0.fireDate = testNow - .seconds(4)
            $0.definition.command = ["true"]
        }
        var status = TopTests.status
        #expect(late.overdueSentence(status, testDates) == nil, "why is not known")
        status.trouble = "disk full"
        let why = try #require(status.unwritable)
        #expect(
            late.overdueSentence(status, testDates)
                == "job 2 was due 4 s ago, and has not fired: \(why)"
        )
        #expect(job().overdueSentence(status, testDates) == nil, "its date is ahead")
    }

    @Test("Where no run is found, it is known whether one may still come")
    func noRun() {
        var newest = NewestRun()
        let isNothing = newest.read([run(.skipped), run(.done)], now: testNow)
        #expect(!isNothing)
        #expect(!newest.isToCome)
        let isRest = newest.read([run(.waiting)], now: testNow)
        #expect(!isRest)
        #expect(newest.isToCome)
    }

    @Test("A job that has fired, and whose fires are no longer kept, says how often it has")
    func gone() {
        #expect(job().goneSentence == nil)
        #expect(job { $0.fires = 1 }.goneSentence == "none is kept any more; it has fired 1 time")
        #expect(job { $0.fires = 2 }.goneSentence == "none is kept any more; it has fired 2 times")
    }

    @Test("Logs are those of one run, or of the newest run of a job")
    func logs() throws {
        #expect(try Logs.parse(["--run", "17"]).runNumber == 17)
        expectUsageError("a job, --name and --run exclude each other") {
            try Logs.parse(["2", "--run", "17"])
        }
    }
}
