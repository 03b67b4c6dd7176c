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
        #expect(try Show.parse(["--name", "7"]).jobs.references == [.name("7")])
    }

    @Test("--wait is for one job")
    func wait() throws {
        #expect(try Fire.parse(["--wait", "--name", "7"]).wait)
        expectUsageError("--wait is for one job; 2 are named") {
            try Fire.parse(["--wait", "2", "3"])
        }
        expectUsageError("--wait is for one job; --tag and --owner may mean several") {
            try Fire.parse(["--wait", "--tag", "t"])
        }
    }

    @Test(
        "Several jobs are one selection, so that all are changed or none; names are looked up first"
    )
    func selections() throws {
        #expect(try Pause.parse(["2", "3"]).jobs.selection == .ids([id(2), id(3)]))
        #expect(try Resume.parse(["--name", "n"]).jobs.selection == .name("n"))
        #expect(try Resume.parse(["n"]).jobs.selection == .name("n"))
        #expect(try Invalidate.parse(["--tag", "t"]).jobs.selection == .tag("t"))
        let mixed = try Invalidate.parse(["2", "backup"]).jobs
        #expect(mixed.selection == nil && mixed.jobs == [.id(id(2)), .name("backup")])
    }

    @Test("'skip 2 5' could be read two ways: several jobs need --count")
    func skip() throws {
        expectUsageError(
            "several jobs: say --count, so many dates of each; 'skip 2 --count 5' drops five dates "
                + "of job 2, and 'skip 2 5 --count 1' the next date of both"
        ) {
            try Skip.parse(["2", "5"])
        }
        #expect(try Skip.parse(["2", "5", "--count", "1"]).jobs.selection == .ids([id(2), id(5)]))
        #expect(try Skip.parse(["2", "-n", "5"]).number == 5)
        for option in ["-n", "--count"] {
            expectUsageError("--count (-n) is '0', accepted is 1 to 10000") {
                try Skip.parse(["2", option, "0"])
            }
        }
    }

    @Test("What is empty is refused by the name that it has on the command line")
    func empty() {
        expectUsageError("the new name is empty, expected a name") { try Rename.parse(["1", ""]) }
        expectUsageError("--tag is empty, accepted is a tag") { try List.parse(["--tag", ""]) }
        expectUsageError("--owner is empty, accepted is a user") {
            try TimelineCommand.parse(["--owner", ""])
        }
    }

    @Test("No job, or two ways to name one, is wrong usage")
    func oneWay() {
        let which = "say which job: its id or its name"
        expectUsageError(which) { try Show.parse([]) }
        expectUsageError(which) { try Show.parse(["2", "--name", "n"]) }
        let jobs =
            "say which jobs: their ids or names, --tag with a tag, or --owner with a user"
        expectUsageError(jobs) { try Pause.parse([]) }
        let ways = "jobs, --name, --tag and --owner exclude each other"
        expectUsageError(ways) { try Fire.parse(["2", "--name", "n"]) }
        expectUsageError(ways) { try Invalidate.parse(["--name", "n", "--tag", "t"]) }
        let other = "a job of another user goes by its id, which 'timerctl list --owner ann' shows"
        expectUsageError("\(ways); \(other)") { try Fire.parse(["backup", "--owner", "ann"]) }
    }

    @Test("What is no number is a name")
    func names() throws {
        #expect(
            try Show.parse(["standup", "2", "1.5"]).jobs.references
                == [.name("standup"), .id(id(2)), .name("1.5")]
        )
        #expect(try Runs.parse(["backup"]).request(testDates).name == "backup")
        #expect(try Logs.parse(["backup"]).job == .name("backup"))
    }

    @Test("An id is a number from 1", arguments: ["0", "99999999999999999999"])
    func badID(argument: String) {
        expectUsageError(
            "'\(argument)' is neither an id, a number from 1, nor a name; a name of digits goes with "
                + "--name"
        ) {
            try Show.parse([argument])
        }
    }

    @Test(
        "A new fire date may be several words, and is sent as an instant",
        arguments: [
            (["2", "tomorrow 09:00"], JobReference.id(JobID(rawValue: 2)), "2026-12-02T08:00"),
            (["2", "tomorrow", "09:00"], .id(JobID(rawValue: 2)), "2026-12-02T08:00"),
            (["--name", "n", "+10m"], .name("n"), "2026-12-01T08:10"),
            (["n", "+10m"], .name("n"), "2026-12-01T08:10"),
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
    }

    @Test("How many dates are dropped is said of a job that has more, of another that it has none")
    func skipped() throws {
        let ended = job { ($0.state, $0.fireDate) = (.finished, nil) }
        let next = "job 2: next fire in 5 s, at 09:00:05; the next"
        let one = try Skip.parse(["2"])
        #expect(one.sentence(of: job(), testDates) == "\(next) date is dropped")
        #expect(one.sentence(of: ended, testDates) == "job 2: finished; the next date is dropped")
        let ten = try Skip.parse(["2", "-n", "10"])
        #expect(ten.sentence(of: job(), testDates) == "\(next) 10 dates are dropped")
        let all = "all dates that it had left are dropped"
        #expect(ten.sentence(of: ended, testDates) == "job 2: finished; \(all)")
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
