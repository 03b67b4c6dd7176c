// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Runs and logs") struct HistoryTests {
    @Test("Each fire has a line with its date and what became of it")
    func table() {
        let runs = [
            run(.skipped) { $0.reason = .overlap },
            run(.done) {
                $0.id = RunID(rawValue: 12)
                $0.job = JobID(rawValue: 10)
                $0.fireDate = testNow - .seconds(300)
                $0.outcome = .notStarted
                $0.error = "no such file\nor directory"
            },
        ]
        #expect(
            Runs.table(of: runs, isOfOneJob: false, dates: testDates).text(for: .plain) == """
                RUN  JOB  FIRE DATE                       OUTCOME
                  -    2  2026-12-01 09:00:00  now        skipped: the run before was still in progress
                 12   10  2026-12-01 08:55:00  5 min ago  not started: no such file^Jor directory

                """
        )
        let ofOneJob = Runs.table(of: runs, isOfOneJob: true, dates: testDates)
        #expect(ofOneJob.text(for: .plain).hasPrefix("RUN  FIRE DATE "))
    }

    @Test("Runs are those of one job, by id or name, or of all")
    func request() throws {
        #expect(try Runs.parse([]).request() == ListRuns())
        #expect(try Runs.parse(["2", "-n", "5"]).request().job == JobID(rawValue: 2))
        #expect(try Runs.parse(["--name", "n"]).request().name == "n")
        expectUsageError("a job and --name exclude each other") {
            try Runs.parse(["2", "--name", "n"])
        }
        expectUsageError("-n -1 is not a number from 1") { try Runs.parse(["-n", "-1"]) }
    }

    @Test(
        "What took place comes first, the newest first, and dates ahead that are skipped come last"
    )
    func aheadLast() {
        let ahead = run(.skipped) { $0.fireDate = testNow + .seconds(60) }
        let (done, missed) = (run(.done), run(.skipped) { $0.fireDate = testNow - .seconds(60) })
        #expect(Runs.aheadLast([ahead, done, missed], testDates) == [done, missed, ahead])
    }

    @Test("Logs are those of one run, or of the newest run of a job")
    func logs() throws {
        #expect(try Logs.parse(["--run", "17"]).runNumber == 17)
        expectUsageError("a job, --name and --run exclude each other") {
            try Logs.parse(["2", "--run", "17"])
        }
    }

    @Test("Output comes as the bytes it was")
    func bytes() {
        let text = OutputReply.Stream(text: "é\n", base64: nil, offset: 0, dropped: 0)
        #expect(text.bytes == [0xc3, 0xa9, 0x0a])
        let binary = OutputReply.Stream(text: nil, base64: "/wAB", offset: 0, dropped: 0)
        #expect(binary.bytes == [0xff, 0x00, 0x01])
        #expect(OutputReply.Stream(text: nil, base64: nil, offset: 0, dropped: 0).bytes.isEmpty)
    }
}
