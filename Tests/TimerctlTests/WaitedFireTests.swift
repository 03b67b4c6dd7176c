// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

/// What `fire --wait` makes of rows and events, in any order in which they come.
@Suite("WaitedFire") struct WaitedFireTests {
    /// An attempt of the fire that has ended with `status`.
    private static func attempt(
        _ number: Int,
        _ status: Int32,
        _ change: (inout Run) -> Void = { _ in }
    ) -> Run {
        run(.done) {
            $0.id = RunID(rawValue: Int64(100 + number))
            ($0.attempt, $0.outcome, $0.status) = (number, .exited, status)
            change(&$0)
        }
    }

    /// The event of its end.
    private static func end(
        _ number: Int,
        _ status: Int32,
        _ change: (inout Event) -> Void = { _ in }
    ) -> Event {
        var event = Event(seq: 1, type: .runFinished, at: testNow, job: JobID(rawValue: 2))
        (event.fire, event.fireDate) = (FireID(rawValue: 70), testNow)
        (event.run, event.attempt) = (RunID(rawValue: Int64(100 + number)), number)
        (event.outcome, event.status) = (.exited, status)
        change(&event)
        return event
    }

    private static func waited(_ events: [Event] = []) -> WaitedFire {
        var fire = WaitedFire(FireID(rawValue: 70))
        for event in events { fire.hear(event) }
        return fire
    }

    static let standings: [(Run, WaitedFire.Standing)] = [
        (run(.claimed), .open),
        (run(.running), .open),
        (run(.waiting) { $0.waitsFor = .run }, .open),
        (attempt(1, 5) { $0.nextAttemptAt = testNow }, .open),
        (attempt(1, 5) { $0.waitsFor = .retry }, .open),
        (attempt(1, 5) { $0.waitsFor = .place }, .open),
        (
            attempt(1, 5) { $0.waitsFor = .onFailure },
            .ended(attempt(1, 5) { $0.waitsFor = .onFailure })
        ),
        (attempt(1, 5), .ended(attempt(1, 5))),
        (run(.skipped) { $0.reason = .withdrawn }, .dropped(.withdrawn)),
        (run(.fired), .event),
    ]

    @Test("What is there of it counts", arguments: standings)
    func rows(row: Run, standing: WaitedFire.Standing) {
        #expect(Self.waited().standing([row]) == standing)
    }

    @Test("A fire that is over and whose runs are gone is no event, and ends as was told")
    func gone() {
        let handler = Self.attempt(9, 0) { ($0.attempt, $0.onFailure) = (nil, true) }
        let failed = run(.done) { $0.failed = true }
        for rows: [Run] in [[], [run(.done)], [failed], [handler]] {
            #expect(Self.waited().standing(rows) == .gone(nil))
            let fire = Self.waited([Self.end(1, 5), Self.end(2, 9)])
            guard case .gone(let last?) = fire.standing(rows) else {
                Issue.record("\(fire.standing(rows))")
                continue
            }
            #expect(last.id == RunID(rawValue: 102))
            #expect(last.exitStatus == 9)
            #expect(last.reason == .manual)
        }
    }

    @Test(
        "What is told of other fires, of the commands afterwards and of begins is none of its ends"
    )
    func others() {
        let fire = Self.waited([
            Self.end(1, 5) { $0.fire = FireID(rawValue: 71) },
            Self.end(2, 5) { $0.onFailure = true },
            Self.end(3, 5) { $0.type = .runStarted },
        ])
        #expect(fire.standing([]) == .gone(nil))
    }

    @Test("Each attempt before the last is named once, also where its row is gone")
    func followed() {
        var fire = Self.waited()
        let first = Self.attempt(1, 5) { $0.nextAttemptAt = testNow }
        #expect(fire.followed([first], last: nil) == [first])
        #expect(fire.followed([first], last: nil) == [])
        // The second one is over, but what follows it is not known yet.
        fire.hear(Self.end(2, 6))
        #expect(fire.followed([], last: nil) == [])
        fire.hear(Self.end(3, 9))
        let last = RunID(rawValue: 103)
        #expect(fire.followed([run(.done)], last: last).map(\.id) == [RunID(rawValue: 102)])
        #expect(fire.followed([run(.done)], last: last) == [])
    }
}
