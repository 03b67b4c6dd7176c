// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerWeb

@Suite struct DiagnosisTests {
    private func run(_ job: Int64, hasFailed: Bool = true) -> Run {
        let moment = Timestamp(microseconds: 0)
        let fire = FireID(rawValue: 1)
        var run = Run(job: JobID(rawValue: job), fire: fire, state: .done, fireDate: moment)
        run.failed = hasFailed ? true : nil
        return run
    }

    @Test("Of the jobs whose runs failed the one that failed last is named first, and each once")
    func failed() {
        let failed = Diagnosis.failed([run(7), run(9, hasFailed: false), run(3), run(7), run(5)])
        #expect(failed == [7, 3, 5].map { JobID(rawValue: $0) })
    }
}
