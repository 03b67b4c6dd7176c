// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// Jobs of an owner who is gone are held, and whose jobs root may name.
@Suite("Jobs of owners who are gone", .timeLimit(.minutes(2))) struct HeldOwnersTests {
    /// A user database that a test writes.
    final class Names: Sendable {
        private let state = Locked((names: [UInt32: String](), asked: 0))

        init(_ names: [UInt32: String]) { state.withLock { $0.names = names } }

        subscript(uid: UInt32) -> String? {
            get { state.withLock { $0.names[uid] } }
            set { state.withLock { $0.names[uid] = newValue } }
        }

        var accounts: Accounts {
            Accounts(
                find: { uid throws(StartRefusal) in
                    guard let name = self[uid] else { throw .noUser(uid) }
                    return Account(
                        uid: uid,
                        gid: uid,
                        groups: [uid],
                        name: name,
                        home: "/",
                        shell: "/bin/sh"
                    )
                },
                // No answer is young enough to be used twice.
                now: {
                    self.state.withLock { state in
                        state.asked += 1
                        return .now + .seconds(60 * state.asked)
                    }
                }
            )
        }
    }

    private static let ann = Owner(uid: 1001, name: "ann")
    private static let bob = Owner(uid: 1001, name: "bob")

    private static func add(
        _ test: TestScheduler,
        as owner: Owner,
        command: [String]? = nil
    ) async throws -> JobID {
        var definition = JobDefinition(schedule: ScheduleWords(every: "60s"))
        definition.command = command
        let job = try NewJob(definition, owner: owner, at: test.clock.now(), zone: .utc)
        let caller = Caller(owner, daemon: 0)
        return try await test.scheduler.add([job], replace: false, caller: caller)[0].id
    }

    @Test("Jobs of a user who is gone are held, and go on when the user is back")
    func owner() async throws {
        let names = Names([1001: "ann"])
        try await TestScheduler.with(accounts: names.accounts) { test in
            let event = try await Self.add(test, as: Self.ann)
            let command = try await Self.add(test, as: Self.ann, command: ["x"])
            let other = try await test.add(ScheduleWords(every: "60s")).id
            try await test.advance(by: .seconds(58))
            names[1001] = "bob"
            await test.scheduler.lookAtHeld(all: true)
            while test.sink.all(.jobHeld).count < 2 { await Task.yield() }
            try await test.advance(by: .seconds(120))
            #expect(test.fired(event).isEmpty && test.fired(command).isEmpty)
            #expect(test.fired(other) == [60, 120])
            #expect(test.runner.requests.isEmpty)
            let reason = "'ann' (uid 1001), who is gone: uid 1001 is 'bob' now"
            #expect(try await HeldJobsTests.told(test, event).held == reason)
            let stranger = await test.handler().handle(.getJob(.id(event)), from: Self.bob)
            guard case .failure(let error) = stranger else { return #expect(Bool(false)) }
            #expect(error.reason == .notFound)
            let after = try await test.crashedAndDown(for: .seconds(30))
            try await after.advance(by: .seconds(60))
            #expect(after.fired(event).isEmpty && after.runner.requests.isEmpty)
            names[1001] = "ann"
            // By itself: a look comes once a minute.
            while after.sink.all(.jobReleased).count < 2 {
                try await after.advance(by: .seconds(60))
                await Task.yield()
            }
            try await after.advance(by: .seconds(60))
            #expect(after.fired(event).count >= 1 && after.runner.requests.count >= 1)
            #expect(try await after.history(event).contains { $0.reason == .held })
            try await after.close()
        }
    }

    @Test("On several hosts a user whom the one that leads does not know is not said to be gone")
    func stranger() async throws {
        let names = Names([1001: "ann"])
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(
            folder: folder.path,
            accounts: names.accounts,
            node: "alpha"
        )
        let job = try await Self.add(test, as: Self.ann)
        names[1001] = "bob"
        await test.scheduler.lookAtHeld(all: true)
        while test.sink.all(.jobHeld).isEmpty { await Task.yield() }
        let reason =
            "'ann' (uid 1001), whom the host of 'alpha' does not know: uid 1001 is 'bob' there;"
            + " add the user there, or have a node lead whose host knows him"
        #expect(try await HeldJobsTests.told(test, job).held == reason)
        try await test.close()
    }

    @Test("A command that finds its owner gone is not started, and holds all jobs of that owner")
    func atStart() async throws {
        let names = Names([1001: "ann"])
        try await TestScheduler.with(accounts: names.accounts) { test in
            let command = try await Self.add(test, as: Self.ann, command: ["x"])
            let event = try await Self.add(test, as: Self.ann)
            names[1001] = nil
            try await test.advance(by: .seconds(61))
            while test.sink.all(.jobHeld).count < 2 { await Task.yield() }
            #expect(test.runner.requests.isEmpty)
            let run = try #require(try await test.history(command).first)
            #expect(run.outcome == .notStarted)
            #expect(
                run.error
                    == "job \(command) belongs to 'ann' (uid 1001), who is gone: uid 1001 is nobody's now"
            )
            #expect(try await HeldJobsTests.told(test, event).held != nil)
        }
    }

    @Test("What root has ended of a user who is gone does not live again")
    func undone() async throws {
        let names = Names([1001: "ann"])
        try await TestScheduler.with(accounts: names.accounts) { test in
            let job = try await Self.add(test, as: Self.ann)
            _ = try await Self.add(test, as: Self.ann)
            names[1001] = "bob"
            await test.scheduler.lookAtHeld(all: true)
            while test.sink.all(.jobHeld).count < 2 { await Task.yield() }
            let handler = test.handler()
            let end = Request.invalidateJobs(InvalidateJobs(.ids([job])))
            _ = try await handler.handle(end, from: .root).get()
            let answer = await handler.handle(.restoreJobs(nil), from: .root)
            guard case .failure(let error) = answer else { return #expect(Bool(false)) }
            let words = "job \(job) belongs to 'ann' (uid 1001), who is gone"
            #expect(error.reason == .conflict && error.message.hasPrefix(words))
        }
    }

    @Test("A user who is back may add jobs at once, also where root has ended all that were held")
    func back() async throws {
        let names = Names([1001: "ann"])
        try await TestScheduler.with(accounts: names.accounts) { test in
            let job = try await Self.add(test, as: Self.ann)
            names[1001] = "bob"
            await test.scheduler.lookAtHeld(all: true)
            while test.sink.all(.jobHeld).isEmpty { await Task.yield() }
            let handler = test.handler()
            let end = Request.invalidateJobs(InvalidateJobs(.ids([job])))
            _ = try await handler.handle(end, from: .root).get()
            let definition = JobDefinition(schedule: ScheduleWords(every: "60s"))
            let add = Request.addJobs(AddJobs(definition))
            let answer = await handler.handle(add, from: Self.ann)
            guard case .failure(let error) = answer else { return #expect(Bool(false)) }
            let words = "you are 'ann' (uid 1001), who is gone: uid 1001 is 'bob' now"
            #expect(error.reason == .notPermitted && error.message == words)
            names[1001] = "ann"
            let reply = try await handler.handle(add, from: Self.ann).get()
            #expect((reply as? JobReply)?.job.state == .scheduled)
        }
    }

    @Test("Root lists, pauses and ends the jobs of one user; others none but their own")
    func selection() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let hers = try await Self.add(test, as: Self.ann)
            let his = try await Self.add(test, as: Owner(uid: 1002, name: "ben"))
            var filter = ListJobs()
            filter.owner = "ann"
            let listed = try await handler.handle(.listJobs(filter), from: .root).get()
            #expect((listed as? JobsReply)?.jobs.map(\.id) == [hers])
            _ = try await handler.handle(.pauseJobs(.owner("1001")), from: .root).get()
            #expect(try await test.job(hers).state == .paused)
            #expect(try await test.job(his).state == .scheduled)
            for request: Request in [
                .resumeJobs(.owner("ann")), .invalidateJobs(InvalidateJobs(.owner("ann"))),
                .listJobs(filter),
            ] {
                let answer = await handler.handle(request, from: Owner(uid: 1002, name: "ben"))
                guard case .failure(let error) = answer else { return #expect(Bool(false)) }
                #expect(error.reason == .notPermitted)
            }
            _ = try await handler.handle(.resumeJobs(.owner("ann")), from: Self.ann).get()
            #expect(try await test.job(hers).state == .scheduled)
            let end = Request.invalidateJobs(InvalidateJobs(.owner("ann"), kill: true))
            _ = try await handler.handle(end, from: .root).get()
            #expect(try await test.job(hers).state == .invalidated)
            #expect(try await test.job(his).state == .scheduled)
        }
    }
}
