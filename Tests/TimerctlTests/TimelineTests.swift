// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("Timeline") struct TimelineTests {
    private static func minutes(_ count: Int64) -> TimeSpan { .seconds(count * 60) }

    /// A run that began so many minutes ago and took so many; nil for one that goes on.
    private static func ran(_ ago: Int64, for length: Int64?, exit status: Int32 = 0) -> Run {
        run(length == nil ? .running : .done) {
            $0.fireDate = testNow - minutes(ago)
            $0.firedAt = $0.fireDate
            $0.startedAt = $0.fireDate
            $0.endedAt = length.map { testNow - minutes(ago - $0) }
            $0.outcome = length == nil ? nil : .exited
            $0.status = length == nil ? nil : status
            $0.failed = status == 0 ? nil : true
        }
    }

    private static func skipped(_ ago: Int64, through last: Int64? = nil) -> Run {
        run(.skipped) {
            $0.fireDate = testNow - minutes(ago)
            $0.through = last.map { testNow - minutes($0) }
            $0.reason = .misfire
        }
    }

    private static func row(
        _ id: Int64,
        _ name: String,
        _ schedule: ScheduleWords,
        fireDate minutes: Int64,
        _ runs: [Run],
        change: (inout Job) -> Void = { _ in }
    ) -> TimelinePicture.Row {
        let job = job(id, schedule: schedule) {
            $0.definition.name = name
            $0.definition.command = ["true"]
            $0.addedAt = testNow - self.minutes(10_000)
            $0.fireDate = testNow + self.minutes(minutes)
            change(&$0)
        }
        return TimelinePicture.Row(job: job, runs: runs)
    }

    private static let rows: [TimelinePicture.Row] = [
        row(1, "heartbeat", ScheduleWords(every: "30s"), fireDate: 0, [ran(1, for: 0)]) {
            $0.fireDate = testNow + .seconds(20)
        },
        row(
            2,
            "backup",
            ScheduleWords(every: "2h"),
            fireDate: 70,
            [ran(50, for: nil), ran(170, for: 65, exit: 1), ran(290, for: 80)]
        ),
        row(
            12,
            "fetch the news",
            ScheduleWords(every: "1h"),
            fireDate: 31,
            [ran(29, for: 3), skipped(209, through: 89), ran(269, for: 100), ran(269, for: 40)]
        ),
        row(13, "report", ScheduleWords(cron: "0 12 * * *"), fireDate: 180, []),
        row(
            14,
            "paused",
            ScheduleWords(every: "1h"),
            fireDate: 9,
            [run(.waiting) { $0.fireDate = testNow - .seconds(600) }]
        ) { $0.state = .paused },
        row(15, "boot", ScheduleWords(cron: "@reboot"), fireDate: 0, []) { $0.fireDate = nil },
    ]

    private static func picture(
        _ rows: [TimelinePicture.Row] = rows,
        past: Int64 = 360,
        next: Int64 = 360,
        width: Int = 80,
        isUnicode: Bool = true
    ) -> TimelinePicture {
        TimelinePicture(
            rows,
            past: minutes(past),
            next: minutes(next),
            dates: testDates,
            width: width,
            isUnicode: isUnicode
        )
    }

    @Test("What ran, how long, what failed, was missed and is to come, at 80 columns")
    func picture() {
        var rows = Self.rows
        rows[0].knownFrom = testNow - .seconds(3000)
        #expect(
            Self.picture(rows).text(for: .plain) == """
                                        │04:00    │06:00         │now  │10:00    │12:00
                1 heartbeat        ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄    ●│◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆◆
                2 backup                ━━━━━━━●  ━━━━━━✗   ━━━━▶│     ◇         ◇         ◇
                12 fetch the news         ▓▓▓▓━○○○○○○○○○○○    ●  │  ◇    ◇    ◇    ◇    ◇    ◇
                13 report                                        │               ◇
                14 paused                                       …│ paused
                15 boot                                          │ at start-up

                ┄ no longer kept   ━ took that long   ● ran   ▓ several at once   ▶ running
                … waits   ○ missed or skipped   ✗ failed   ◇ will fire   ◆ several times

                """
        )
    }

    @Test("The same in ASCII, where the locale has nothing else")
    func ascii() {
        let text = Self.picture(isUnicode: false).text(for: .plain)
        #expect(text.utf8.allSatisfy { $0 < 0x80 })
        #expect(
            text == """
                                        |04:00    |06:00         |now  |10:00    |12:00
                1 heartbeat                                     o|******************************
                2 backup                =======o  ======x   ====>|     +         +         +
                12 fetch the news         ####=-----------    o  |  +    +    +    +    +    +
                13 report                                        |               +
                14 paused                                       w| paused
                15 boot                                          | at start-up

                = took that long   o ran   # several at once   > running   w waits
                - missed or skipped   x failed   + will fire   * several times

                """
        )
    }

    @Test("A job that is held, or of which a fire waits, says why; the owners where they differ")
    func standing() {
        let limit = Run.PlaceLimit(.maxRunsPerUser, 4)
        let rows = [
            Self.row(1, "disk", ScheduleWords(every: "1h"), fireDate: 9, []) {
                $0.held = "its zone 'X' is gone"
            },
            Self.row(
                2,
                "sync",
                ScheduleWords(every: "1h"),
                fireDate: 90,
                [run(.waiting) { ($0.waitsFor, $0.limit) = (.place, limit) }]
            ) { $0.owner = "ben" },
            Self.row(3, "mend", ScheduleWords(every: "1h"), fireDate: 9, []) {
                ($0.state, $0.maintenance) = (.paused, true)
            },
        ]
        let text = Self.picture(rows).text(for: .plain)
        #expect(text.contains("│ held\n") && text.contains("│ paused for maintenance\n"))
        #expect(text.contains("\n1 anna: disk: held: its zone 'X' is gone\n"))
        let waits = "waiting for one of 4 places (maxRunsPerUser)"
        #expect(text.contains("\n2 ben: sync: \(waits)\n"))
        let own = Self.picture([rows[0], rows[2]]).text(for: .plain)
        #expect(own.contains("\n1 disk: held: ") && own.contains("\n3 mend "))
    }

    @Test(
        "The scale has full hours and midnights of the clock, also behind a change of it",
        arguments: [
            (
                "2026-10-22T22:00:00Z", 24, 168,
                "|10-22 |now |10-24 |10-25 |10-26 |10-27 |10-28 |10-29"
            ),
            (
                "2026-10-24T22:00:00Z", 3, 21,
                "|21:00 |now |03:00 |06:00 |09:00 |12:00 |15:00 |18:00"
            ),
            (
                "2027-03-27T23:00:00Z", 3, 21,
                "|21:00 |now |03:00 |06:00 |09:00 |12:00 |15:00 |18:00"
            ),
        ] as [(String, Int64, Int64, String)]
    )
    func scale(now: String, past: Int64, next: Int64, words: String) {
        let now = date(now)
        let axis = TimelineAxis(
            now: now,
            past: .seconds(past * 3600),
            next: .seconds(next * 3600),
            label: 0,
            width: 83
        )
        let scale = axis.scale(LocalDate(now: now, zone: berlin), mark: "|")
        #expect(scale.split(separator: " ").joined(separator: " ") == words)
    }

    @Test("No line is wider than it may be", arguments: [40, 60, 80, 133, 200])
    func widths(width: Int) {
        for past in [1, 60, 360, 10_080] as [Int64] {
            let text = Self.picture(past: past, width: width).text(for: .plain)
            for line in text.split(separator: "\n") {
                #expect(Printable.width(String(line)) <= width)
            }
        }
    }

    @Test("Colour changes nothing but colour")
    func colour() {
        let plain = Self.picture().text(for: .plain)
        let coloured = Self.picture().text(for: Terminal(width: 80, hasColour: true))
        #expect(coloured.contains("\u{1b}[31m✗\u{1b}[0m"))
        #expect(coloured.replacing(/\u{1b}\[\d+m/, with: "") == plain)
    }

    @Test("Many short runs of a slice are one mark, and none is taken for a failure")
    func short() {
        let runs = (0..<90).map { (second: Int64) in
            run(.done) {
                $0.fireDate = testNow - .seconds(second + 1)
                $0.startedAt = $0.fireDate + .milliseconds(3)
                // Looked at in the other order.
                $0.endedAt = $0.fireDate + .milliseconds(2)
                $0.outcome = .exited
                $0.status = 0
            }
        }
        let row = Self.row(1, "a", ScheduleWords(every: "1s"), fireDate: 1, runs)
        let text = Self.picture([row], past: 30, next: 30).text(for: .plain)
        #expect(text.contains(" ●●│"), "\(text)")
    }

    @Test("A history that was cut is told from one in which nothing happened")
    func cut() {
        var job = Self.rows[1].job
        var runs = Self.rows[1].runs
        for index in runs.indices { runs[index].fire = FireID(rawValue: Int64(9 - index)) }
        job.fires = 3
        let start = testNow - Self.minutes(360)
        let whole = TimelinePicture.Row(job, RunsReply(runs: runs), from: start)
        #expect(whole.knownFrom == nil)
        job.fires = 4
        let cut = TimelinePicture.Row(job, RunsReply(runs: runs), from: start)
        #expect(cut.knownFrom == testNow - Self.minutes(290))
        let short = TimelinePicture.Row(job, RunsReply(runs: runs), from: testNow - .seconds(6000))
        #expect(short.runs.count == 1, "the two that were over before are not drawn")
        #expect(short.knownFrom == nil, "all of the picture is known")
        // The run's row goes before the fire's.
        runs[2].outcome = nil
        let half = TimelinePicture.Row(job, RunsReply(runs: runs), from: start)
        #expect(half.knownFrom == testNow - Self.minutes(170))
        let text = Self.picture([half]).text(for: .plain)
        #expect(text.contains("┄") && !text.contains("●"))
    }

    @Test("What runs is drawn however long ago it began, and however many dates are newer")
    func longRun() {
        var job = Self.rows[1].job
        job.fires = 1
        let long = run(.running) {
            ($0.id, $0.fire) = (RunID(rawValue: 1), FireID(rawValue: 1))
            $0.fireDate = testNow - Self.minutes(500)
            ($0.firedAt, $0.startedAt) = ($0.fireDate, $0.fireDate)
        }
        let skipped = run(.skipped) {
            ($0.fire, $0.fireDate) = (FireID(rawValue: 2), testNow - Self.minutes(100))
        }
        let start = testNow - Self.minutes(360)
        let row = TimelinePicture.Row(job, RunsReply(runs: [skipped, long]), from: start)
        #expect(row.runs.count == 2)
        #expect(Self.picture([row]).text(for: .plain).contains("▶│"))
        var cut = TimelinePicture.Row(job, RunsReply(runs: [skipped]), from: start)
        let waiting = run(.waiting) { $0.fire = FireID(rawValue: 3) }
        let (first, again) = (cut.add(open: [waiting, long]), cut.add(open: [long]))
        #expect(first == [false, true] && again == [false])
        #expect(cut.runs.count == 2)
        #expect(Self.picture([cut]).text(for: .plain).contains("▶│"))
    }

    @Test(
        "What is in progress is drawn as that, a worker's task too, beside a date that was skipped just now",
        arguments: [.running, .reserved] as [Run.State],
        [.skipped, .waiting, .done] as [Run.State]
    )
    func inProgress(state: Run.State, other: Run.State) {
        let open = run(state) {
            $0.fireDate = testNow - Self.minutes(100)
            ($0.firedAt, $0.startedAt) = ($0.fireDate, $0.fireDate)
        }
        let beside = run(other) {
            ($0.fireDate, $0.endedAt) = (testNow, testNow)
            ($0.outcome, $0.status) = other == .done ? (.exited, 0) : (nil, nil)
        }
        for runs in [[open], [beside, open]] {
            let row = Self.row(1, "a", ScheduleWords(every: "1h"), fireDate: 9, runs)
            let text = Self.picture([row]).text(for: .plain)
            #expect(text.contains("▶│") && !text.contains("✗"), "\(text)")
        }
    }

    @Test("What a job's name holds cannot reach the terminal")
    func harmless() {
        let row = Self.row(1, "\u{1b}[2J\n", ScheduleWords(every: "1h"), fireDate: 9, [])
        let text = Self.picture([row]).text(for: .plain)
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || !HiddenCharacters.contain($0) })
    }

    @Test(
        "The locale says whether there is more than ASCII",
        arguments: [
            ("C.UTF-8", true), ("en_US.utf8", true), ("de_DE.UTF-8@euro", true), ("C", false),
            ("en_US.ISO-8859-1", false), (nil, false),
        ]
    )
    func locale(locale: String?, isUnicode: Bool) {
        #expect(Terminal.isUnicode(locale: locale) == isUnicode)
    }

    @Test("Lengths of time and widths out of range are refused")
    func options() {
        expectUsageError("--past '5s' is no duration from 1min to 366d") {
            try TimelineCommand.parse(["--past", "5s"])
        }
        expectUsageError("--width 20 is not a number from 40 to 1000") {
            try TimelineCommand.parse(["--width", "20"])
        }
    }
}
