// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TimerControl

@testable import timerctl

@Suite("Watch") struct WatchTests {
    @Test("Filters may be given together or one by one")
    func request() throws {
        #expect(try Watch.parse([]).request(of: []) == Subscribe())
        var expected = Subscribe()
        expected.since = 0
        expected.types = [.fireFired, .runFinished]
        expected.jobs = [JobID(rawValue: 2), JobID(rawValue: 3)]
        let together = ["--since", "0", "--type", "fire.fired", "run.finished", "--job", "2", "3"]
        let ids = [JobID(rawValue: 2), JobID(rawValue: 3)]
        #expect(try Watch.parse(together).jobs == ids.map { .id($0) })
        #expect(try Watch.parse(together).request(of: ids) == expected)
        let each = ["--type", "fire.fired", "--type", "run.finished", "--job", "2", "--job", "3"]
        #expect(try Watch.parse(each).jobs == ids.map { .id($0) })
        #expect(try Watch.parse(each + ["--since", "0"]).request(of: ids) == expected)
        #expect(try Watch.parse(["--job", "backup"]).jobs == [.name("backup")])
    }

    @Test(
        "The command to go on with watches the same",
        arguments: [
            ([], "timerctl watch --since 123"),
            (
                ["--json", "--since", "5", "--type", "fire.fired", "--job", "2", "3"],
                "timerctl watch --since 123 --type fire.fired --job 2 3 --json"
            ),
            (["--socket", "/tmp/a b"], "timerctl watch --since 123 --socket '/tmp/a b'"),
        ]
    )
    func resumption(arguments: [String], command: String) throws {
        #expect(try Watch.parse(arguments).resumption(after: 123) == command)
    }

    @Test("Numbers below their range are refused")
    func range() {
        expectUsageError("-n 0 is not a number from 1") { try Watch.parse(["-n", "0"]) }
        expectUsageError("--since -1 is not a number from 0") {
            try Watch.parse(["--since", "-1"])
        }
    }
}
