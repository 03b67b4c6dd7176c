// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("EventLine") struct EventLineTests {
    private static func event(
        _ type: Event.Kind,
        change: (inout Event) -> Void = { _ in }
    ) -> Event {
        var event = Event(seq: 7, type: type, at: testNow, job: JobID(rawValue: 2))
        event.name = "standup"
        event.fire = FireID(rawValue: 70)
        event.fireDate = testNow
        change(&event)
        return event
    }

    static let events: [(Event, String)] = [
        (event(.jobAdded), "next fire 2026-12-01 09:00:00"),
        (event(.jobRescheduled), "next fire 2026-12-01 09:00:00"),
        (event(.jobResumed) { $0.fireDate = nil }, "no fire date"),
        (event(.jobPaused), ""),
        (event(.jobInvalidated) { $0.reason = "invalidated" }, "by request"),
        (event(.jobFinished) { $0.reason = "count" }, "it has fired as often as it was to"),
        (event(.jobFinished) { $0.reason = "eclipse" }, "eclipse"),
        (event(.fireFired) { $0.firedAt = testNow }, "on time"),
        (
            event(.fireFired) {
                $0.firedAt = testNow + .milliseconds(12)
                $0.missed = 1
                $0.redelivered = true
                $0.userInfo = JSONText(.object(["text": .string("a/b\u{1b}")]))
            },
            "12 ms late for 2026-12-01 09:00:00; makes up for a missed date; "
                + #"redelivered; {"text":"a/b\u001b"}"#
        ),
        (
            event(.fireFired) {
                ($0.firedAt, $0.dueBy) = (testNow + .seconds(60), testNow + .seconds(90))
            }, "on time"
        ),
        (
            event(.fireFired) {
                ($0.firedAt, $0.dueBy) = (testNow + .seconds(60), testNow + .seconds(58))
            }, "2.0 s late"
        ),
        (event(.fireFired) { $0.reason = "manual" }, "by hand"),
        (
            event(.fireSkipped) { $0.reason = "overlap" },
            "skipped: the fire before was not over (overlap)"
        ),
        (
            event(.fireSkipped) { ($0.reason, $0.run) = ("overlap", RunID(rawValue: 41)) },
            "skipped: run 41 was still in progress (overlap)"
        ),
        (
            event(.fireSkipped) { $0.reason = "replaced" },
            "skipped: it waited, and a newer fire took its place (overlap 'replace')"
        ),
        (
            event(.fireSkipped) {
                $0.reason = "coalesced"
                $0.dates = 240
                $0.through = testNow + .seconds(1195)
            },
            "240 dates from 2026-12-01 09:00:00 to 2026-12-01 09:19:55 missed; one later fire "
                + "stands for them"
        ),
        (
            event(.runStarted) {
                $0.run = RunID(rawValue: 9)
                $0.attempt = 2
            }, "run 9, attempt 2"
        ),
        (
            event(.runStarted) {
                ($0.run, $0.attempt) = (RunID(rawValue: 9), 1)
                ($0.fireDate, $0.dueBy) = (testNow - .seconds(60), testNow - .seconds(12))
            }, "run 9; 12 s late"
        ),
        (
            event(.runStarted) {
                ($0.run, $0.attempt, $0.reason) = (RunID(rawValue: 9), 1, "manual")
                $0.fireDate = testNow - .seconds(60)
            }, "run 9"
        ),
        (
            event(.runFinished) {
                $0.run = RunID(rawValue: 9)
                $0.outcome = .exited
                $0.status = 3
            }, "run 9: exit 3"
        ),
        (event(.runFinished) { $0.outcome = .notStarted }, "run: not started"),
        (
            event(.runFinished) { ($0.outcome, $0.status, $0.failed) = (.exited, 3, false) },
            "run: exit 3, no failure (success codes)"
        ),
        (
            event(.runFinished) { ($0.outcome, $0.status, $0.failed) = (.exited, 0, true) },
            "run: exit 0, a failure (success codes)"
        ),
        (event(.jobPaused) { $0.by = "administrator" }, "by an administrator"),
        (
            event(.jobInvalidated) { ($0.reason, $0.by) = ("invalidated", "administrator") },
            "by request; by an administrator"
        ),
    ]

    @Test("An event tells what happened", arguments: events)
    func what(event: Event, words: String) {
        #expect(EventLine(event, dates: testDates).what == words)
    }

    @Test(
        "Red is what failed by the job's rules, yellow a status of which an older daemon does not say whether it has",
        arguments: [
            (Run.Outcome.exited, 0, nil, nil), (.exited, 3, nil, .yellow),
            (.exited, 3, false, nil), (.exited, 3, true, .red), (.exited, 0, true, .red),
            (.signalled, nil, nil, .red), (.signalled, nil, true, .red),
            (.timedOut, nil, nil, .red), (.notStarted, nil, nil, .red), (.lost, nil, nil, .red),
            (.finished, nil, nil, nil), (.released, nil, nil, nil),
        ] as [(Run.Outcome, Int32?, Bool?, Terminal.Style?)]
    )
    func style(outcome: Run.Outcome, status: Int32?, failed: Bool?, style: Terminal.Style?) {
        let event = Self.event(.runFinished) {
            ($0.outcome, $0.status, $0.failed) = (outcome, status, failed)
        }
        #expect(EventLine(event, dates: testDates).style == style)
    }

    @Test("A line has time, type, job, name and what happened, in columns")
    func line() {
        let line = EventLine(Self.event(.fireFired), dates: testDates)
        #expect(
            line.text(for: .plain)
                == "2026-12-01 09:00:00.000  fire.fired       2     standup       on time\n"
        )
        let paused = EventLine(Self.event(.jobPaused), dates: testDates)
        #expect(
            paused.text(for: .plain)
                == "2026-12-01 09:00:00.000  job.paused       2     standup\n"
        )
        #expect(line.text(for: Terminal(width: 30, hasColour: false)).count == 31)
    }

    @Test("A name with a line break stays on one line")
    func oneLine() {
        let event = Self.event(.jobPaused) { $0.name = "a\nb" }
        #expect(EventLine(event, dates: testDates).text(for: .plain).count { $0 == "\n" } == 1)
    }
}
