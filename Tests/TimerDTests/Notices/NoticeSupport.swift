// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What the tests of notices have in common.
enum NoticeSupport {
    static let place = "command:tell"

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

    static func waiting(_ test: TestScheduler) async throws -> [StoredNotice] {
        try await test.settle()
        return try await test.store.reader.read {
            try NoticeStore($0).list(of: nil, after: NoticeID(rawValue: 0), limit: 1000)
        }
    }
}
