// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// A job that was moved back before dates that its user has dropped.
@Suite("Dates ahead that were dropped", .timeLimit(.minutes(2)))
struct DroppedDatesTests {
    /// Its dates are too far apart for the next one to be claimed.
    private static let words = ScheduleWords(cron: "0 */2 * * *", tz: "UTC")

    /// The job's date of that number, from 0.
    private static func date(_ number: Int64) -> Timestamp {
        TestScheduler.start + .seconds(7200 * (number + 1))
    }

    /// Drops its dates 0 to 6, and moves it back onto number 2: it fires that one, and then number 7.
    private static func goBack(_ job: JobID, _ test: TestScheduler) async throws {
        for count in [3, 4] { try await test.change(job, .skip(count)) }
        try await test.change(job, .setFireDate(date(2)))
    }

    @Test(
        "skip drops as many dates as it is asked to, besides those that were dropped before",
        arguments: [
            (1, [(2, 2), (3, 6)], 7), (2, [(2, 2), (3, 6), (7, 7)], 8),
            (1000, [(2, 2), (3, 6), (7, 1005)], 1006),
        ] as [(Int, [(Int64, Int64)], Int64)]
    )
    func skipBesidesDropped(count: Int, rows: [(Int64, Int64)], next: Int64) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(Self.words)
            try await Self.goBack(job.id, test)
            try await test.change(job.id, .skip(count))
            #expect(try await test.job(job.id).fireDate == Self.date(next))
            let dropped = try await test.history(job.id).sorted { $0.fireDate < $1.fireDate }
            let all = [(0, 1)] + rows
            #expect(dropped.map(\.fireDate) == all.map { Self.date($0.0) })
            #expect(dropped.map { $0.through ?? $0.fireDate } == all.map { Self.date($0.1) })
            #expect(dropped.map { $0.dates ?? 1 } == all.map { Int($0.1 - $0.0) + 1 })
        }
    }

    @Test(
        "Dropped at once with a date that was moved later, those behind it come back with it",
        arguments: [0, 1800] as [Int64]
    )
    func backWithMoved(seconds: Int64) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(Self.words)
            let date = Self.date(2) + .seconds(seconds)
            try await test.change(job.id, .setFireDate(date))
            try await test.change(job.id, .skip(3))
            #expect(try await test.job(job.id).fireDate == Self.date(5))
            try await test.change(job.id, .setFireDate(date))
            try await test.advance(to: Self.date(5) + .seconds(1))
            let fired: [Timestamp?] = [date, Self.date(3), Self.date(4), Self.date(5)]
            let dropped = try await test.history(job.id).filter { $0.reason == .skip }
            #expect(dropped.isEmpty)
            #expect(test.sink.all(.fireFired).map(\.fireDate) == fired)
        }
    }

    @Test("One of those that were dropped with a moved date comes back without it")
    func backBehindMoved() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(Self.words)
            try await test.change(job.id, .setFireDate(Self.date(2) + .seconds(1800)))
            try await test.change(job.id, .skip(3))
            try await test.change(job.id, .setFireDate(Self.date(3)))
            let dropped = try await test.history(job.id).filter { $0.reason == .skip }
            #expect(dropped.map(\.fireDate) == [Self.date(2) + .seconds(1800)])
            #expect(dropped.map(\.through) == [nil])
            try await test.advance(to: Self.date(4) + .seconds(1))
            #expect(test.sink.all(.fireFired).map(\.fireDate) == [Self.date(3), Self.date(4)])
        }
    }

    @Test("A job whose date was missed has none as its next that was dropped")
    func missed() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(Self.words) { $0.misfire = .skip }
            try await Self.goBack(job.id, test)
            try await test.change(job.id, .pause)
            try await test.advance(to: Self.date(2) + .seconds(600))
            try await test.change(job.id, .resume)
            #expect(try await test.job(job.id).fireDate == Self.date(7))
            #expect(test.fired(job.id).isEmpty)
        }
    }

    @Test("A moved fire that is put back in between dates that stay dropped comes there")
    func backBetweenDropped() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(Self.words)
            try await test.change(job.id, .setFireDate(Self.date(1) + .seconds(1800)))
            try await test.change(job.id, .skip(2))
            let date = Self.date(1) + .seconds(3600)
            for change in [.setFireDate(date), .skip(1), .setFireDate(date)] as [JobChange] {
                try await test.change(job.id, change)
            }
            try await test.advance(to: Self.date(4) + .seconds(1))
            #expect(test.sink.all(.fireFired).map(\.fireDate) == [date, Self.date(4)])
        }
    }

    @Test(
        "A moved fire that is put back is where it was put, without jitter, after an undo too",
        arguments: [-1800, 1800] as [Int64]
    )
    func backAsMoved(seconds: Int64) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(Self.words) { $0.jitter = "1h" }
            let date = Self.date(0) + .seconds(seconds)
            for change in [.setFireDate(date), .skip(1), .setFireDate(date)] as [JobChange] {
                try await test.change(job.id, change)
            }
            try await test.change(job.id, .invalidate)
            _ = try await test.scheduler.restore(.ids([job.id]), caller: TestScheduler.root)
            let restored = try await test.job(job.id)
            #expect(restored.fireDate == date)
            #expect(restored.dueDate == date)
            // Behind each date by more than the jitter.
            try await test.advance(to: Self.date(2))
            #expect(test.sink.all(.fireFired).map(\.fireDate) == [date, Self.date(1)])
        }
    }
}
