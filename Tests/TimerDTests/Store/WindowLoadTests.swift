// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What a load of the window brings where users have more due than fits.
@Suite("Window loads", .timeLimit(.minutes(1)))
struct WindowLoadTests {
    static let (ann, ben, cat): (UInt32, UInt32, UInt32) = (1001, 1002, 1003)

    /// A load, and the jobs that were claimed by it.
    struct Loaded: Sendable {
        var rest: WindowRest
        var jobs: [StoredJob]

        func count(of uid: UInt32) -> Int { jobs.count { $0.owner.uid == uid && $0.claim != nil } }
        func part(of uid: UInt32) -> Window.Part? {
            jobs.first { $0.owner.uid == uid }.flatMap { rest.parts[$0.ownerID] }
        }
    }

    /// Stores jobs that wait for a window: of each user so many, due at that many milliseconds.
    private func store(_ jobs: [(uid: UInt32, milliseconds: [Int64])], in test: TestScheduler)
        async throws
    {
        let moment = test.clock.now()
        let new = try jobs.map { uid, milliseconds in
            try milliseconds.map {
                try NewJob(
                    JobDefinition(schedule: ScheduleWords(in: "\($0)ms")),
                    owner: uid,
                    at: moment,
                    zone: .utc
                )
            }
        }
        try await test.store.writer.write { database in
            var writer = JobTransaction(database, at: moment, horizon: .distantPast)
            for jobs in new { _ = try writer.add(jobs, replace: false, limit: nil) }
        }
    }

    private func load(
        _ load: WindowLoad = WindowLoad(room: Window.capacity),
        in test: TestScheduler
    ) async throws -> Loaded {
        let moment = test.clock.now()
        return try await test.store.writer.write { database in
            var writer = JobTransaction(database, at: moment, horizon: moment.elapsed + Window.span)
            let rest = try writer.loadWindow(load)
            return Loaded(rest: rest, jobs: writer.outcome.jobs)
        }
    }

    @Test("What fits is loaded, soonest first, and what comes next is known")
    func fits() async throws {
        try await TestScheduler.with { test in
            try await store([(Self.ann, [3000, 1000, 9000]), (Self.ben, [2000])], in: test)
            let loaded = try await load(in: test)
            let dates = loaded.jobs.map {
                (($0.fireDate ?? .distantPast) - test.clock.now().elapsed).microseconds / 1000
            }
            #expect(dates == [1000, 2000, 3000])
            #expect(loaded.rest.parts.isEmpty)
            #expect(loaded.rest.nextWaiting == test.clock.now().elapsed + .seconds(9))
        }
    }

    @Test("Where more is due than a load brings, each user's soonest come")
    func inTurn() async throws {
        try await TestScheduler.with { test in
            try await store(
                [(Self.ann, Array(1...500)), (Self.ben, [5000, 5001]), (Self.cat, [9000])],
                in: test
            )
            let loaded = try await load(in: test)
            #expect(loaded.count(of: Self.ben) == 2)
            #expect(loaded.count(of: Self.ann) == WindowLoad.piece / 2)
            let part = try #require(loaded.part(of: Self.ann))
            #expect(part.isFilling)
            #expect(part.places == Window.capacity / 2)
            let first = test.clock.now().elapsed + .milliseconds(Int64(WindowLoad.piece / 2 + 1))
            #expect(part.horizon == first, "what is due before is claimed, and no more")
            #expect(loaded.part(of: Self.ben) == nil)
            let next = test.clock.now().elapsed + .seconds(9)
            #expect(loaded.rest.nextWaiting == next, "of those who are not crowded")
        }
    }

    @Test("A user's places are filled piece by piece; then the user rests, and others are loaded")
    func fills() async throws {
        try await TestScheduler.with { test in
            try await store([(Self.ann, Array(1...300))], in: test)
            let first = try await load(in: test)
            let owner = try #require(first.jobs.first?.ownerID)
            var (armed, pieces) = (Window.capacity - 200, 0)
            var last = first
            while last.rest.parts[owner]?.isFilling == true {
                last = try await load(
                    WindowLoad(room: 0, armed: [owner: armed], filling: [owner]),
                    in: test
                )
                armed += last.jobs.count
                pieces += 1
            }
            #expect(armed == Window.capacity)
            #expect(pieces == (200 + WindowLoad.piece - 1) / WindowLoad.piece)
            let part = try #require(last.rest.parts[owner])
            try await store([(Self.ben, [5])], in: test)
            let resting = try await load(
                WindowLoad(room: 0, armed: [owner: armed], resting: [owner: part]),
                in: test
            )
            #expect(resting.count(of: Self.ann) == 0)
            #expect(resting.count(of: Self.ben) == 1)
            #expect(resting.rest == WindowRest(parts: [owner: part]))
        }
    }

    @Test("A user of whom all is loaded is crowded no more")
    func over() async throws {
        try await TestScheduler.with { test in
            try await store([(Self.ann, Array(1...Int64(WindowLoad.piece + 1)))], in: test)
            let first = try await load(in: test)
            let owner = try #require(first.jobs.first?.ownerID)
            #expect(first.jobs.count == WindowLoad.piece)
            #expect(first.rest.parts[owner]?.isFilling == true)
            let last = try await load(
                WindowLoad(room: 0, armed: [owner: first.jobs.count], filling: [owner]),
                in: test
            )
            #expect(last.jobs.count == 1)
            #expect(last.rest == WindowRest())
        }
    }
}
