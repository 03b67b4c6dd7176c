// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

@Suite struct WordsTests {
    private static let now = Timestamp(rfc3339: "2026-11-24T20:04:12Z") ?? .distantPast

    private func dates() throws -> LocalDate {
        LocalDate(now: Self.now, zone: try Zone(named: "Europe/Berlin"))
    }

    @Test(
        "A date has its zone; today's has no day, a full minute no seconds, another year its number",
        arguments: [
            ("2026-11-24T20:04:10Z", "21:04:10 CET"), ("2026-11-24T08:00:00Z", "09:00 CET"),
            ("2026-11-25T01:30:00Z", "Wed 25 Nov, 02:30 CET"),
            ("2027-06-01T07:00:05Z", "Tue 1 Jun 2027, 09:00:05 CEST"),
        ]
    )
    func short(_ text: String, _ expected: String) throws {
        let date = try #require(Timestamp(rfc3339: text))
        let shown = try dates().short(date)
        #expect(shown == expected)
    }

    @Test(
        "A date whose local year has not four digits is shown in UTC",
        arguments: [
            ("Europe/Berlin", "9999-12-31T22:30:00Z", "Fri 31 Dec 9999, 23:30 CET"),
            ("Europe/Berlin", "9999-12-31T23:30:00Z", "Fri 31 Dec 9999, 23:30 UTC"),
            ("Pacific/Kiritimati", "9999-12-31T09:30:00Z", "Fri 31 Dec 9999, 23:30 +14"),
            ("Pacific/Kiritimati", "9999-12-31T23:30:00Z", "Fri 31 Dec 9999, 23:30 UTC"),
            ("America/New_York", "0001-01-01T00:30:00Z", "Mon 1 Jan 1, 00:30 UTC"),
        ]
    )
    func ends(_ zone: String, _ text: String, _ expected: String) throws {
        let date = try #require(Timestamp(rfc3339: text))
        let dates = LocalDate(now: Self.now, zone: try Zone(named: zone))
        let shown = dates.short(date)
        #expect(shown == expected)
        #expect(expected.hasPrefix(dates.shortDay(date)))
        #expect(expected.contains(dates.time(date)))
        let year = dates.day(date).year
        #expect(year == ClockFace(date, in: dates.zone).year)
    }

    @Test(
        "The zone says how far it is from UTC",
        arguments: [
            ("Europe/Berlin", "Europe/Berlin (CET, UTC+1)"), ("UTC", "UTC (UTC, UTC+0)"),
            ("America/St_Johns", "America/St_Johns (NST, UTC-3:30)"),
        ]
    )
    func zone(_ name: String, _ expected: String) throws {
        let zone = try Zone(named: name)
        #expect(LocalDate(now: Self.now, zone: zone).zoneWords == expected)
    }

    @Test("A date that daylight saving changes says how")
    func clockChange() throws {
        let zone = try Zone(named: "Europe/Berlin")
        let words = ScheduleWords(cron: "30 2 * * *", tz: "Europe/Berlin")
        let schedule = try words.schedule(anchor: Self.now, zone: zone)
        let spring = try #require(Timestamp(rfc3339: "2027-03-28T01:00:00Z"))
        let dates = try dates()
        #expect(
            ClockChange.words(spring, of: schedule, dates)
                == "clocks go forward that day: its time is not there, so it fires at 03:00"
        )
        let autumn = try #require(Timestamp(rfc3339: "2027-10-31T00:30:00Z"))
        #expect(
            ClockChange.words(autumn, of: schedule, dates)
                == "clocks go back that day: the first 02:30 of two"
        )
        #expect(ClockChange.words(Self.now, of: schedule, dates) == nil)
    }

    @Test("A run says that it is no longer kept, and that it was told to end")
    func why() throws {
        var run = Run(
            job: JobID(rawValue: 1),
            fire: FireID(rawValue: 1),
            state: .done,
            fireDate: Self.now
        )
        let dates = try dates()
        #expect(RunWords(run, dates).why == "its run is no longer kept")
        (run.id, run.outcome, run.signal) = (RunID(rawValue: 5), .signalled, 15)
        #expect(RunWords(run, dates).why == "")
        run.stopped = true
        #expect(RunWords(run, dates).why == "told to end by kill or a newer fire")
    }

    @Test("A row says which limit a fire waits for, and how a task that was dropped had failed")
    func causes() throws {
        var run = Run(
            job: JobID(rawValue: 1),
            fire: FireID(rawValue: 1),
            state: .waiting,
            fireDate: Self.now
        )
        (run.waitsFor, run.limit) = (.place, Run.PlaceLimit(.maxRunsPerUser, 4))
        let dates = try dates()
        #expect(RunWords(run, dates).why == "waiting for one of 4 places (maxRunsPerUser)")
        #expect(RunWords(run, dates).progress == "waits for one of 4 places (maxRunsPerUser)")
        (run.state, run.waitsFor, run.limit) = (.done, nil, nil)
        (run.outcome, run.status, run.failed) = (.exited, 0, true)
        (run.startedAt, run.endedAt) = (Self.now, Self.now)
        #expect(RunWords(run, dates).why == "a failure (success codes)")
        run = Run(job: run.job, fire: run.fire, state: .skipped, fireDate: Self.now)
        (run.outcome, run.error) = (.failed, "no such address")
        #expect(RunWords(run, dates).why.hasPrefix("failed: no such address; skipped: "))
    }

    @Test("Of a length of time that has passed no date is said: it counted from the last change")
    func passed() throws {
        var job = Job(
            id: JobID(rawValue: 1),
            owner: "anna",
            state: .scheduled,
            fireDate: Self.now,
            fires: 0,
            addedAt: Self.now - .seconds(3600),
            endedAt: nil,
            endReason: nil,
            definition: JobDefinition(schedule: ScheduleWords(in: "1h"))
        )
        let dates = try dates()
        #expect(job.scheduleSentence(dates) == "once, at 2026-11-24 21:04:12 CET")
        (job.state, job.fireDate) = (.finished, nil)
        #expect(job.scheduleSentence(dates) == nil)
        job.definition.schedule = ScheduleWords(at: "2026-11-24T20:04:12Z")
        #expect(job.scheduleSentence(dates) == "once, at 2026-11-24 21:04:12 CET")
    }

    @Test("A run that has ended says what its fire goes on to wait for")
    func progress() throws {
        var run = Run(
            job: JobID(rawValue: 1),
            fire: FireID(rawValue: 1),
            state: .done,
            fireDate: Self.now
        )
        (run.id, run.outcome, run.status, run.failed) = (RunID(rawValue: 5), .exited, 1, true)
        let dates = try dates()
        #expect(RunWords(run, dates).progress == "exit 1")
        run.waitsFor = .retry
        #expect(RunWords(run, dates).progress == "exit 1, waits for its next attempt")
        run.state = .waiting
        #expect(RunWords(run, dates).progress == "waits for its next attempt")
        run.waitsFor = nil
        #expect(RunWords(run, dates).progress == "waits")
    }

    @Test("A command that the runner has not told of is starting")
    func starting() throws {
        var run = Run(
            job: JobID(rawValue: 1),
            fire: FireID(rawValue: 1),
            state: .running,
            fireDate: Self.now
        )
        let dates = try dates()
        #expect(RunWords(run, dates).state.word == "starting")
        #expect(RunWords(run, dates).progress == "starting")
        run.startedAt = Self.now - .seconds(120)
        #expect(RunWords(run, dates).state.word == "running")
        #expect(RunWords(run, dates).progress == "for 2 min")
    }

    @Test("The changes of a zone's clock are found to the second")
    func changes() throws {
        let zone = try Zone(named: "Europe/Berlin")
        let from = try #require(Timestamp(rfc3339: "2027-03-22T23:00:00Z"))
        let found = ClockChange.changes(from: from, before: from + .seconds(7 * 86_400), in: zone)
        #expect(found.map(\.date.rfc3339) == ["2027-03-28T01:00:00.000000Z"])
        #expect(found.map(\.shift) == [.seconds(3600)])
    }

    @Test("Where a day has no midnight, the change is that day's, and not the one's before")
    func changeAtMidnight() throws {
        let zone = try Zone(named: "America/Havana")
        let change = try #require(Timestamp(rfc3339: "2027-03-14T05:00:00Z"))
        let day = TimeSpan.seconds(86_400)
        let before = ClockChange.changes(from: change - day, before: change, in: zone)
        #expect(before == [])
        let own = ClockChange.changes(from: change, before: change + day - .seconds(3600), in: zone)
        #expect(own.map(\.date) == [change])
        #expect(own.map(\.shift) == [.seconds(3600)])
    }

    @Test("Days, weeks and months are those of the calendar")
    func days() throws {
        let day = try #require(LocalDay("2026-11-24"))
        #expect(day.weekday == 1)
        #expect(day.monday.iso == "2026-11-23")
        #expect(day.firstOfMonth(after: 2).iso == "2027-01-01")
        #expect(day.firstOfMonth(after: -11).iso == "2025-12-01")
        #expect(day.week == 48)
        let newYear = try #require(LocalDay("2027-01-01"))
        #expect(newYear.week == 53)
        #expect(LocalDay("2026-02-30") == nil)
        #expect(LocalDay("x") == nil)
    }

    @Test(
        "Beyond the years of four digits days are days, too",
        arguments: [
            ("9999-12-31", 1, "10000-01-01"), ("9999-12-31", 32, "10000-02-01"),
            ("0001-01-01", -1, "0000-12-31"), ("0001-01-01", -367, "-1-12-31"),
        ]
    )
    func farDays(_ text: String, _ steps: Int, _ iso: String) throws {
        let end = try #require(LocalDay(text))
        let day = end + steps
        #expect(day.iso == iso)
        #expect(iso.hasSuffix("-\(day.month.padded)-\(day.day.padded)"))
        #expect(Int(iso.dropLast(6)) == day.year)
        #expect(0...6 ~= day.weekday)
    }

    @Test("HTTP has its own dates")
    func httpDate() throws {
        let date = try #require(Timestamp(rfc3339: "2026-12-01T08:00:09Z"))
        #expect(HTTPDate.text(date) == "Tue, 01 Dec 2026 08:00:09 GMT")
    }

    @Test("A job is the line that would add it")
    func commandLine() throws {
        var job = JobDefinition(schedule: ScheduleWords(cron: "30 2 * * *", tz: "Europe/Berlin"))
        job.name = "it's"
        job.tags = ["a", "b c"]
        job.env = ["B": "2", "A": "1 2"]
        job.retries = 2
        job.successCodes = [0, 3]
        job.rerunInterrupted = true
        job.on = "gpu"
        job.onFailure = ["/bin/sh", "-c", "mail ops | cat"]
        job.memoryMax = "512M"
        job.command = ["/opt/backup.sh", "--keep", "30"]
        #expect(
            CommandLine.adding(job)
                == #"timerctl add --cron '30 2 * * *' --tz Europe/Berlin --name 'it'\''s' --tag a --tag 'b c' "#
                + "--env 'A=1 2' --env B=2 --retries 2 --success-codes 0,3 --on-failure 'mail ops | cat' "
                + "--rerun-interrupted --on gpu --memory-max 512M -- /opt/backup.sh --keep 30"
        )
    }

    @Test("A job whose URL is not shown whole is no line that would add it")
    func hiddenURLs() {
        var job = JobDefinition(schedule: ScheduleWords(in: "1h"))
        #expect(!CommandLine.hidesURL(job))
        (job.ping, job.notify) = ("https://hc.example/secret", ["command:echo /…", "mail"])
        #expect(!CommandLine.hidesURL(job))
        job.ping = "https://hc.example/…#dbc9"
        #expect(CommandLine.hidesURL(job))
        (job.ping, job.notify) = (nil, ["mail", "http://127.0.0.1:1/…#fba0"])
        #expect(CommandLine.hidesURL(job))
    }

    @Test("A value that begins with a dash is said in one word with its option")
    func dashes() {
        var job = JobDefinition(schedule: ScheduleWords(in: "1h"))
        (job.name, job.key, job.priority) = ("-n", "-k", -5)
        job.tags = ["a", "--b"]
        #expect(
            CommandLine.adding(job)
                == "timerctl add --in 1h --name=-n --tag a --tag=--b --priority=-5 --key=-k"
        )
    }

    @Test(
        "A line is split as a shell would",
        arguments: [
            ("a b  c", ["a", "b", "c"]), ("'a b' \"c d\"", ["a b", "c d"]), ("a\\ b", ["a b"]),
            ("\"a\\\"b\\n\"", ["a\"b\\n"]), ("''", [""]), ("a'b'\"c\"", ["abc"]), (" \n ", []),
            ("'a", nil), ("a\\", nil),
        ] as [(String, [String]?)]
    )
    func split(_ line: String, _ words: [String]?) {
        #expect(ShellWords.split(line) == words)
    }

    @Test("Numbers of bytes and of things are said as people say them")
    func numbers() {
        #expect(ByteCount.words(1) == "1 byte")
        #expect(ByteCount.words(1229) == "1.2 KiB")
        #expect(ByteCount.words(212 << 20) == "212 MiB")
        #expect(1204.grouped == "1,204")
        #expect(123.grouped == "123")
        #expect(1_234_567.grouped == "1,234,567")
        #expect(2.of("date was", "dates were") == "2 dates were")
    }

    @Test("How long a run took is not known where the clock was set back meanwhile")
    func setBack() {
        var run = Run(
            job: JobID(rawValue: 1),
            fire: FireID(rawValue: 1),
            state: .done,
            fireDate: Self.now
        )
        run.startedAt = Self.now
        run.endedAt = Self.now + .seconds(2)
        #expect(run.duration(Self.now) == .seconds(2))
        run.endedAt = Self.now - .seconds(3600)
        #expect(run.duration(Self.now) == nil)
        #expect(RunTimes([run]).count == 0)
    }
}
