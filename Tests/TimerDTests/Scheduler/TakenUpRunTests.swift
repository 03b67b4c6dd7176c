// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// A run that a daemon takes up is to it what one is that it has begun itself.
@Suite("Runs that are taken up", .timeLimit(.minutes(2))) struct TakenUpRunTests {
    /// Who has the run as its job is ended.
    enum Holder: CaseIterable {
        /// The daemon that has begun it.
        case sameDaemon
        /// The next one, whose runner knows it.
        case nextDaemon
        /// The next one, whose runner has not been heard.
        case unheard
        /// The node that leads next, which has not heard the node where it runs.
        case nextNode
    }

    enum End: CaseIterable {
        case invalidate, apply

        func request(_ job: JobID) -> Request {
            switch self {
            case .invalidate: .invalidateJobs(InvalidateJobs(.ids([job]), kill: false))
            case .apply: .applyJobs(ApplyJobs(invalidate: [job]))
            }
        }
    }

    /// What becomes of its job while nobody knows whether it began.
    enum Meanwhile: CaseIterable {
        case nothing, ended, endedAndRestored
    }

    /// A job whose run goes on in `holder`; its next date is two hours later.
    private static func with(
        _ holder: Holder,
        _ change: (inout JobDefinition) -> Void = { _ in },
        whileBegun: (_ test: TestScheduler, _ job: StoredJob) async throws -> Void = { _, _ in },
        _ body: (_ test: TestScheduler, _ job: JobID, _ run: Int64) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let isNode = holder == .nextNode
        let test = try await TestScheduler(folder: folder.path, node: isNode ? "a" : nil)
        if isNode { await comes("b", test) }
        test.runner.isHolding = true
        let job = try await test.add(
            ScheduleWords(every: "2h", from: "2026-12-01T08:00:10Z"),
            command: ["x"]
        ) {
            ($0.name, $0.on) = ("a", isNode ? "b" : nil)
            change(&$0)
        }
        try await test.advance(by: .seconds(11))
        let run = try #require(test.runner.requests.first?.run)
        try await whileBegun(test, job)
        test.runner.isHolding = false
        guard holder != .sameDaemon else {
            try await body(test, job.id, run)
            return try await test.close()
        }
        let known = known(test, holder, run)
        let after = try await test.crashedAndDown(for: .seconds(1), known: known)
        #expect(after.runner.takenUp == [run])
        try await body(after, job.id, run)
        try await after.close()
        test.runner.end()
        try await test.close()
    }

    /// What the next daemon hears as it begins.
    private static func known(_ test: TestScheduler, _ holder: Holder, _ run: Int64) -> KnownRuns {
        var known = KnownRuns(
            epoch: test.runner.known.epoch,
            node: holder == .nextNode ? "a" : nil
        )
        switch holder {
        case .sameDaemon, .nextNode: break
        case .unheard: known.silence = "it has not answered"
        case .nextDaemon:
            known.runs[run] = KnownRun(
                phase: .running,
                pid: 77,
                startedAtMicroseconds: test.clock.now().wall.microseconds
            )
        }
        return known
    }

    private static func comes(_ node: String, _ test: TestScheduler) async {
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated {
                $0.nodeJoined(node, labels: [], drains: false)
                $0.runnerChanged(.back(epoch: 77), of: node)
            }
        }
    }

    /// Has the runner, or the node, be heard that was not.
    private static func isHeard(_ holder: Holder, _ test: TestScheduler) async {
        if holder == .nextNode { return await comes("b", test) }
        let epoch = test.runner.known.epoch
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated { $0.runnerChanged(.back(epoch: epoch)) }
        }
    }

    @Test(
        "The end of its job alone does not tell it to end: what follows it follows once that is undone",
        arguments: Holder.allCases,
        End.allCases
    )
    func undone(holder: Holder, end: End) async throws {
        let change: (inout JobDefinition) -> Void = {
            ($0.retries, $0.backoff, $0.onFailure) = (1, "1s..1s", ["alert"])
            $0.notify = [NoticeSupport.place]
        }
        try await Self.with(holder, change) { test, job, run in
            try await test.jobs(end.request(job))
            try await test.jobs(.restoreJobs(.ids([job])))
            await Self.isHeard(holder, test)
            let before = test.runner.requests.count
            test.runner.answer = NoticeSupport.answers(.exited(3))
            test.runner.end(.exited(3))
            try await test.advance(by: .seconds(60))
            let later = test.runner.requests.dropFirst(before).filter { $0.run > 0 }
            #expect(later.map(\.argv) == [["x"], ["alert"]])
            let told = try NoticeSupport.told(test).map { try NoticeSupport.document($0).reason }
            #expect(told == ["failed"])
            let first = try #require(
                try await test.history(job).first { $0.id?.rawValue == run }
            )
            #expect(first.status == 3)
            #expect(first.stopped == nil && first.stoppedBy == nil)
        }
    }

    @Test(
        "Where its job stays ended nothing of it begins any more, and its failure is told",
        arguments: Holder.allCases,
        End.allCases
    )
    func staysEnded(holder: Holder, end: End) async throws {
        let change: (inout JobDefinition) -> Void = {
            ($0.retries, $0.backoff, $0.onFailure) = (1, "1s..1s", ["alert"])
            $0.notify = [NoticeSupport.place]
        }
        try await Self.with(holder, change) { test, job, run in
            try await test.jobs(end.request(job))
            await Self.isHeard(holder, test)
            let before = test.runner.requests.count
            test.runner.answer = NoticeSupport.answers(.exited(3))
            test.runner.end(.exited(3))
            try await test.advance(by: .seconds(60))
            #expect(test.runner.requests.dropFirst(before).allSatisfy { $0.run < 0 })
            let told = try NoticeSupport.told(test).map { try NoticeSupport.document($0).reason }
            #expect(told == ["failed"])
            let first = try #require(
                try await test.history(job).first { $0.id?.rawValue == run }
            )
            #expect(first.status == 3)
            #expect(first.stopped == nil && first.stoppedBy == nil)
        }
    }

    @Test(
        "It turns out that it never began: it begins, unless its job was ended meanwhile, also where that was undone",
        arguments: [Holder.unheard, .nextNode],
        Meanwhile.allCases
    )
    func neverBegan(holder: Holder, meanwhile: Meanwhile) async throws {
        let isEnded = meanwhile != .nothing
        try await Self.with(holder) { test, job, run in
            if isEnded { try await test.jobs(End.invalidate.request(job)) }
            if meanwhile == .endedAndRestored {
                try await test.jobs(.restoreJobs(.ids([job])))
            }
            await Self.isHeard(holder, test)
            test.runner.neverBegan(run)
            try await test.advance(by: .seconds(60))
            #expect(test.runner.requests.count == (isEnded ? 0 : 1))
            let runs = try await test.history(job).filter { $0.id != nil }
            #expect(runs.map(\.outcome) == [isEnded ? .notStarted : .exited])
            if isEnded {
                #expect(runs.map(\.id) == [RunID(rawValue: run)])
                #expect(runs.map(\.error) == [StartRefusal.withdrawn.message])
            }
            let state: JobState = meanwhile == .ended ? .invalidated : .scheduled
            #expect(try await test.job(job).state == state)
        }
    }

    @Test(
        "What it writes is kept as its job said when it began, also where it is heard of later",
        arguments: [Holder.nextDaemon, .unheard, .nextNode]
    )
    func output(holder: Holder) async throws {
        let drop: (TestScheduler, StoredJob) async throws -> Void = { test, job in
            try await NoticeSupport.change(test, job) { $0.output = .drop }
        }
        try await Self.with(holder, whileBegun: drop) { test, _, run in
            test.runner.output = CapturedOutput(stdout: Array("hello\n".utf8))
            await Self.isHeard(holder, test)
            test.runner.end()
            try await test.settle()
            let id = RunID(rawValue: run)
            let reading = try await test.store.reader.read { try Queries($0).output(of: id) }
            #expect(reading.pieces.map(\.bytes) == [Array("hello\n".utf8)])
        }
    }
}
