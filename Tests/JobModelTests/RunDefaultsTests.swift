// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import JobModel

@Suite("Defaults of runs") struct RunDefaultsTests {
    private func defaults() throws -> RunDefaults {
        try RunDefaults([
            .timeout: .text("1h"), .retries: .integer(2), .backoff: .text("10s"),
            .onFailure: .texts(["alert"]), .onSuccess: .texts(["praise"]),
        ])
    }

    private func job(_ change: (inout JobDefinition) -> Void = { _ in }) throws -> StoredJob {
        try StoredJob.sample {
            $0.command = ["true"]
            change(&$0)
        }
    }

    @Test("They count where a job says nothing, and not where it does")
    func holding() throws {
        let defaults = try defaults()
        let silent = try job()
        #expect(defaults.timeout(of: silent) == .seconds(3600))
        #expect(defaults.retries(of: silent) == 2)
        #expect(defaults.backoff(of: silent).first == .seconds(10))
        #expect(defaults.command(of: .onFailure, for: silent.definition) == ["alert"])
        let outspoken = try job {
            $0.timeout = "5s"
            ($0.retries, $0.backoff) = (0, "1s")
            $0.onFailure = ["true"]
        }
        #expect(defaults.timeout(of: outspoken) == .seconds(5))
        #expect(defaults.retries(of: outspoken) == 0)
        #expect(defaults.backoff(of: outspoken).first == .seconds(1))
        #expect(defaults.command(of: .onFailure, for: outspoken.definition) == ["true"])
        #expect(defaults.command(of: .onSuccess, for: outspoken.definition) == ["praise"])
    }

    @Test("An option that has no default, and a value that is none, are refused")
    func refused() {
        #expect(throws: OptionRefusal.self) { try RunDefaults([.overlap: .text("skip")]) }
        #expect(throws: OptionRefusal.self) { try RunDefaults([.timeout: .text("never")]) }
        #expect(throws: OptionRefusal.self) { try RunDefaults([.onFailure: .texts([])]) }
    }

    @Test("A job that asks for more history than is allowed has what is allowed")
    func history() {
        var policy = JobPolicy()
        let bound = HistoryBound(standard: 100, most: 1000)
        #expect(bound.rows(of: policy) == 100)
        policy.keepRuns = 3
        #expect(bound.rows(of: policy) == 3)
        policy.keepRuns = 5000
        #expect(bound.rows(of: policy) == 1000)
        #expect(HistoryBound(standard: 100, most: 10).rows(of: policy) == 100)
    }
}
