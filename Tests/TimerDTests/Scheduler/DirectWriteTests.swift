// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import JobModel
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// Commands that concern no timer pass the scheduler's thread by, and lose nothing by it.
@Suite("Direct writes", .timeLimit(.minutes(1))) struct DirectWriteTests {
    /// Runs `body` while the scheduler's thread is held; without it waits for nothing that thread does.
    private static func holdingTheLoop<T: Sendable>(
        _ test: TestScheduler,
        _ body: () async throws -> T
    ) async throws -> T {
        let isOver = DispatchSemaphore(value: 0)
        await withCheckedContinuation { isHeld in
            test.loop.perform {
                isHeld.resume()
                isOver.wait()
            }
        }
        defer { isOver.signal() }
        return try await body()
    }

    @Test("A far job is added, told and ended while the scheduler's thread is held")
    func withoutTheLoop() async throws {
        try await TestScheduler.with { test in
            // The scheduler knows of a sooner date, for which it will look.
            try await test.add(ScheduleWords(in: "1h"))
            try await test.settle()
            let job = try await Self.holdingTheLoop(test) {
                let job = try await test.add(ScheduleWords(in: "2h"))
                #expect(test.sink.all(.jobAdded).last?.job == job.id)
                let ended = try await test.scheduler.invalidateIdle(
                    [job.id],
                    caller: TestScheduler.root
                )
                #expect(ended?.jobs.map(\.state) == [.invalidated])
                #expect(test.sink.all(.jobInvalidated).last?.job == job.id)
                return job
            }
            try await test.advance(by: .seconds(3 * 3600))
            #expect(test.fired(job.id).isEmpty)
            #expect(test.sink.isInOrder)
        }
    }

    @Test(
        "Each fires on its date, whichever the scheduler heard of",
        arguments: [[3600, 7200, 1800], [7200, 3600, 10, 1800], [60, 7, 5, 6, 8, 9]]
    )
    func dates(seconds: [Int64]) async throws {
        try await TestScheduler.with { test in
            var jobs: [(JobID, Int64)] = []
            for date in seconds {
                jobs.append((try await test.add(ScheduleWords(in: "\(date)s")).id, date))
            }
            try await test.advance(by: .seconds(8000))
            for (job, date) in jobs { #expect(test.fired(job) == [date]) }
            #expect(test.sink.isInOrder)
        }
    }

    @Test("What is added while a window is loaded fires on its date")
    func duringLoad() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(every: "10s"))
            var jobs: [(JobID, Int64)] = []
            for second in 1...40 as ClosedRange<Int64> {
                async let advanced: Void = test.advance(by: .seconds(1))
                let job = try await test.add(ScheduleWords(at: "2026-12-01T08:01:\(10 + second)Z"))
                jobs.append((job.id, 70 + second))
                try await advanced
            }
            try await test.advance(by: .seconds(200))
            for (job, date) in jobs { #expect(test.fired(job) == [date]) }
        }
    }

    @Test("A job with a timer, a run or a tie is left to the scheduler")
    func notIdle() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let soon = try await test.add(ScheduleWords(in: "3s"))
            let running = try await test.add(ScheduleWords(every: "1h"), command: ["sleep"])
            _ = try await test.scheduler.fire(.id(running.id), caller: TestScheduler.root)
            try await test.settle()
            let tied = try await test.add(ScheduleWords(every: "1h")) { $0.whilePid = getpid() }
            for job in [soon, running, tied] {
                #expect(
                    try await test.scheduler.invalidateIdle([job.id], caller: TestScheduler.root)
                        == nil
                )
                #expect(try await test.job(job.id).state == .scheduled)
            }
            await #expect(throws: ControlError.noJob(JobID(rawValue: 99))) {
                try await test.scheduler.invalidateIdle(
                    [JobID(rawValue: 99)],
                    caller: TestScheduler.root
                )
            }
            test.runner.end()
        }
    }

    @Test("Of a list all are ended past the scheduler, or with one job of its own, none")
    func listOfIdle() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(in: "1h"))
            let soon = try await test.add(ScheduleWords(in: "3s"))
            let far = try await test.add(
                Array(repeating: ScheduleWords(in: "2h"), count: SaidByStore.slice + 1),
                of: 0
            ).map(\.id)
            try await test.settle()
            let root = TestScheduler.root
            #expect(try await test.scheduler.invalidateIdle(far + [soon.id], caller: root) == nil)
            for job in far { #expect(try await test.job(job).state == .scheduled) }
            try await Self.holdingTheLoop(test) {
                let ended = try await test.scheduler.invalidateIdle(far, caller: root)
                #expect(ended?.jobs.map(\.id) == far)
                #expect(ended?.untold == nil)
                #expect(test.sink.all(.jobInvalidated).map(\.job) == far)
            }
            try await test.advance(by: .seconds(3 * 3600))
            #expect(far.allSatisfy { test.fired($0).isEmpty })
            #expect(test.fired(soon.id) == [3])
            #expect(test.sink.isInOrder)
        }
    }

    @Test("None of a user's commands overtakes one that goes by way of the scheduler")
    func order() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(in: "1h"))
            let terms = test.scheduler.terms
            terms.beginDetour(of: 1000)
            #expect(terms.jobLimit(ofDirect: 1000) == nil)
            #expect(terms.jobLimit(ofDirect: 1001) != nil)
            terms.beginDetour(of: 1000)
            terms.endDetour(of: 1000)
            #expect(terms.jobLimit(ofDirect: 1000) == nil)
            terms.endDetour(of: 1000)
            #expect(terms.jobLimit(ofDirect: 1000) != nil)
        }
    }

    @Test(
        "The scheduler hears of a job while it loads, has an earlier outcome, or waits for a later date"
    )
    func heard() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "1h"))
            let terms = WriteTerms(
                Window(now: TestScheduler.start),
                SchedulerSettings(socket: "", account: .own(uid: 0)),
                clock: test.clock,
                findZone: ZoneRules.inDatabase
            )
            var window = Window(now: test.clock.now().elapsed)
            #expect(!terms.isNothingNew([job]), "nothing is known yet")
            window.beginLoad(now: test.clock.now().elapsed)
            terms.set(window)
            #expect(!terms.isNothingNew([job]), "a load is under way")
            let due = test.clock.now().elapsed + .seconds(3600)
            window.loaded(WindowRest(nextWaiting: due))
            terms.set(window)
            #expect(terms.isNothingNew([job]))
            terms.beginHandover()
            #expect(!terms.isNothingNew([job]), "an earlier outcome is on its way")
            terms.endHandover()
            window.loaded(WindowRest(nextWaiting: due + .seconds(1)))
            terms.set(window)
            #expect(!terms.isNothingNew([job]), "the load would come too late")
        }
    }

    @Test("What a stop has overtaken is refused, and gets no number of an event")
    func overtakenByStop() async throws {
        try await TestScheduler.with { test in
            let isOver = DispatchSemaphore(value: 0)
            test.store.writer.submit { _ in
                isOver.wait()
            } completion: { _ in
            }
            let adding = Task { try await test.add(ScheduleWords(in: "1h")) }
            // It has taken its place in the queue by then, behind what holds the store's thread.
            try await eventually("the add is queued") {
                test.scheduler.pending.areAskedFor(by: TestScheduler.root)
            }
            test.scheduler.terms.setOpen(false)
            isOver.signal()
            await #expect(throws: ControlError.stoppingForGood) { try await adding.value }
            #expect(test.sink.all(.jobAdded).isEmpty)
            test.scheduler.terms.setOpen(true)
        }
    }

    @Test("A list of far jobs is added and told while the scheduler's thread is held")
    func longList() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(in: "1h"))
            try await test.settle()
            try await Self.holdingTheLoop(test) {
                let added = try await test.add(
                    Array(repeating: ScheduleWords(in: "2h"), count: 2 * SaidByStore.slice),
                    of: 1001
                )
                let told = test.sink.all(.jobAdded).map(\.job)
                #expect(told.suffix(added.count) == added.map(\.id)[...])
            }
            #expect(test.sink.isInOrder)
        }
    }

    @Test("A list of more than two slices is told by the scheduler, in slices")
    func tooLongList() async throws {
        try await TestScheduler.with { test in
            let first = try await test.add(ScheduleWords(in: "1h"))
            try await test.settle()
            let count = 2 * SaidByStore.slice + 1
            let adding = try await Self.holdingTheLoop(test) {
                let adding = Task {
                    try await test.add(
                        Array(repeating: ScheduleWords(in: "2h"), count: count),
                        of: 1001
                    )
                }
                var stored: Int?
                while stored != count + 1 {
                    stored = try await test.store.reader.read {
                        try $0.prepare("SELECT count(*) FROM jobs").value()
                    }
                }
                // What that commit was to tell from the store's thread is told by now.
                try await test.store.writer.barrier()
                #expect(test.sink.all(.jobAdded).map(\.job) == [first.id])
                return adding
            }
            let added = try await adding.value
            #expect(test.sink.all(.jobAdded).map(\.job) == [first.id] + added.map(\.id))
            #expect(test.sink.isInOrder)
        }
    }

    @Test("What finds no numbers any more is told by the scheduler, once, in order")
    func numbersUsedUp() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(in: "1h"))
            try await test.settle()
            let sequencer = test.scheduler.sequencer
            sequencer.setBehind(true)
            let added = try await test.add(
                Array(repeating: ScheduleWords(in: "2h"), count: SaidByStore.slice + 1),
                of: 1001
            )
            sequencer.setBehind(false)
            try await test.settle()
            let told = test.sink.all(.jobAdded).map(\.job)
            #expect(told.suffix(added.count) == added.map(\.id)[...])
            #expect(Set(told).count == told.count)
            #expect(test.sink.isInOrder)
        }
    }

    @Test("A page of events ends before the first number that may not be stored yet")
    func eventsInOrder() async throws {
        try await TestScheduler.with { test in
            let source = test.store.events(after: test.scheduler)
            let job = try await test.add(ScheduleWords(in: "1h"))
            let next = test.scheduler.sequencer.next
            // Numbered after the page was asked for, and stored before one with a lower number.
            var late = Event(seq: next + 1, type: .fireFired, at: TestScheduler.start, job: job.id)
            (late.owner, late.ownerID, late.revision) = (job.owner, job.ownerID, 1)
            try await test.store.writer.write { [late] in try EventLog($0).insert(late) }
            let page = try await source(0, nil, EventPage.Limit())
            #expect(page.events.map(\.type) == [.jobAdded])
            #expect(page.isLast)
            let own = try await source(0, job.owner, EventPage.Limit())
            #expect(own.events.allSatisfy { $0.seq < next })
        }
    }

    @Test("Before the recovery and once it stops, all goes by way of the scheduler")
    func closed() async throws {
        try await TestScheduler.with { test in
            #expect(test.scheduler.terms.jobLimit(ofDirect: 0) != nil)
            await test.scheduler.stop(.end(after: .zero))
            #expect(test.scheduler.terms.jobLimit(ofDirect: 0) == nil)
            await #expect(throws: ControlError.self) { try await test.add(ScheduleWords(in: "1h")) }
        }
    }
}

extension DirectWriteTests {
    @Test("Where the node leads no more, and its daemon goes on, commands are told so")
    func leadsNoMore() async throws {
        try await TestScheduler.with { test in
            let refusal = ControlError.noMoreLed(by: "alpha", "its copy has failed")
            #expect(refusal.message.hasPrefix("'alpha' leads no more: its copy has failed; "))
            await test.scheduler.stop(.end(after: .zero), refusing: refusal)
            await #expect(throws: refusal) { try await test.add(ScheduleWords(in: "1h")) }
        }
    }
}

extension RecordingSink {
    /// Whether each event has a higher number than the one before.
    fileprivate var isInOrder: Bool {
        let numbers = all.map(\.seq)
        return zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
    }
}
