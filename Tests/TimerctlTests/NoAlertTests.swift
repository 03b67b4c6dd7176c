// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

@Suite("No on-failure command") struct NoAlertTests {
    private func attempt(
        _ number: Int,
        failed: Bool = true,
        _ change: (inout Run) -> Void = { _ in }
    ) -> Run {
        run(.done) {
            ($0.id, $0.attempt) = (RunID(rawValue: Int64(number)), number)
            ($0.outcome, $0.status) = (.exited, failed ? 1 : 0)
            $0.failed = failed ? true : nil
            change(&$0)
        }
    }

    /// Of a job that is tried three times.
    private func sentence(_ run: Run, _ attempts: [Run]? = [], hasCommand: Bool = true) -> String {
        let tried = job {
            ($0.definition.command, $0.definition.retries) = (["true"], 2)
            $0.definition.onFailure = hasCommand ? ["mail"] : nil
        }
        let all = attempts?.isEmpty == true ? [run] : attempts
        return NoAlert(run: run, attempts: all, job: tried, status: TopTests.status).sentence
    }

    @Test("Where none has followed a run that failed, it is said why, as far as that is known")
    func reasons() {
        let none = "no on-failure command has followed run 1"
        let first = attempt(1)
        #expect(sentence(first, hasCommand: false) == "\(none): job 2 has none")
        let waiting = attempt(1) { $0.nextAttemptAt = testNow }
        let over = "it follows the last attempt, and its fire is not over"
        #expect(sentence(waiting) == "\(none): \(over)")
        #expect(sentence(first, [run(.running) { $0.attempt = 2 }, first]) == "\(none): \(over)")
        let ended = "none follows a run that was ended"
        #expect(sentence(attempt(1) { $0.stopped = true }) == "\(none): \(ended)")
        let killed = attempt(2) { $0.stoppedBy = .owner }
        #expect(sentence(first, [killed, first]) == "\(none): \(ended)")
        #expect(
            sentence(first, [attempt(2, failed: false), first])
                == "\(none): its fire did not fail, as run 2 went well"
        )
        let dropped = "by its retries of now, what was still to be tried of its fire was dropped"
        #expect(sentence(first) == "\(none): \(dropped)")
        let last = attempt(3)
        #expect(
            sentence(last)
                == "no on-failure command has followed run 3, or its run is no longer kept"
        )
    }

    @Test("Where the other attempts of its fire are not known, no reason is told that goes by them")
    func unknown() {
        #expect(
            sentence(attempt(1), nil)
                == "no on-failure command has followed run 1, or its run is no longer kept"
        )
    }

    @Test("A fire whose last attempt went well did not fail, also while its success is told")
    func success() {
        let alert = run(.running) { ($0.fire, $0.onSuccess) = (attempt(1).fire, true) }
        #expect(
            sentence(attempt(1), [alert, attempt(2, failed: false), attempt(1)])
                == "no on-failure command has followed run 1: its fire did not fail, as run 2 went "
                + "well"
        )
    }

    @Test("Attempts that the daemon's defaults give were dropped as those of the job are")
    func defaults() {
        var status = TopTests.status
        status.defaults = ["retries": .integer(2)]
        let silent = job {
            ($0.definition.command, $0.definition.onFailure) = (["true"], ["mail"])
        }
        let first = attempt(1)
        let dropped = NoAlert(run: first, attempts: [first], job: silent, status: status)
        #expect(dropped.sentence.hasSuffix("what was still to be tried of its fire was dropped"))
        #expect(!silent.hasDroppedAttempts(after: first, among: [first], nil))
        #expect(!silent.hasDroppedAttempts(after: attempt(3), among: [attempt(3)], status))
        let event = job { $0.definition.command = nil }
        #expect(!event.hasDroppedAttempts(after: first, among: [first], status))
    }

    @Test("A run that did not fail has none, nor has one of such a command")
    func none() {
        #expect(
            sentence(attempt(1, failed: false))
                == "run 1 did not fail: no on-failure command followed it"
        )
        #expect(
            sentence(attempt(1) { ($0.attempt, $0.onFailure) = (nil, true) })
                == "run 1 is of an on-failure command, which no on-failure command follows"
        )
    }

    @Test("A job has such a command by its own words or by the daemon's defaults")
    func command() {
        let silent = job { $0.definition.command = ["true"] }
        #expect(silent.hasAlert(nil) == nil, "the defaults are not known")
        #expect(job { $0.definition.onFailure = ["mail"] }.hasAlert(nil) == true)
        var status = TopTests.status
        #expect(silent.hasAlert(status) == false)
        status.defaults = ["onFailure": .array([.string("mail")])]
        #expect(silent.hasAlert(status) == true)
    }
}
