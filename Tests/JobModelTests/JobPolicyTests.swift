// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("JobPolicy") struct JobPolicyTests {
    private static func policy(_ change: (inout JobDefinition) -> Void) throws -> JobPolicy {
        var definition = JobDefinition(schedule: ScheduleWords(every: "10s"))
        change(&definition)
        return try JobPolicy(definition, now: Timestamp.start(0), zone: .utc)
    }

    @Test("What is not stated is what docs/protocol.md says")
    func defaults() throws {
        let policy = try Self.policy { _ in }
        #expect(policy == JobPolicy())
        #expect(policy.count == nil)
        #expect(policy.until == nil)
        #expect(policy.tolerance == .zero)
        #expect(policy.jitter == .zero)
        #expect(policy.misfire == MisfirePolicy(mode: .once, limit: 100, after: .seconds(60)))
    }

    @Test("Each option is read from its words")
    func read() throws {
        let policy = try Self.policy {
            $0.count = 3
            $0.until = "tomorrow 09:00"
            $0.tolerance = "1min 30s"
            $0.jitter = "0s"
            $0.misfire = .all
            $0.misfireLimit = 10_000
            $0.misfireAfter = "2h"
            $0.misfireWindow = "1d"
        }
        #expect(policy.count == 3)
        #expect(policy.until == Timestamp(rfc3339: "2026-12-02T09:00:00Z"))
        #expect(policy.tolerance == .seconds(90))
        #expect(policy.jitter == .zero)
        var misfire = MisfirePolicy(
            mode: .all,
            limit: 10_000,
            after: .seconds(7200),
            window: .seconds(86_400)
        )
        misfire.tolerance = .seconds(90)
        #expect(policy.misfire == misfire)
    }

    /// What is refused, with the words that name it.
    struct Refusal: Sendable {
        var change: @Sendable (inout JobDefinition) -> Void
        var message: String
    }

    @Test(
        "What cannot be is refused with its name, its value and what is accepted",
        arguments: [
            Refusal(change: { $0.count = 0 }, message: "'count' is 0, expected a number from 1"),
            Refusal(
                change: { $0.misfireLimit = 0 },
                message: "'misfireLimit' is 0, expected a number from 1 to 10000"
            ),
            Refusal(
                change: { $0.misfireLimit = 10_001 },
                message: "'misfireLimit' is 10001, expected a number from 1 to 10000"
            ),
            Refusal(
                change: { $0.jitter = "101y" },
                message: "'jitter' is '101y', expected a duration of 0 to 100 years"
            ),
            Refusal(
                change: { $0.misfireAfter = "0s" },
                message: "'misfireAfter' is '0s', expected a duration of 1ms to 100 years"
            ),
            Refusal(change: { $0.tolerance = "soon" }, message: "'soon'"),
            Refusal(change: { $0.until = "never" }, message: "'never'"),
        ]
    )
    func refused(refusal: Refusal) {
        let error = #expect(throws: OptionRefusal.self) { try Self.policy(refusal.change) }
        let message = error.map { "\($0)" } ?? ""
        #expect(message.contains(refusal.message), "\(message)")
    }
}
