// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("RunSentence") struct RunSentenceTests {
    private static func done(_ seconds: Double, _ change: (inout Run) -> Void) -> Run {
        run(.done) {
            $0.id = RunID(rawValue: 9)
            $0.attempt = 1
            $0.startedAt = testNow
            $0.endedAt = testNow + TimeSpan(microseconds: Int64(seconds * 1e6))
            change(&$0)
        }
    }

    static let outcomes: [(Run, String)] = [
        (
            done(1.2) {
                $0.outcome = .exited
                $0.status = 0
            }, "exit 0 after 1.2 s"
        ),
        (
            done(1.2) { ($0.id, $0.outcome, $0.failed) = (nil, nil, true) },
            "failed; its run is no longer kept"
        ),
        (run(.done), "did not fail; its run is no longer kept"),
        (
            done(0.003) {
                ($0.outcome, $0.status, $0.failed) = (.exited, 3, true)
                $0.attempt = 2
            }, "exit 3 after 3 ms; attempt 2"
        ),
        // By the job's success codes; a run that was told to end is judged by none.
        (
            done(0.003) { ($0.outcome, $0.status) = (.exited, 3) },
            "exit 3 after 3 ms, no failure (success codes)"
        ),
        (
            done(0.003) { ($0.outcome, $0.status, $0.failed) = (.exited, 0, true) },
            "exit 0 after 3 ms, a failure (success codes)"
        ),
        (
            done(0.003) { ($0.outcome, $0.status, $0.stoppedBy) = (.exited, 3, .owner) },
            "exit 3 after 3 ms; told to end by its owner (kill)"
        ),
        (
            done(-3600) { ($0.outcome, $0.status, $0.attempt) = (.exited, 3, 2) },
            "exit 3, no failure (success codes); by the clock it ended before it began; attempt 2"
        ),
        (
            done(0) { ($0.outcome, $0.status) = (.exited, 0) }, "exit 0 after 0 ms"
        ),
        (
            done(200) {
                $0.outcome = .signalled
                $0.signal = 9
            }, "signal 9 (KILL) after 3 min 20 s"
        ),
        (
            done(1) { ($0.outcome, $0.signal, $0.stopped) = (.signalled, 15, true) },
            "signal 15 (TERM) after 1.0 s; told to end by kill or a newer fire"
        ),
        (
            done(1) {
                ($0.outcome, $0.signal, $0.stopped) = (.signalled, 15, true)
                $0.stoppedBy = .administrator
            }, "signal 15 (TERM) after 1.0 s; told to end by an administrator (kill)"
        ),
        (
            done(1) {
                ($0.outcome, $0.signal, $0.stopped) = (.signalled, 15, true)
                $0.stoppedBy = .replace
            }, "signal 15 (TERM) after 1.0 s; told to end by a newer fire (overlap 'replace')"
        ),
        // The start of the first attempt took long; a later attempt, a handler and a worker come later anyhow.
        (
            done(1) {
                ($0.outcome, $0.status) = (.exited, 0)
                ($0.fireDate, $0.firedAt) = (testNow - .seconds(6), testNow - .seconds(6))
            }, "exit 0 after 1.0 s; 6.0 s late"
        ),
        (
            done(1) {
                ($0.outcome, $0.status, $0.attempt) = (.exited, 0, 2)
                ($0.fireDate, $0.firedAt) = (testNow - .seconds(6), testNow - .seconds(6))
            }, "exit 0 after 1.0 s; attempt 2"
        ),
        (
            done(1) {
                ($0.outcome, $0.status, $0.attempt) = (.exited, 0, nil)
                $0.onFailure = true
                ($0.fireDate, $0.firedAt) = (testNow - .seconds(6), testNow - .seconds(6))
            }, "on failure: exit 0 after 1.0 s"
        ),
        (
            done(1) {
                $0.outcome = .finished
                ($0.fireDate, $0.firedAt) = (testNow - .seconds(6), testNow - .seconds(6))
            }, "finished by its worker after 1.0 s"
        ),
        (
            run(.done) {
                $0.outcome = .notStarted
                $0.error = "no such file or directory: 'nope'"
            }, "not started: no such file or directory: 'nope'"
        ),
        (
            done(1) {
                ($0.outcome, $0.status) = (.exited, 0)
                ($0.fireDate, $0.dueBy) = (testNow - .seconds(60), testNow)
            }, "exit 0 after 1.0 s"
        ),
        (run(.waiting) { $0.waitsFor = .place }, "waiting for a place among the runs"),
        (
            run(.waiting) { ($0.waitsFor, $0.limit) = (.place, .init(.maxRunsPerUser, 4)) },
            "waiting for one of 4 places (maxRunsPerUser)"
        ),
        (
            run(.waiting) {
                ($0.waitsFor, $0.limit) = (.place, .init(.maxRuns, 2, keptForRoot: 1))
            },
            "waiting for one of 2 places (maxRuns; 1 more is root's alone)"
        ),
        (
            run(.waiting) { ($0.waitsFor, $0.limit) = (.place, .init(.maxRuns, 1, late: true)) },
            "waiting for the one place of late fires (maxRuns)"
        ),
        (run(.waiting) { $0.waitsFor = .run }, "waiting for the run before it to end"),
        (
            run(.done) { $0.outcome = .interrupted },
            "interrupted (all runs were ended, timerd-runner died, or its host was gone)"
        ), (run(.done) { ($0.outcome, $0.error) = (.interrupted, "why") }, "interrupted: why"),
        (
            done(1) {
                $0.outcome = .exited
                $0.status = 0
                $0.missed = 239
                $0.fireDate = testNow - .seconds(200)
                $0.firedAt = testNow
            }, "exit 0 after 1.0 s; makes up for 239 missed dates; 3 min 20 s late"
        ),
        (
            run(.fired) {
                ($0.missed, $0.fireDate, $0.firedAt) = (1, testNow - .seconds(200), testNow)
            }, "fired; makes up for a missed date; 3 min 20 s late"
        ),
        (
            run(.fired) {
                $0.reason = .manual
                $0.firedAt = testNow + .seconds(900)
            }, "fired; by hand"
        ),
        (run(.fired) { $0.firedAt = testNow + .milliseconds(999) }, "fired"),
        (run(.queued), "waiting for a worker"),
        (
            run(.queued) {
                ($0.outcome, $0.error) = (.failed, "no route")
                $0.nextAttemptAt = testNow + .seconds(30)
            }, "failed: no route; tried again in 30 s"
        ),
        (
            run(.queued) { $0.outcome = .released },
            "given back by its worker; waiting for a worker"
        ),
        (
            run(.dead) { ($0.outcome, $0.error) = (.failed, "no route") },
            "failed: no route; dead; 'timerctl queue retry 70' has it tried again"
        ),
        (
            run(.skipped) { ($0.outcome, $0.reason) = (.failed, .dropped) },
            "failed; skipped: the task was dropped"
        ),
        (run(.running) { $0.startedAt = testNow - .seconds(12) }, "running for 12 s"),
        (
            run(.running) { $0.attempt = 2 },
            "starting: timerd-runner has not said yet that it has begun; attempt 2"
        ),
        (run(.claimed) { $0.fireDate = testNow + .seconds(3) }, "due in 3 s"),
        (run(.claimed), "starting"),
    ]

    @Test("What became of a fire is told in words", arguments: outcomes)
    func outcome(run: Run, words: String) {
        #expect(RunSentence(run, dates: testDates).text == words)
    }

    @Test(
        "A skipped date tells its reason",
        arguments: [
            (FireReason.overlap, "skipped: the fire before was not over (overlap)"),
            (.misfire, "missed, and not made up for (misfire policy)"),
            (.coalesced, "missed; one later fire stands for it"),
        ]
    )
    func skipped(reason: FireReason, words: String) {
        let run = run(.skipped) { $0.reason = reason }
        #expect(RunSentence(run, dates: testDates).text == words)
    }

    @Test(
        "A range of skipped dates tells how many, from when to when, and why",
        arguments: [
            (FireReason.overlap, "skipped: the fire before was not over (overlap)"),
            (.misfire, "missed, and not made up for (misfire policy)"),
            (.coalesced, "missed; one later fire stands for them"),
        ]
    )
    func range(reason: FireReason, words: String) {
        let run = run(.skipped) {
            makeRange(&$0)
            $0.reason = reason
        }
        #expect(
            RunSentence(run, dates: testDates).text
                == "13 dates from 2026-12-01 09:00:00 to 2026-12-01 09:01:00 \(words)"
        )
    }

    @Test("A date that a run in progress kept from firing names that run where the list has it")
    func inTheWay() {
        let date = testNow - .seconds(30)
        func job(_ id: Int64, _ run: Run) -> Run {
            var run = run
            (run.job, run.fire) = (JobID(rawValue: id), FireID(rawValue: run.fire.rawValue + id))
            return run
        }
        let going = run(.running) {
            ($0.id, $0.fireDate, $0.startedAt) = (RunID(rawValue: 41), date, date)
        }
        let over = Self.done(0) {
            ($0.id, $0.fireDate) = (RunID(rawValue: 42), date)
            ($0.startedAt, $0.endedAt) = (date, date + .seconds(5))
        }
        let skipped = run(.skipped) {
            ($0.reason, $0.fire) = (.overlap, FireID(rawValue: 99))
        }
        let full = run(.skipped) {
            ($0.reason, $0.fire) = (.lineFull, FireID(rawValue: 98))
        }
        let runs = [job(1, full), job(1, skipped), job(2, skipped), job(1, going), job(2, over)]
        let inTheWay = RunsInTheWay(runs)
        let words = runs.prefix(3).map {
            RunSentence($0, dates: testDates, besides: inTheWay[$0]).text
        }
        #expect(
            words == [
                "skipped: run 41 was still in progress, and a fire waited for its end already (overlap 'queue')",
                "skipped: run 41 was still in progress (overlap)",
                "skipped: the fire before was not over (overlap)",
            ]
        )
    }

    @Test("Every reason a daemon may give reads as a sentence", arguments: FireReason.allCases)
    func everyReason(reason: FireReason) {
        let text = RunWords.skipped(reason.sentence)
        #expect(text.hasPrefix("skipped: ") != text.hasPrefix("missed"))
    }
}
