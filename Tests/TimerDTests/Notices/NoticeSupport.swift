// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What the tests of notices have in common.
enum NoticeSupport {
    static let place = "command:tell"

    /// Several places, the first of them `place`.
    static func places(_ count: Int) -> [String] {
        [place] + (1..<count).map { "\(place) \($0)" }
    }

    /// The runner's answers: the job's command ends by `outcome`, what tells of it by `told`.
    static func answers(
        _ outcome: RunOutcome,
        told: RunOutcome = .exited(0)
    ) -> @Sendable (RunRequest) -> RunOutcome? {
        { $0.run < 0 ? told : outcome }
    }

    static func told(_ test: TestScheduler) -> [RunRequest] {
        test.runner.requests.filter { $0.run < 0 }
    }

    static func document(_ request: RunRequest) throws -> NoticeDocument {
        try NoticeDocument(stored: String(decoding: request.input, as: UTF8.self))
    }

    /// Makes the job what its definition is after `change`.
    static func change(
        _ test: TestScheduler,
        _ job: StoredJob,
        _ change: (inout JobDefinition) -> Void
    ) async throws {
        var definition = try await test.job(job.id).definition
        change(&definition)
        let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
        let changes = JobChanges(invalidate: [], change: [.init(id: job.id, to: new)], add: [])
        _ = try await test.scheduler.apply(changes, caller: TestScheduler.root)
    }

    /// Has so many jobs fail, the notice of each of which is on its way, and does not arrive until the runner says so.
    static func holdTries(_ test: TestScheduler, of jobs: Int = 1) async throws {
        test.runner.answer = answers(.exited(1))
        test.runner.holds = { $0.run < 0 }
        for _ in 0..<jobs {
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) { $0.notify = [place] }
        }
        try await test.advance(by: .seconds(11))
    }

    static func waiting(_ test: TestScheduler) async throws -> [StoredNotice] {
        try await test.settle()
        return try await test.store.reader.read {
            try NoticeStore($0).list(of: nil, after: NoticeID(rawValue: 0), limit: 1000)
        }
    }
}
