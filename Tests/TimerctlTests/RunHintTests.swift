// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("RunHint") struct RunHintTests {
    private func failed(_ change: (inout Run) -> Void) -> Run {
        run(.done) {
            ($0.id, $0.failed) = (RunID(rawValue: 9), true)
            change(&$0)
        }
    }

    private func hint(_ run: Run, _ change: (inout JobDefinition) -> Void) -> String? {
        var definition = JobDefinition(schedule: ScheduleWords(every: "5s"))
        change(&definition)
        return RunHint(run, of: definition)?.text
    }

    @Test("Status 65 or 66 of a job with files of variables may be one that cannot be read")
    func files() {
        for status: Int32 in [65, 66] {
            let run = failed { ($0.outcome, $0.status) = (.exited, status) }
            let text = hint(run) { $0.envFile = ["/etc/x.env"] }
            #expect(
                text
                    == "it may be an --env-file that cannot be read, which 'timerctl logs --run 9' names"
            )
            let other = hint(run) { $0.memoryMax = "1K" }
            #expect(other == nil)
        }
        let run = failed { ($0.outcome, $0.status) = (.exited, 1) }
        let text = hint(run) { $0.envFile = ["/etc/x.env"] }
        #expect(text == nil)
    }

    @Test("A signal that ends what has no memory may be that, unless it is known why it came")
    func memory() {
        for signal: Int32 in [6, 9, 11] {
            let run = failed { ($0.outcome, $0.signal) = (.signalled, signal) }
            let text = hint(run) { $0.memoryMax = "1K" }
            #expect(text == "it may be for lack of memory: --memory-max is 1K")
            let without = hint(run) { _ in }
            #expect(without == nil)
        }
        let killed = failed {
            ($0.outcome, $0.signal, $0.stoppedBy) = (.signalled, 9, .owner)
        }
        let told = failed {
            ($0.outcome, $0.signal, $0.error) = (.signalled, 9, "it lacked memory")
        }
        for run in [killed, told] {
            let text = hint(run) { $0.memoryMax = "1K" }
            #expect(text == nil)
        }
    }

    @Test("The page of a job and the list of its runs have the hint behind the outcome")
    func places() {
        let job = job { $0.definition.envFile = ["/etc/x.env"] }
        let run = failed { ($0.outcome, $0.status) = (.exited, 66) }
        let page = JobPage(job: job, runs: [run], dates: testDates).text(for: .plain)
        #expect(page.contains("exit 66; it may be an --env-file"), "\(page)")
        // One of a job that had the name before.
        var other = run
        other.job = JobID(rawValue: job.id.rawValue + 1)
        let table = Runs.table(of: [run, other], isOfOneJob: true, dates: testDates, one: job)
        let outcomes = table.rows.compactMap(\.last?.text)
        #expect(outcomes.first?.contains("exit 66; it may be an --env-file") == true)
        #expect(outcomes.last?.contains("exit 66") == true)
        #expect(outcomes.last?.contains("--env-file") == false)
    }
}
