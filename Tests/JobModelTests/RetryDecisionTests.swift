// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("RetryDecision") struct RetryDecisionTests {
    /// What follows a run that ended so.
    struct Row: Sendable, CustomTestStringConvertible {
        var outcome: RunOutcome
        var failures = 1
        var retries = 0
        var hasOnFailure = false
        var hasOnSuccess = false
        var rerunInterrupted = false
        var successCodes: [Int32]?
        var expected: String

        var testDescription: String {
            "\(outcome), failure \(failures) of \(retries + 1), \(successCodes ?? [0])"
                + (hasOnFailure ? ", onFailure" : "") + (hasOnSuccess ? ", onSuccess" : "")
                + (rerunInterrupted ? ", rerun" : "")
        }
    }

    static let failures: [RunOutcome] = [
        .exited(1), .signalled(9), .timedOut, .notStarted("no such file"), .interrupted,
    ]

    static let rows =
        failures.flatMap { outcome in
            [
                Row(outcome: outcome, expected: "done"),
                Row(outcome: outcome, hasOnFailure: true, expected: "onFailure"),
                Row(outcome: outcome, retries: 2, hasOnFailure: true, expected: "retry"),
                Row(outcome: outcome, failures: 2, retries: 2, expected: "retry"),
                Row(outcome: outcome, failures: 3, retries: 2, expected: "done"),
                Row(
                    outcome: outcome,
                    failures: 3,
                    retries: 2,
                    hasOnFailure: true,
                    expected: "onFailure"
                ),
            ]
        } + [
            Row(outcome: .exited(0), expected: "done"),
            Row(outcome: .exited(0), retries: 2, hasOnFailure: true, expected: "done"),
            Row(outcome: .exited(0), retries: 2, hasOnSuccess: true, expected: "onSuccess"),
            Row(outcome: .exited(3), hasOnSuccess: true, successCodes: [3], expected: "onSuccess"),
            Row(outcome: .exited(1), hasOnSuccess: true, expected: "done"),
            Row(outcome: .interrupted, hasOnSuccess: true, expected: "done"),
            Row(outcome: .exited(3), retries: 2, successCodes: [0, 3], expected: "done"),
            Row(outcome: .exited(1), retries: 2, successCodes: [0, 3], expected: "retry"),
            Row(outcome: .exited(0), hasOnFailure: true, successCodes: [3], expected: "onFailure"),
            // Where its job wants that, however often it was tried, and at once.
            Row(outcome: .interrupted, rerunInterrupted: true, expected: "at once"),
            Row(
                outcome: .interrupted,
                failures: 9,
                retries: 2,
                hasOnFailure: true,
                rerunInterrupted: true,
                expected: "at once"
            ),
            Row(outcome: .exited(1), rerunInterrupted: true, expected: "done"),
        ]

    @Test("What follows a run is decided by how it ended and what its job wants", arguments: rows)
    func follows(row: Row) throws {
        let job = try StoredJob.sample {
            $0.command = ["x"]
            $0.retries = row.retries
            $0.onFailure = row.hasOnFailure ? ["notify"] : nil
            $0.onSuccess = row.hasOnSuccess ? ["next"] : nil
            $0.rerunInterrupted = row.rerunInterrupted
            $0.successCodes = row.successCodes
        }
        let fire = FireID(rawValue: 7)
        let decision = RetryDecision(row.outcome, failures: row.failures, of: fire, job: job)
        let word =
            switch decision {
            case .done: "done"
            case .handle(let handler): handler == .onFailure ? "onFailure" : "onSuccess"
            case .retry(.zero): "at once"
            case .retry: "retry"
            }
        #expect(word == row.expected)
    }

    @Test(
        "A fire that may have no further attempt has failed, whatever is left of its retries",
        arguments: [.exited(1), .interrupted] as [RunOutcome]
    )
    func noAttempt(outcome: RunOutcome) throws {
        let job = try StoredJob.sample {
            ($0.command, $0.onFailure) = (["x"], ["notify"])
            ($0.retries, $0.rerunInterrupted) = (2, true)
        }
        let fire = FireID(rawValue: 7)
        let next = RetryDecision(outcome, failures: 1, of: fire, job: job, mayBegin: false)
        #expect(next == .handle(.onFailure))
    }

    @Test("Nothing follows a run that was ended on purpose or never began, nor a handler's")
    func notFollowed() throws {
        let job = try StoredJob.sample { ($0.command, $0.onFailure) = (["x"], ["notify"]) }
        func next(_ outcome: RunOutcome, _ change: (inout EndedRun) -> Void = { _ in })
            -> RetryDecision
        {
            var ended = EndedRun(
                fire: FireID(rawValue: 7),
                fireDate: .start(10),
                attempt: 1,
                outcome: outcome,
                endedAt: .start(11),
                output: CapturedOutput()
            )
            change(&ended)
            return RetryDecision(after: ended, failures: 1, job: job, defaults: RunDefaults())
        }
        #expect(next(.exited(1)) == .handle(.onFailure))
        #expect(next(.notStarted("no such file")) == .handle(.onFailure))
        #expect(next(.exited(1)) { $0.isStopped = true } == .done)
        #expect(next(.exited(1)) { $0.handler = .onFailure } == .done)
        #expect(next(.withdrawn) == .done)
    }

    @Test(
        "A run has failed that did not succeed, unless it never began or was given back",
        arguments: [
            (.exited(3), nil, true, false), (.exited(0), nil, false, true),
            // The codes are those of the job's own command.
            (.exited(0), .onSuccess, true, false), (.exited(3), .onFailure, false, true),
            (.finished, nil, true, false), (.released, nil, false, false),
            (.withdrawn, nil, false, false), (.notStarted("no such file"), nil, false, true),
            (.lost("its lease has ended"), nil, false, true), (.interrupted, nil, false, true),
        ] as [(RunOutcome, RunHandler?, Bool, Bool)]
    )
    func failed(outcome: RunOutcome, handler: RunHandler?, isSuccess: Bool, isFailure: Bool) throws
    {
        let policy = try StoredJob.sample { ($0.command, $0.successCodes) = (["x"], [3]) }.policy
            .run
        #expect(policy.isSuccess(outcome, of: handler) == isSuccess)
        #expect(policy.isFailure(outcome, of: handler) == isFailure)
    }

    @Test(
        "The wait before an attempt is anything up to a bound, which doubles up to its maximum",
        arguments: [(2, 4), (3, 8), (4, 16), (5, 20), (6, 20), (1000, 20)] as [(Int, Int64)]
    )
    func bound(attempt: Int, seconds: Int64) {
        let backoff = Backoff(first: .seconds(4), max: .seconds(20))
        let delays = (1...500 as ClosedRange<Int64>).map {
            RetryDecision.delay(before: attempt, of: FireID(rawValue: $0), backoff)
        }
        #expect(delays.allSatisfy { .zero <= $0 && $0 <= .seconds(seconds) })
        // Full jitter: the whole of it, not only its upper part.
        #expect(delays.contains { $0 < TimeSpan(microseconds: seconds * 100_000) })
        #expect(delays.contains { $0 > TimeSpan(microseconds: seconds * 900_000) })
    }

    @Test("Each failure doubles the bound of the wait before the next attempt", arguments: 1...4)
    func waits(failures: Int) throws {
        let job = try StoredJob.sample {
            ($0.command, $0.retries, $0.backoff) = (["x"], 4, "10s..1h")
        }
        let fire = FireID(rawValue: 7)
        let backoff = Backoff(first: .seconds(10), max: .seconds(3600))
        let delay = RetryDecision.delay(before: failures + 1, of: fire, backoff)
        let next = RetryDecision(.exited(1), failures: failures, of: fire, job: job)
        #expect(next == .retry(after: delay))
    }

    @Test("The chance is the fire's and the attempt's: the same after a restart")
    func repeatable() {
        func delay(_ attempt: Int, _ fire: Int64) -> TimeSpan {
            RetryDecision.delay(before: attempt, of: FireID(rawValue: fire), .standard)
        }
        #expect(delay(2, 1) == delay(2, 1))
        #expect(delay(2, 1) != delay(2, 2))
        #expect(delay(8, 1) != delay(9, 1))
    }
}
