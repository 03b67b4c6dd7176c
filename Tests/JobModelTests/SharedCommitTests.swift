// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("SharedCommit") struct SharedCommitTests {
    private static let moment = ClockReading(elapsed: .start(10), wallOffset: .zero)

    private static func delay(
        _ words: ScheduleWords,
        isCrowded: Bool = false,
        _ change: (inout StoredJob) -> Void = { _ in }
    ) throws -> Duration {
        var job = try StoredJob.sample(words)
        job.fireDate = .start(10)
        change(&job)
        return SharedCommit.delay(of: job, isCrowded: isCrowded, at: moment)
    }

    @Test("The record of a one-shot's fire waits for others")
    func oneShot() throws {
        #expect(try Self.delay(ScheduleWords(in: "10s")) == SharedCommit.delay)
    }

    @Test(
        "That of a repeating job waits only if its next date without a claim is far",
        arguments: [("10s", true), ("250ms", true), ("249ms", false), ("1ms", false)]
    )
    func repeating(interval: String, waits: Bool) throws {
        let delay = try Self.delay(ScheduleWords(every: interval, from: "2026-12-01T08:00:10Z"))
        #expect(delay == (waits ? SharedCommit.delay : .zero))
    }

    @Test("What is claimed already needs no room", arguments: [(1, false), (2, true)])
    func claimed(ahead: Int, waits: Bool) throws {
        let words = ScheduleWords(every: "100ms", from: "2026-12-01T08:00:10Z")
        let delay = try Self.delay(words) { job in
            job.ahead = (1...ahead).map { number in
                let claim = StoredJob.Claim(fire: FireID(rawValue: Int64(number + 1)), missed: 0)
                return ClaimAhead(date: .start(10 + 0.1 * Double(number)), claim: claim)
            }
        }
        #expect(delay == (waits ? SharedCommit.delay : .zero))
    }

    @Test("A job that ends with this fire waits, and one whose next date has passed does not")
    func endAndPast() throws {
        let words = ScheduleWords(every: "1s", from: "2026-12-01T08:00:00Z")
        #expect(try Self.delay(words) { $0.fireDate = .start(8) } == .zero)
        #expect(try Self.delay(words) { $0.policy.count = 1 } == SharedCommit.delay)
    }

    @Test("Where something waits for the record, it does not wait")
    func crowded() throws {
        #expect(try Self.delay(ScheduleWords(in: "10s"), isCrowded: true) == .zero)
    }
}
