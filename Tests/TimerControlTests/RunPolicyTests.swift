// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@Suite("RunPolicy") struct RunPolicyTests {
    private func read(_ change: (inout JobDefinition) -> Void) throws(OptionRefusal) -> RunPolicy {
        var definition = JobDefinition(schedule: ScheduleWords())
        change(&definition)
        return try RunPolicy(definition)
    }

    @Test("A job that says nothing has the defaults")
    func defaults() throws {
        let policy = try read { _ in }
        #expect(policy == RunPolicy())
        #expect(policy.timeout == nil)
        #expect(policy.killAfter == .seconds(5))
        #expect(policy.overlap == .skip)
        #expect(policy.successCodes == [0])
        #expect(policy.limits == ProcessLimits())
        #expect(policy.limits.umask == 0o022)
    }

    @Test("Each option is read")
    func options() throws {
        let policy = try read {
            $0.timeout = "1h 30min"
            $0.killAfter = "0"
            $0.overlap = .replace
            $0.retries = 3
            $0.backoff = "10s..5min"
            $0.successCodes = [0, 3]
            $0.onFailure = ["mail", "me"]
            $0.output = .journal
            $0.outputKept = "16M"
            $0.on = "gpu"
            $0.nice = -5
            $0.memoryMax = "512M"
            $0.memoryHigh = "256M"
            $0.cpuWeight = 1
            $0.cpuQuota = "150%"
            $0.tasksMax = 9
            $0.ioWeight = 10_000
            $0.cpuTime = "1.2s"
            $0.umask = "0077"
        }
        #expect(policy.timeout == .seconds(5400))
        #expect(policy.killAfter == .zero)
        #expect(policy.overlap == .replace)
        #expect(policy.retries == 3)
        #expect(policy.backoff == Backoff(first: .seconds(10), max: .seconds(300)))
        #expect(policy.successCodes == [0, 3])
        #expect(policy.output == .journal)
        #expect(policy.outputKept == 16_777_216)
        #expect(policy.on == "gpu")
        var limits = ProcessLimits(nice: -5, memoryMax: 536_870_912, cpuTime: 2, umask: 0o077)
        (limits.memoryHigh, limits.tasksMax) = (268_435_456, 9)
        (limits.cpuWeight, limits.cpuQuota, limits.ioWeight) = (1, 150, 10_000)
        #expect(policy.limits == limits)
    }

    @Test("How the reader of variables ends is no success of a job that has files of them")
    func successCodes() throws {
        #expect(try read { $0.successCodes = [0, 3, 65, 66] }.successCodes == [0, 3, 65, 66])
        let policy = try read { ($0.successCodes, $0.envFile) = ([0, 3, 65, 66], ["/etc/a"]) }
        #expect(policy.successCodes == [0, 3])
    }

    @Test("A backoff without an end goes up to an hour", arguments: [("5s", 3600), ("2h", 7200)])
    func openBackoff(text: String, most: Int64) throws {
        #expect(try read { $0.backoff = text }.backoff?.max == .seconds(most))
    }

    @Test(
        "Bytes are counted in powers of 1024",
        arguments: [("1", 1), ("2K", 2048), ("3G", 3 << 30), ("1T", 1 << 40)] as [(String, UInt64)]
    )
    func bytes(text: String, bytes: UInt64) throws {
        #expect(try read { $0.memoryMax = text }.limits.memoryMax == bytes)
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var message: String
        var change: @Sendable (inout JobDefinition) -> Void

        var testDescription: String { message }

        init(_ message: String, _ change: @escaping @Sendable (inout JobDefinition) -> Void) {
            self.message = message
            self.change = change
        }
    }

    static let span = "such as '90s' or '1h 30min'"
    private static let percent =
        "expected percent of one processor from 1% to 100000%, such as 50% or 200%"
    static let number = "expected a number of bytes, or with K, M, G or T: 512M"
    static let kept = "expected a number of bytes, or with K or M, from 0 to 16M"
    static let mask = "expected an octal number from 0 to 777"
    static let range = "expected D or D..MAX, such as 10s..5min, with MAX not below D"

    @Test(
        "What cannot be is refused by the parameter's name",
        arguments: [
            Refusal("parameter 'timeout' is '0', expected a duration of 1ms to 100 years, \(span)")
            {
                $0.timeout = "0"
            },
            Refusal(
                "parameter 'killAfter' is '101y', expected a duration of 0 to 100 years, \(span)"
            ) {
                $0.killAfter = "101y"
            },
            Refusal(
                "parameter 'cpuTime' is '10ms', expected a duration of 1s to 100 years, \(span)"
            ) {
                $0.cpuTime = "10ms"
            },
            Refusal("parameter 'nice' is 20, expected a number from -20 to 19") { $0.nice = 20 },
            Refusal("parameter 'retries' is -1, expected a number from 0 to 1000") {
                $0.retries = -1
            },
            Refusal("parameter 'successCodes[1]' is 256, expected 0 to 255") {
                $0.successCodes = [0, 256]
            },
            Refusal("parameter 'successCodes' is empty, expected a list of exit statuses, 0 to 255")
            {
                $0.successCodes = []
            },
            Refusal("parameter 'memoryMax' is '0', \(number)") { $0.memoryMax = "0" },
            Refusal("parameter 'memoryMax' is '', \(number)") { $0.memoryMax = "" },
            Refusal("parameter 'memoryMax' is 'M', \(number)") { $0.memoryMax = "M" },
            Refusal("parameter 'memoryMax' is '+1', \(number)") { $0.memoryMax = "+1" },
            Refusal("parameter 'memoryMax' is '1.5G', \(number)") { $0.memoryMax = "1.5G" },
            Refusal("parameter 'memoryMax' is '8388608T', \(number)") {
                $0.memoryMax = "8388608T"
            },
            Refusal("parameter 'cpuQuota' is '50', \(percent)") { $0.cpuQuota = "50" },
            Refusal("parameter 'cpuQuota' is '0%', \(percent)") { $0.cpuQuota = "0%" },
            Refusal("parameter 'cpuQuota' is '1.5%', \(percent)") { $0.cpuQuota = "1.5%" },
            Refusal("parameter 'cpuQuota' is '100001%', \(percent)") { $0.cpuQuota = "100001%" },
            Refusal("parameter 'cpuWeight' is 0, expected a number from 1 to 10000") {
                $0.cpuWeight = 0
            },
            Refusal("parameter 'ioWeight' is 10001, expected a number from 1 to 10000") {
                $0.ioWeight = 10_001
            },
            Refusal("parameter 'tasksMax' is 0, expected a number from 1 to 4194304") {
                $0.tasksMax = 0
            },
            Refusal("parameter 'memoryHigh' is '1X', \(number)") { $0.memoryHigh = "1X" },
            Refusal("parameter 'outputKept' is '17M', \(kept)") { $0.outputKept = "17M" },
            Refusal("parameter 'outputKept' is '-1', \(kept)") { $0.outputKept = "-1" },
            Refusal("parameter 'on' is empty, expected a name") { $0.on = "" },
            Refusal(
                "parameter 'on' is \"a\\n\", expected text without control characters"
            ) { $0.on = "a\n" },
            Refusal("parameter 'umask' is '', \(mask)") { $0.umask = "" },
            Refusal("parameter 'umask' is '8', \(mask)") { $0.umask = "8" },
            Refusal("parameter 'umask' is '1000', \(mask)") { $0.umask = "1000" },
            Refusal("parameter 'umask' is '-1', \(mask)") { $0.umask = "-1" },
            Refusal("parameter 'backoff' is '..1s', \(range)") { $0.backoff = "..1s" },
            Refusal("parameter 'backoff' is '1s..', \(range)") { $0.backoff = "1s.." },
            Refusal("parameter 'backoff' is '2s..1s', \(range)") { $0.backoff = "2s..1s" },
            Refusal(
                "parameter 'onFailure' is without a program, expected [program, argument, ...]"
            ) { $0.onFailure = [""] },
        ]
    )
    func refusals(refusal: Refusal) throws {
        let error = try #require(throws: OptionRefusal.self) { try read(refusal.change) }
        #expect(ControlError(error) == ControlError(.invalidParams, refusal.message))
    }

    @Test("A job whose fires are tasks of a queue has no command")
    func commandBesideQueue() throws {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.queue = "mails"
        _ = try JobPolicy(definition, now: .distantPast, zone: .utc)
        definition.command = ["true"]
        let error = try #require(throws: OptionRefusal.self) {
            try JobPolicy(definition, now: .distantPast, zone: .utc)
        }
        let message =
            "parameter 'command' is stated, expected none beside 'queue', whose tasks are a worker's"
        #expect(ControlError(error) == ControlError(.invalidParams, message))
    }

    @Test("What is no duration is refused", arguments: ["soon", "-1s", ""])
    func noDuration(text: String) {
        #expect(throws: OptionRefusal.self) { try read { $0.timeout = text } }
        #expect(throws: OptionRefusal.self) { try read { $0.backoff = "1s..\(text)" } }
    }
}
