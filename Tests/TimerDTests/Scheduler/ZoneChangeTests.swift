// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// The clock starts at 09:00 of Berlin, which is 10:00 of Helsinki and 08:00 of London.
@Suite("A zone whose rules change", .timeLimit(.minutes(2)))
struct ZoneChangeTests {
    private static let berlin = "Europe/Berlin"
    private static let day: Int64 = 86_400

    /// A zone that Berlin gets the rules of, and how much earlier its local times come, in seconds.
    struct Shift: CustomTestStringConvertible, Sendable {
        var zone: String
        var seconds: Int64
        var testDescription: String { zone }
    }

    static let shifts = [
        Shift(zone: "Europe/Helsinki", seconds: -3600), Shift(zone: "Europe/London", seconds: 3600),
    ]

    private static func cron(_ expression: String) -> ScheduleWords {
        ScheduleWords(cron: expression, tz: berlin)
    }

    /// Each row with its dates, in seconds after the start, oldest date first.
    private static func story(_ test: TestScheduler, _ job: JobID) async throws -> [String] {
        try await test.history(job).sorted { $0.fireDate < $1.fireDate }.map { run in
            let first = (run.fireDate - TestScheduler.start).microseconds / 1_000_000
            return "\(run.reason?.rawValue ?? "\(run.state)") \(first) x\(run.dates ?? 1)"
        }
    }

    /// As SIGHUP does.
    private static func reload(_ test: TestScheduler) async throws {
        await test.scheduler.reload(test.scheduler.settings)
        try await test.settle()
    }

    private static func seconds(_ date: Timestamp?) -> Int64? {
        date.map { ($0 - TestScheduler.start).microseconds / 1_000_000 }
    }

    @Test("At the next window the dates that wait go by the new rules", arguments: shifts)
    func window(shift: Shift) async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("0 12 * * *"))
            let other = try await test.add(ScheduleWords(cron: "0 12 * * *", tz: "Europe/Paris"))
            try zones.set(Self.berlin, as: shift.zone)
            try await test.advance(by: .seconds(3 * 3600 + 3700))
            #expect(test.fired(job.id) == [3 * 3600 + shift.seconds])
            #expect(test.fired(other.id) == [3 * 3600])
        }
    }

    @Test("A date that is armed does not fire by rules that a reload has found to be over")
    func reload() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let event = try await test.add(Self.cron("5 0 9 * * *"))
            let command = try await test.add(Self.cron("5 0 9 * * *"), command: ["true"])
            #expect(try await test.job(event.id).claim != nil)
            try zones.set(Self.berlin, as: "Europe/London")
            try await Self.reload(test)
            try await test.advance(by: .seconds(60))
            for job in [event.id, command.id] {
                #expect(test.fired(job).isEmpty)
                #expect(try await Self.story(test, job) == [])
                #expect(Self.seconds(try await test.job(job).fireDate) == 3605)
            }
            let told = test.sink.all(.jobRescheduled)
            #expect(told.map(\.job).sorted() == [event.id, command.id])
            #expect(told.allSatisfy { $0.reason == "zoneChanged" && $0.fireDate != nil })
            try await test.advance(by: .seconds(3600))
            for job in [event.id, command.id] { #expect(test.fired(job) == [3605]) }
        }
    }

    @Test("A run that was made ready for a date by rules that are over is not started")
    func prepared() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("5 0 9 * * *"), command: ["true"])
            try await test.advance(to: TestScheduler.start + .milliseconds(4995))
            let stored = try await test.store.reader.read {
                try $0.prepare("SELECT state FROM fires").value(as: Run.State.self)
            }
            #expect(stored == .running)
            try zones.set(Self.berlin, as: "Europe/London")
            try await Self.reload(test)
            try await test.advance(by: .seconds(10))
            #expect(test.runner.requests.isEmpty)
            #expect(try await Self.story(test, job.id) == [])
            try await test.advance(by: .seconds(3600))
            #expect(test.fired(job.id) == [3605])
            #expect(test.runner.requests.count == 1)
        }
    }

    @Test("A local time that has fired fires no second time that day", arguments: shifts)
    func firedToday(shift: Shift) async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("5 0 9 * * *"))
            try await test.advance(by: .seconds(60))
            try zones.set(Self.berlin, as: shift.zone)
            try await Self.reload(test)
            // Nor where the clock goes back a little.
            test.clock.step(by: .seconds(-30))
            _ = await test.scheduler.clockStepped()
            try await test.advance(by: .seconds(Self.day + 7200))
            let next = Self.day + 5 + shift.seconds
            #expect(test.fired(job.id) == [5, next])
            let again = shift.seconds > 0 ? ["zoneChanged \(5 + shift.seconds) x1"] : []
            #expect(
                try await Self.story(test, job.id) == ["fired 5 x1"] + again + ["fired \(next) x1"]
            )
        }
    }

    @Test("A local time that has passed by the new rules alone follows the misfire policy")
    func jumpedOver() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let once = try await test.add(Self.cron("0 30 9 * * *"))
            let skip = try await test.add(Self.cron("0 30 9 * * *")) { $0.misfire = .skip }
            try zones.set(Self.berlin, as: "Europe/Helsinki")
            try await Self.reload(test)
            try await test.advance(by: .seconds(3600))
            #expect(test.fired(once.id) == [-1800])
            #expect(try await test.history(once.id).map(\.missed) == [1])
            #expect(try await Self.story(test, skip.id) == ["zoneChanged -1800 x1"])
            try await test.advance(by: .seconds(Self.day))
            #expect(test.fired(skip.id) == [Self.day - 1800])
        }
    }

    @Test("A change while no daemon runs is found at the start", arguments: shifts)
    func down(shift: Shift) async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let waits = try await test.add(Self.cron("0 12 * * *"))
            let claimed = try await test.add(Self.cron("3 0 9 * * *"), command: ["true"])
            let paused = try await test.add(Self.cron("0 12 * * *")) { $0.paused = true }
            try zones.set(Self.berlin, as: shift.zone)
            let after = try await test.crashedAndDown(for: .seconds(10))
            let expected = 3 * 3600 + shift.seconds
            #expect(Self.seconds(try await after.job(paused.id).fireDate) == expected)
            try await after.advance(by: .seconds(4 * 3600 + 60))
            #expect(after.fired(waits.id) == [expected])
            // The claim's date has passed by both, or is still to come.
            #expect(after.fired(claimed.id) == [3 + shift.seconds])
            #expect(try await after.history(claimed.id).map(\.state) == [.done])
            try await after.close()
        }
    }

    @Test("An event that may have been told before a crash is told again, and that day is over")
    func redelivered() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("3 0 9 * * *"))
            try zones.set(Self.berlin, as: "Europe/London")
            let after = try await test.crashedAndDown(for: .seconds(10))
            try await after.advance(by: .seconds(2 * 3600))
            #expect(after.fired(job.id) == [3])
            #expect(after.sink.all(.fireFired).map(\.redelivered) == [true])
            #expect(try await Self.story(after, job.id) == ["fired 3 x1", "zoneChanged 3603 x1"])
            try await after.close()
        }
    }

    @Test("A change that a crash cuts short is seen to by the next daemon, also one of many jobs")
    func many() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let words = Array(
                repeating: Self.cron("0 12 * * *"),
                count: 3 * JobTransaction.zonePiece
            )
            let jobs = try await test.add(words, of: 1000)
            try zones.set(Self.berlin, as: "Europe/London")
            await test.scheduler.reload(test.scheduler.settings)
            let after = try await test.killedAndDown(for: .seconds(1))
            for test in [test, after] {
                for job in jobs {
                    #expect(Self.seconds(try await test.job(job.id).fireDate) == 4 * 3600)
                }
            }
            let left = try await after.store.reader.read {
                try $0.prepare("SELECT count(DISTINCT zone_rules_id) FROM jobs").value(as: Int.self)
            }
            #expect(left == 1)
            try await after.close()
        }
    }

    @Test("Rules that come back are gone by again")
    func back() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("0 12 * * *"))
            try zones.set(Self.berlin, as: "Europe/London")
            try await Self.reload(test)
            zones.restore(Self.berlin)
            try await Self.reload(test)
            try await test.advance(by: .seconds(4 * 3600 + 60))
            #expect(test.fired(job.id) == [3 * 3600])
        }
    }

    @Test(
        "A local time that has not fired fires by rules that come back, also after others in between",
        arguments: [["Europe/London"], ["Europe/London", "Atlantic/Azores"]]
    )
    func backAgain(zones others: [String]) async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("0 30 9-12 * * *"))
            try await test.advance(by: .seconds(1900))
            for other in others {
                try zones.set(Self.berlin, as: other)
                try await Self.reload(test)
            }
            #expect(try await Self.story(test, job.id).contains("zoneChanged 5400 x1"))
            zones.restore(Self.berlin)
            try await Self.reload(test)
            try await test.advance(by: .seconds(3 * 3600))
            #expect(test.fired(job.id) == [1800, 5400, 9000, 12_600])
            #expect(try await Self.story(test, job.id).allSatisfy { $0.hasPrefix("fired") })
        }
    }

    @Test("What was dropped by the old rules does not drop the local times that come instead")
    func droppedInstants() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("0 0,30 9-20 * * *"))
            try await test.change(job.id, .skip(2))
            // 10:30 comes an hour earlier.
            try zones.set(Self.berlin, as: "Europe/Helsinki")
            try await Self.reload(test)
            try await test.advance(by: .seconds(3700))
            #expect(test.fired(job.id) == [1800, 3600])
        }
    }

    @Test("Jobs of a zone that is gone are held, all others go on, and so do they once it is back")
    func gone() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("5 0 9 * * *"))
            let other = try await test.add(ScheduleWords(cron: "0 12 * * *", tz: "Europe/Paris"))
            zones.remove(Self.berlin)
            try await Self.reload(test)
            let held = try await test.job(job.id)
            #expect(held.held == "zone 'Europe/Berlin' is unknown")
            try await test.advance(by: .seconds(4 * 3600))
            #expect(test.fired(job.id).isEmpty)
            #expect(test.fired(other.id) == [3 * 3600])
            try zones.set(Self.berlin, as: "Europe/London")
            // A few of the looks that come once a minute.
            for _ in 1...5 { try await test.advance(by: .seconds(60)) }
            #expect(try await test.job(job.id).held == nil)
            // 09:00:05 of London has passed meanwhile.
            #expect(test.fired(job.id) == [3605])
            try await test.advance(by: .seconds(Self.day))
            #expect(test.fired(job.id) == [3605, Self.day + 3605])
        }
    }

    @Test("A fire that was moved stays where it was put, in place of the same local time")
    func moved() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("0 12 * * *"))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(7000)))
            try zones.set(Self.berlin, as: "Europe/London")
            try await Self.reload(test)
            try await test.advance(by: .seconds(Self.day + 4 * 3600 + 60))
            #expect(test.fired(job.id) == [7000, Self.day + 4 * 3600])
            #expect(
                try await Self.story(test, job.id) == [
                    "fired 7000 x1", "moved 14400 x1", "fired \(Self.day + 4 * 3600) x1",
                ]
            )
        }
    }

    @Test("A local time that its user dropped stays dropped", arguments: shifts)
    func dropped(shift: Shift) async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("0 12 * * *"))
            try await test.change(job.id, .skip(1))
            try zones.set(Self.berlin, as: shift.zone)
            try await Self.reload(test)
            try await test.advance(by: .seconds(Self.day + 5 * 3600))
            let date = 3 * 3600 + shift.seconds
            #expect(test.fired(job.id) == [Self.day + date])
            let story = try await Self.story(test, job.id)
            #expect(story.contains("skip 10800 x1") && story.contains("zoneChanged \(date) x1"))
            #expect(story.count == 3)
        }
    }

    @Test("A schedule that follows real time goes on with the next instant", arguments: shifts)
    func realTime(shift: Shift) async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(Self.cron("*/10 * * * *"))
            try await test.advance(by: .seconds(700))
            try zones.set(Self.berlin, as: shift.zone)
            try await Self.reload(test)
            try await test.advance(by: .seconds(1200))
            #expect(test.fired(job.id) == [600, 1200, 1800])
            #expect(try await Self.story(test, job.id).count == 3)
        }
    }

    @Test("A schedule without a zone keeps that of who adds it, by name")
    func name() async throws {
        try await TestScheduler.with { test in
            let berlin = try Zone(named: Self.berlin)
            func stored(_ words: ScheduleWords, _ zone: Zone) throws -> String? {
                let moment = test.clock.now()
                let job = JobDefinition(schedule: words)
                return try NewJob(job, owner: 0, at: moment, zone: zone).definition.schedule.tz
            }
            #expect(try stored(ScheduleWords(cron: "0 9 * * *"), berlin) == Self.berlin)
            #expect(try stored(ScheduleWords(calendar: "daily"), berlin) == Self.berlin)
            #expect(try stored(ScheduleWords(cron: "0 9 * * *"), .utc) == "UTC")
            #expect(try stored(ScheduleWords(calendar: "daily UTC"), berlin) == nil)
            #expect(try stored(ScheduleWords(cron: "@reboot"), berlin) == nil)
            #expect(try stored(ScheduleWords(every: "1h"), berlin) == nil)
            // A file that is no link has no name: the machine's own zone, whatever that is.
            let own = try #require(Zone(named: "local", source: berlin.source))
            #expect(try stored(ScheduleWords(cron: "0 9 * * *"), own) == nil)
        }
    }
}
