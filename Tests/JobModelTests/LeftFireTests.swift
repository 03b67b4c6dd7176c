// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("What a crash left") struct LeftFireTests {
    /// A fire of a job every 10 s, whose date is 10 s after the start, as a daemon finds it `at` seconds.
    struct Row: Sendable {
        var state: FireState
        var at: Double = 5
        var isCommand = true
        /// Whether it is what its job has claimed for its next date.
        var isClaim = true
        /// Whether its event may have been told, whatever the clock says.
        var isMaybeTold = false
        var expected: LeftFire.Verdict
    }

    static let rows = [
        // Its command may have been started, or waits to be: the clock has no say in it.
        Row(state: .running, expected: .interrupt),
        Row(state: .running, at: 11, isClaim: false, expected: .interrupt),
        Row(state: .waiting, expected: .wait),
        Row(state: .waiting, at: 11, isClaim: false, expected: .wait),
        // A date that is to come.
        Row(state: .claimed, expected: .keep),
        Row(state: .claimed, at: 9.999, isCommand: false, expected: .keep),
        // One that has come: an event may have been told, a command was not started.
        Row(state: .claimed, at: 10, isCommand: false, expected: .redeliver),
        Row(state: .claimed, at: 10, expected: .resolveAgain),
        Row(state: .claimed, at: 5000, isCommand: false, expected: .redeliver),
        // By a clock that was set back since.
        Row(state: .claimed, isCommand: false, isMaybeTold: true, expected: .redeliver),
        // By hand: no later date makes up for it.
        Row(state: .claimed, isClaim: false, expected: .carryOut),
        Row(state: .claimed, at: 11, isCommand: false, isClaim: false, expected: .carryOut),
    ]

    @Test("Each fire that a daemon left open is settled by what it was", arguments: rows)
    func verdict(row: Row) throws {
        let job = try StoredJob.sample { $0.command = row.isCommand ? ["x"] : nil }
        let left = LeftFire(
            id: FireID(rawValue: 1),
            job: job.id,
            wallDate: .start(10),
            state: row.state,
            missed: 0,
            firedAt: row.isMaybeTold ? .start(10) : nil
        )
        let moment = ClockReading(elapsed: .start(row.at), wallOffset: .zero)
        #expect(left.verdict(of: job, isClaim: row.isClaim, at: moment) == row.expected)
    }

    @Test("Whether it was due is asked of the job's own clock")
    func clocks() throws {
        let every = try StoredJob.sample()
        let cron = try StoredJob.sample(ScheduleWords(cron: "*/10 * * * * *"))
        let left = LeftFire(
            id: FireID(rawValue: 1),
            job: every.id,
            wallDate: .start(10),
            state: .claimed,
            missed: 0
        )
        // The wall clock was set forward by an hour at 5 s.
        let ahead = ClockReading(elapsed: .start(5), wallOffset: .seconds(3600))
        #expect(!left.isDue(of: every, at: ahead))
        #expect(left.isDue(of: cron, at: ahead))
        let back = ClockReading(elapsed: .start(15), wallOffset: .seconds(-3600))
        #expect(left.isDue(of: every, at: back))
        #expect(!left.isDue(of: cron, at: back))
    }

    @Test("A date that has come, and that jitter puts off, is kept until it is due")
    func jitter() throws {
        let job = try StoredJob.sample { $0.jitter = "10s" }
        let left = LeftFire(
            id: FireID(rawValue: 1),
            job: job.id,
            wallDate: .start(10),
            state: .claimed,
            missed: 0
        )
        let due = try #require(job.dueDate)
        #expect(due > .start(10))
        let before = ClockReading(elapsed: due - TimeSpan(microseconds: 1), wallOffset: .zero)
        #expect(left.verdict(of: job, isClaim: true, at: before) == .keep)
        let then = ClockReading(elapsed: due, wallOffset: .zero)
        #expect(left.verdict(of: job, isClaim: true, at: then) == .redeliver)
    }
}
