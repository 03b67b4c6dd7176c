// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Commands on jobs") struct JobCommandTests {
    @Test("Jobs are named by ids or by a name")
    func references() throws {
        #expect(try Show.parse(["2", "3"]).jobs.references == [.id(id(2)), .id(id(3))])
        #expect(try Fire.parse(["--name", "7"]).jobs.references == [.name("7")])
    }

    @Test("Each id is a selection of its own, so that one refusal leaves the others be")
    func selections() throws {
        #expect(try Pause.parse(["2", "3"]).jobs.selections == [.ids([id(2)]), .ids([id(3)])])
        #expect(try Resume.parse(["--name", "n"]).jobs.selections == [.name("n")])
        #expect(try Invalidate.parse(["--tag", "t"]).jobs.selections == [.tag("t")])
    }

    @Test("No job, or two ways to name one, is wrong usage")
    func oneWay() {
        let which = "say which job: its id, or --name with its name"
        expectUsageError(which) { try Show.parse([]) }
        expectUsageError(which) { try Fire.parse(["2", "--name", "n"]) }
        let jobs =
            "say which jobs: their ids, --name with a name, --tag with a tag, or --owner with a user"
        expectUsageError(jobs) { try Pause.parse([]) }
        expectUsageError(jobs) { try Invalidate.parse(["--name", "n", "--tag", "t"]) }
    }

    @Test("An id is a number from 1", arguments: ["0", "standup", "1.5", "99999999999999999999"])
    func badID(argument: String) {
        expectUsageError("'\(argument)' is no id, a number from 1; a job's name goes with --name") {
            try Show.parse([argument])
        }
    }

    @Test(
        "A new fire date may be several words, and is sent as an instant",
        arguments: [
            (["2", "tomorrow 09:00"], JobReference.id(JobID(rawValue: 2)), "2026-12-02T08:00"),
            (["2", "tomorrow", "09:00"], .id(JobID(rawValue: 2)), "2026-12-02T08:00"),
            (["--name", "n", "+10m"], .name("n"), "2026-12-01T08:10"),
            (["2026-12-24", "18:00", "--name", "n"], .name("n"), "2026-12-24T17:00"),
        ]
    )
    func setFireDate(arguments: [String], job: JobReference, minute: String) throws {
        let request = try SetFireDate.parse(arguments).request(now: testNow, local: berlin).request
        let expected = TimerControl.SetFireDate(job: job, fireDate: minute + ":00.000000Z")
        #expect(request == .setFireDate(expected))
    }

    @Test("set-fire-date needs a job and a date")
    func incompleteFireDate() {
        expectUsageError("no date; try 'tomorrow 09:00' or '+10m'") { try SetFireDate.parse(["2"]) }
        expectUsageError("'tomorrow' is no id, a number from 1; a job's name goes with --name") {
            try SetFireDate.parse(["tomorrow", "09:00"])
        }
    }

    @Test("A changed job is told by its title and its next fire")
    func nextFireSentence() {
        let named = job { $0.definition.name = "a\nb" }
        #expect(named.nextFireSentence(testDates) == "job 2 (a^Jb): next fire in 5 s, at 09:00:05")
        let paused = job { $0.state = .paused }
        #expect(
            paused.nextFireSentence(testDates)
                == "job 2: paused; once resumed, next fire in 5 s, at 09:00:05"
        )
        let ended = job { $0.state = .invalidated }
        #expect(ended.nextFireSentence(testDates) == "job 2: invalidated")
    }

    private func id(_ number: Int64) -> JobID { JobID(rawValue: number) }
}
