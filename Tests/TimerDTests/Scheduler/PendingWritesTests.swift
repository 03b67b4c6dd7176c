// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("What a read waits for", .timeLimit(.minutes(1))) struct PendingWritesTests {
    private static let ann = Caller(uid: 70_001, isAdministrator: false)
    private static let ben = Caller(uid: 70_002, isAdministrator: false)
    private static let root = Caller(uid: 0, isAdministrator: true)

    @Test(
        "A user waits for his own, an administrator for what has happened to anybody; to its end for his own alone"
    )
    func callers() {
        let pending = PendingWrites()
        func waiting() -> [Bool] { [Self.ann, Self.ben, Self.root].map(pending.concern) }
        func told() -> [Bool] {
            [Self.ann, Self.ben].map { pending.areTold(to: $0.owner) } + [pending.areTold(to: nil)]
        }
        for (write, waits, isTold) in [
            (
                PendingWrites.Write.command(of: 70_001), [true, false, false],
                [false, false, false]
            ),
            (.record(about: 70_001), [true, false, true], [true, false, true]),
            (.common, [true, true, true], [true, true, true]),
        ] {
            pending.begin(write)
            pending.begin(write)
            pending.end(write)
            #expect(waiting() == waits)
            let isAsked = [Self.ann, Self.ben, Self.root].map(pending.areAskedFor)
            let isCommand = write == .command(of: 70_001)
            #expect(isAsked == (isCommand ? waits : [false, false, false]))
            #expect(told() == isTold)
            pending.end(write)
            #expect(waiting() == [false, false, false])
            #expect(told() == [false, false, false])
        }
    }

    @Test("Whose jobs something has happened to is at work while it is stored, and some time after")
    func atWork() {
        let pending = PendingWrites()
        func areOthers(_ time: Duration) -> [Bool] {
            [Self.ann, Self.ben].map { pending.areOthersAtWork(than: $0.uid, within: time) }
        }
        for write in [PendingWrites.Write.command(of: 70_001), .common] {
            pending.begin(write)
            pending.end(write)
        }
        #expect(areOthers(.seconds(3600)) == [false, false])
        pending.begin(.record(about: 70_001))
        // No time ago is long enough ago to be forgotten.
        #expect(areOthers(.seconds(-1)) == [false, true])
        pending.end(.record(about: 70_001))
        #expect(areOthers(.seconds(-1)) == [false, false])
        #expect(areOthers(.seconds(3600)) == [false, true])
    }

    /// The store does not come to the change while the gate is shut; a read that waited for it would
    /// run into the limit of this suite.
    @Test("A list is read beside another user's change, and after one's own")
    func lists() async throws {
        try await TestScheduler.with { test in
            let (handler, pending) = (test.handler(), test.scheduler.pending)
            let gate = DispatchSemaphore(value: 0)
            test.store.thread.perform { gate.wait() }
            let definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            let add = Request.addJobs(AddJobs(definition))
            let adding = Task { await handler.handle(add, from: Self.ann.uid) }
            while !pending.concern(Self.ann) { await Task.yield() }
            let bens = await handler.handle(.listJobs(ListJobs()), from: Self.ben.uid)
            let roots = await handler.handle(.listJobs(ListJobs()), from: 0)
            let own = Task { await handler.handle(.listJobs(ListJobs()), from: Self.ann.uid) }
            gate.signal()
            for list in [bens, roots] {
                #expect((try list.get() as? JobsReply)?.jobs.isEmpty == true)
            }
            _ = try await adding.value.get()
            #expect((try await own.value.get() as? JobsReply)?.jobs.count == 1)
        }
    }

    /// A read that waited for the record, which the store does not come to, would run into the limit of this
    /// suite.
    @Test("A read waits for what has happened to one's jobs no longer than for a moment")
    func records() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add([ScheduleWords(every: "1s")], of: Self.ann.uid)[0]
            try await test.settle()
            let gate = DispatchSemaphore(value: 0)
            test.store.thread.perform { gate.wait() }
            await test.advanceWithoutStore(by: .seconds(1))
            #expect(test.fired(job.id) == [1])
            let handler = test.handler()
            let list = Task { await handler.handle(.listJobs(ListJobs()), from: Self.ann.uid) }
            while await test.scheduler.readings.isEmpty { await Task.yield() }
            await test.advanceWithoutStore(by: Scheduler.patience)
            let jobs = try await list.value.get() as? JobsReply
            #expect(jobs?.jobs.map(\.fires) == [0], "what is stored by then")
            gate.signal()
            let later = await handler.handle(.listJobs(ListJobs()), from: Self.ann.uid)
            #expect((try later.get() as? JobsReply)?.jobs.map(\.fires) == [1])
        }
    }
}
