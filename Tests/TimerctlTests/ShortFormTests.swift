// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("At and every") struct ShortFormTests {
    private func added(_ arguments: [String]) throws -> Request {
        try Add.parse(arguments).request(now: testNow, local: berlin).request
    }

    @Test(
        "'at' is 'add --at', with options on either side of the date",
        arguments: [
            (
                ["tomorrow 09:00", "--", "echo", "--hi"],
                ["--at", "tomorrow 09:00", "--", "echo", "--hi"]
            ),
            (["--name", "x", "+10m"], ["--at", "+10m", "--name", "x"]),
            (["4pm", "+", "3", "days", "--", "ls"], ["--at", "4pm + 3 days", "--", "ls"]),
            (
                ["10:00", "am", "UTC", "24", "Dec", "2027", "+", "1", "month", "2", "days"],
                ["--at", "10:00 am UTC 24 Dec 2027 + 1 month 2 days"]
            ),
            (
                [
                    "10:00", "am", "UTC", "Fri", "24", "Dec", "2027", "+", "1", "month", "2",
                    "days", "3", "hours", "--event",
                ],
                ["--at", "10:00 am UTC Fri 24 Dec 2027 + 1 month 2 days 3 hours", "--event"]
            ),
            (["tomorrow", "noon", "--event"], ["--at", "tomorrow noon", "--event"]),
            (
                ["09:00", "--tz", "UTC", "--shell", "a | b"],
                ["--at", "09:00", "--tz", "UTC", "--shell", "a | b"]
            ),
        ]
    )
    func at(arguments: [String], same: [String]) throws {
        let at = try At.parse(arguments)
        let request = try at.script.job.request(
            at.schedule,
            command: at.script.words.command,
            now: testNow,
            local: berlin
        ).request
        #expect(try request == added(same))
    }

    @Test(
        "'every' is 'add --every', with options on either side of the interval",
        arguments: [
            (
                ["5s", "--name", "hb", "--", "true"],
                ["--every", "5s", "--name", "hb", "--", "true"]
            ),
            (["--count", "3", "1h 30min"], ["--every", "1h 30min", "--count", "3"]),
            (
                ["1d", "--from", "09:00", "--tz", "UTC", "--", "sync"],
                ["--every", "1d", "--from", "09:00", "--tz", "UTC", "--", "sync"]
            ),
        ]
    )
    func every(arguments: [String], same: [String]) throws {
        let every = try Every.parse(arguments)
        let request = try every.job.request(
            every.schedule,
            command: every.command,
            now: testNow,
            local: berlin
        ).request
        #expect(try request == added(same))
    }

    @Test("A command without '--' is refused")
    func noTerminator() {
        #expect(throws: (any Error).self) { try Every.parse(["5s", "true"]) }
        #expect(throws: (any Error).self) { try Every.parse(["5s", "--tz", "UTC"]) }
    }
}
