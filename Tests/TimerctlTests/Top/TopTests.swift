// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Top") struct TopTests {
    static let status = StatusReply(
        version: "1.2.3",
        pid: 42,
        startedAt: testNow - .seconds(7500),
        now: testNow,
        database: "/var/lib/timerd/timerd.db",
        socket: "/run/timerd/timerd.sock",
        scheduled: 3,
        paused: 1,
        armed: 2,
        running: 2,
        connections: 4,
        watchers: 1,
        seq: 123,
        nextFireDate: nil,
        trouble: nil
    )

    private static func open(
        _ job: Int64,
        fire: Int64,
        _ state: Run.State,
        change: (inout Run) -> Void
    ) -> Run {
        var run = Run(
            job: JobID(rawValue: job),
            fire: FireID(rawValue: fire),
            state: state,
            fireDate: testNow - .seconds(5)
        )
        change(&run)
        return run
    }

    static let frame = TopFrame(
        status: status,
        runs: [
            open(4, fire: 73, .waiting) { ($0.waitsFor, $0.name) = (.run, "report") },
            open(5, fire: 72, .done) {
                $0.id = RunID(rawValue: 12)
                $0.attempt = 2
                $0.nextAttemptAt = testNow + .seconds(30)
            },
            open(5, fire: 72, .done) { $0.id = RunID(rawValue: 11) },
            open(3, fire: 71, .running) {
                ($0.id, $0.name) = (RunID(rawValue: 10), "backup")
                $0.startedAt = testNow - .seconds(5)
            },
            open(3, fire: 70, .running) {
                ($0.id, $0.name) = (RunID(rawValue: 9), "backup")
                $0.startedAt = testNow - .seconds(200)
            },
        ],
        jobs: [
            job(7) { $0.fireDate = testNow - .seconds(12) },
            job(2) {
                $0.definition.name = "heartbeat"
                $0.last = run(.done) {
                    $0.outcome = .exited
                    $0.status = 1
                    $0.failed = true
                    $0.endedAt = testNow - .seconds(3)
                }
            },
        ],
        dates: testDates
    )

    @Test("What runs comes first, then what waits, is late, and is next")
    func text() {
        #expect(
            Self.frame.text(for: .plain) == """
                09:00:00  timerd 1.2.3, up 2 h 5 min: 3 scheduled, 1 paused, 2 armed
                2 running, 2 waiting, 1 late; 4 connected, 1 watching

                STATE    JOB  NAME       TIME            \("")
                running    3  backup     for 3 min 20 s  run 9
                running    3  backup     for 5.0 s       run 10
                waiting    5  -          for 5.0 s       run 12, attempt 2, tried again in 30 s
                waiting    4  report     for 5.0 s       for the run before it to end
                late       7  -          12 s ago        every 5s
                next       2  heartbeat  in 5 s          every 5s; last exit 1 3 s ago

                """
        )
    }

    @Test("A job that is held is no late one, and none that is next: it says why it fires nothing")
    func held() {
        var frame = Self.frame
        frame.runs = []
        frame.jobs = [
            job(7) { ($0.fireDate, $0.held) = (testNow - .seconds(12), "its zone 'X' is gone") },
            job(8) { ($0.fireDate, $0.held) = (testNow + .seconds(60), "its owner is gone") },
        ]
        let lines = frame.text(for: .plain).split(separator: "\n")
        #expect(lines[1].hasPrefix("0 running, 0 waiting, 0 late; "))
        #expect(lines[3] == "held     7  -     -     its zone 'X' is gone; every 5s")
        #expect(lines[4] == "held     8  -     -     its owner is gone; every 5s")
        #expect(!frame.isTicking)
    }

    @Test("What a screen has no room for is counted")
    func height() {
        let terminal = Terminal(width: 60, hasColour: false)
        let lines = Self.frame.text(for: terminal, height: 8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        #expect(lines.count == 9, "8 and the end of the last")
        #expect(lines[7] == "… 3 more")
        #expect(lines.allSatisfy { Printable.width(String($0)) <= 60 })
        #expect(Self.frame.text(for: terminal, height: 10).contains("heartbeat"))
        #expect(!Self.frame.text(for: terminal, height: 3).contains("running    3"))
    }

    @Test("The clock ticks while something runs, or is about to; else it does not")
    func ticking() {
        var frame = Self.frame
        #expect(frame.isTicking)
        frame.runs = []
        #expect(frame.isTicking, "a fire is near")
        frame.jobs = [job { $0.fireDate = testNow + .seconds(600) }]
        #expect(!frame.isTicking)
    }

    @Test("Trouble of the store is said")
    func trouble() {
        var frame = Self.frame
        frame.status.trouble = "the disk is \u{1b}full"
        #expect(frame.text(for: .plain).contains("\ntrouble: the disk is ^[full\n"))
    }

    @Test("An event is not late while nothing is stored: it fires, and is told of later")
    func events() {
        var frame = Self.frame
        #expect(frame.entries.count { $0.kind == .late } == 1)
        frame.status.trouble = "the disk is full"
        #expect(frame.entries.count { $0.kind == .late } == 0)
        frame.jobs[0].definition.command = ["true"]
        #expect(frame.entries.count { $0.kind == .late } == 1)
    }

    @Test("News are told once, but the end for good")
    func signals() async {
        let signals = TopSignals()
        #expect(signals.take(change: true).hasChanged)
        #expect(!signals.take(change: true).hasChanged)
        signals.tellOfEvent()
        signals.tell { $0.isOver = true }
        await signals.wait(.seconds(60))
        signals.tell { $0.keys.append(.enter) }
        let news = signals.take(change: false)
        #expect(news.hasChanged && news.keys == [.enter])
        #expect(signals.take(change: true).keys.isEmpty)
        #expect(signals.take(change: true).isOver)
        #expect(signals.take(change: true).isOver)
        await signals.wait(.milliseconds(1))
    }
}
