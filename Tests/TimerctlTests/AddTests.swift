// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Add") struct AddTests {
    /// What the command line becomes on the wire, at `testNow` in Berlin.
    private func definition(_ arguments: [String]) throws -> JobDefinition {
        let request = try Add.parse(arguments).request(
            now: testNow,
            local: berlin
        ).request
        guard case .addJobs(let jobs) = request else { fatalError("add became \(request)") }
        return try #require(jobs.definitions.first)
    }

    @Test(
        "Everything behind the first word that is no option is the command, untouched",
        arguments: [
            (["--", "curl", "-fsS", "http://localhost/"], ["curl", "-fsS", "http://localhost/"]),
            (["curl", "-fsS", "--json", "x"], ["curl", "-fsS", "--json", "x"]),
            (["--", "ls", "--", "-x"], ["ls", "--", "-x"]),
            (["ls", "--", "-x"], ["ls", "--", "-x"]),
            (["--", "-odd-name"], ["-odd-name"]),
            (["git", "--help"], ["git", "--help"]),
            (["--", "git", "--version", "-h"], ["git", "--version", "-h"]),
            (["echo", ""], ["echo", ""]),
            (["--quiet", "--paused", "sleep", "--every", "5"], ["sleep", "--every", "5"]),
        ]
    )
    func command(arguments: [String], command: [String]) throws {
        #expect(try definition(["--every", "5s"] + arguments).command == command)
    }

    @Test("A variable has one value, which may begin with any character")
    func variables() throws {
        let accent = "\u{301}x"
        #expect(
            try definition(["--every", "5s", "--env", "A=" + accent, "x"]).env == ["A": accent]
        )
        expectUsageError("--env: 'A' is given twice; each variable has one value") {
            try Add.parse(["--every", "5s", "--env", "A=1", "--env", "A=2", "x"])
        }
    }

    @Test("A calendar that names its zone has no other one beside it")
    func namedZone() throws {
        let calendar = ["--calendar", "daily UTC"]
        #expect(try definition(calendar + ["--tz", "UTC", "x"]).schedule.calendar == "daily UTC")
        let refusal = #expect(throws: ScheduleError.self) {
            try definition(calendar + ["--tz", "JST-9", "x"])
        }
        #expect(
            refusal?.message == "--calendar names its zone, 'UTC'; --tz is 'JST-9', expected none"
        )
    }

    @Test("Without a command the job is an event")
    func event() throws {
        let definition = try definition(["--in", "30m", "--user-info", #"{"text":"stand up"}"#])
        #expect(definition.command == nil)
        #expect(definition.userInfo?.text == #"{"text":"stand up"}"#)
    }

    @Test("Each option has its field, and what is not said is not sent")
    func fields() throws {
        var expected = JobDefinition(schedule: ScheduleWords(every: "5s"))
        expected.command = ["true"]
        #expect(try definition(["--every", "5s", "true"]) == expected)
        expected.name = "heart"
        expected.tags = ["a", "b"]
        expected.userInfo = JSONText(.integer(-5))
        expected.count = 3
        expected.until = "2026-12-02T08:00:00.000000Z"
        expected.tolerance = "1s"
        expected.jitter = "5min"
        expected.timeout = "1h"
        expected.killAfter = "0"
        expected.overlap = .replace
        expected.retries = 2
        expected.backoff = "1s..1min"
        expected.successCodes = [0, 24]
        expected.onFailure = ["/bin/sh", "-c", "mail root"]
        expected.notify = ["mail:a@example.org", "command:logger -t x"]
        expected.notifyOn = ["failed", "late"]
        expected.notifyLate = "5min"
        expected.notifyEvery = "0s"
        expected.ping = "https://ping.example/x"
        expected.rerunInterrupted = true
        expected.on = "gpu"
        expected.output = .journal
        expected.outputKept = "256K"
        expected.nice = -5
        expected.memoryMax = "1G"
        expected.memoryHigh = "512M"
        expected.cpuWeight = 50
        expected.cpuQuota = "150%"
        expected.tasksMax = 9
        expected.ioWeight = 200
        expected.cpuTime = "30s"
        expected.umask = "027"
        expected.misfire = .all
        expected.misfireLimit = 7
        expected.misfireAfter = "2min"
        expected.misfireWindow = "1d"
        expected.paused = true
        expected.cwd = "/srv"
        expected.env = ["A": "b=c", "E": "", "T": "last"]
        let arguments = [
            "--every", "5s", "--name", "heart", "--tag", "a", "--tag", "b", "--user-info", "-5",
            "--count", "3", "--until", "tomorrow 09:00", "--tolerance", "1s", "--jitter", "5min",
            "--timeout", "1h",
            "--kill-after", "0", "--overlap", "replace", "--retries", "2",
            "--backoff", "1s..1min", "--success-codes", "0,24", "--on-failure", "mail root",
            "--notify", "mail:a@example.org", "--notify", "command:logger -t x",
            "--notify-on", "failed,late", "--notify-late", "5min", "--notify-every", "0s",
            "--ping", "https://ping.example/x",
            "--rerun-interrupted", "--on", "gpu", "--output", "journal", "--output-kept", "256K",
            "--nice", "-5",
            "--memory-max", "1G", "--cpu-time", "30s",
            "--umask", "027", "--memory-high", "512M", "--cpu-weight", "50", "--cpu-quota", "150%",
            "--tasks-max", "9", "--io-weight", "200",
            "--misfire", "all",
            "--misfire-limit", "7", "--misfire-after", "2min", "--misfire-window", "1d",
            "--paused", "--cwd", "/srv", "--env", "A=b=c", "--env", "E=", "--env", "T=last",
            "--", "true",
        ]
        #expect(try definition(arguments) == expected)
    }

    @Test(
        "A relative working directory is that of the user's shell",
        arguments: [
            ("/srv", "/srv"), (".", "/home/a"), ("b", "/home/a/b"), ("../c", "/home/a/../c"),
            ("", ""),
        ]
    )
    func workingDirectory(path: String, absolute: String) {
        #expect(InputFile.absolutePath(path, from: "/home/a") == absolute)
        #expect(InputFile.absolutePath("b", from: "/") == "/b")
    }

    @Test("--replace is said beside the definition")
    func replace() throws {
        let request = try Add.parse(["--in", "5s", "--replace", "--name", "n"]).request(
            now: testNow,
            local: berlin
        ).request
        let definition = try definition(["--in", "5s", "--name", "n"])
        #expect(request == .addJobs(AddJobs(definition, replace: true)))
    }

    @Test(
        "Durations and expressions go as they are, dates as instants of the user's zone",
        arguments: [
            (["--in", "1h 30min"], ScheduleWords(in: "1h 30min")),
            (["--every", "250ms"], ScheduleWords(every: "250ms")),
            (["--at", "09:30"], ScheduleWords(at: "2026-12-01T08:30:00.000000Z")),
            (["--at", "tomorrow 09:00"], ScheduleWords(at: "2026-12-02T08:00:00.000000Z")),
            (["--at", "+10m"], ScheduleWords(at: "2026-12-01T08:10:00.000000Z")),
            (["--at", "09:30", "--tz", "UTC"], ScheduleWords(at: "2026-12-01T09:30:00.000000Z")),
            (
                ["--every", "1d", "--from", "2026-12-24 18:00"],
                ScheduleWords(every: "1d", from: "2026-12-24T17:00:00.000000Z")
            ),
            (["--cron", "0 9 * * *"], ScheduleWords(cron: "0 9 * * *", tz: berlin.name)),
            (["--cron", "@reboot"], ScheduleWords(cron: "@reboot")),
            (["--calendar", "daily UTC"], ScheduleWords(calendar: "daily UTC")),
            (["--calendar", "daily", "--tz", "UTC"], ScheduleWords(calendar: "daily", tz: "UTC")),
        ]
    )
    func schedule(arguments: [String], words: ScheduleWords) throws {
        #expect(try definition(arguments).schedule == words)
    }

    @Test("An expression keeps the zone of who adds it by name, unless --tz names another")
    func ownZone() throws {
        let zone = { (arguments: [String]) in
            try ScheduleOptions.parse(arguments).words(
                now: testNow,
                local: berlin
            ).words.tz
        }
        #expect(try zone(["--cron", "0 9 * * *"]) == berlin.name)
        #expect(try zone(["--cron", "0 9 * * *", "--tz", "UTC"]) == "UTC")
        #expect(try zone(["--every", "5s"]) == nil)
    }

    @Test("The last date of an interval has the zone that is named, in a file as well")
    func zoneOfEnd() throws {
        let ends = try definition(
            ["--every", "1h", "--until", "2026-12-24 09:00", "--tz", "JST-9"]
        )
        #expect(ends.schedule == ScheduleWords(every: "1h"))
        #expect(ends.until == "2026-12-24T00:00:00.000000Z")
        let short = try Every.parse(["1h", "--until", "2026-12-24 09:00", "--tz", "JST-9"])
        #expect(try short.schedule.zone(local: berlin).name == "JST-9")
        let file = jobFile("jobs: {a: {every: 1h, until: 2026-12-24 09:00, tz: JST-9}}")
        #expect(file.mistakes == [])
        #expect(file.jobs.first?.definition.schedule == ScheduleWords(every: "1h"))
        #expect(file.jobs.first?.definition.until == "2026-12-24T00:00:00.000000Z")
    }

    @Test("A local time that does not exist comes with a note")
    func note() throws {
        let add = try Add.parse(["--at", "2027-03-28 02:30"])
        let (_, notes) = try add.request(now: testNow, local: berlin)
        #expect(notes.count == 1)
    }

    @Test(
        "A wrong command line is refused, and the message says what is accepted",
        arguments: [
            ([], "no schedule; give one of --in, --at, --every, --cron, --calendar"),
            (["true"], "no schedule; give one of --in, --at, --every, --cron, --calendar"),
            (["--in", "5s", "--at", "09:00"], "--in and --at exclude each other"),
            (["--in", "5s", "--from", "09:00"], "--from belongs to --every"),
            (
                ["--every", "5s", "--tz", "UTC"],
                "--tz belongs to --at, --from, --until, --cron and --calendar; a length of time has no zone"
            ),
            (["--in", "5s", "--"], "no command after '--'"),
            // As a script has them where a variable is empty.
            (["--cron", "", "true"], "--cron is '', expected five fields, or six, or @daily"),
            (["--in", "5s", "--shell", " "], "--shell is ' ', expected a line for /bin/sh"),
            (
                ["--in", "5s", "--on-failure", "", "true"],
                "--on-failure is '', expected a line for /bin/sh"
            ),
            (
                ["--in", "5s", "--nmae", "x"],
                "unknown option '--nmae', perhaps '--name'; a command that begins so goes after '--'"
            ),
            (["--in", "5s", "--replace"], "--replace needs --name"),
            (["--in", "5s", "--count", "0"], "--count is 0, expected a number from 1 upwards"),
            (
                ["--in", "5s", "--misfire-limit", "-1"],
                "--misfire-limit is -1, expected a number from 1 to 10000"
            ),
            (
                ["--in", "5s", "--retries", "few"],
                "--retries is 'few', expected a number from 0 to 1000"
            ),
            (
                ["--in", "5s", "--timeout", "soon"],
                "--timeout: 'soon' is not a duration, such as '5s', '1h 30min' or '250ms'"
            ),
            (
                ["--in", "5s", "--success-codes", "0,300"],
                "--success-codes is 300, expected 0 to 255"
            ),
            (["--in", "5s", "--env", "A"], "--env is 'A', expected NAME=value"),
            (["--in", "5s", "--env", "=b"], "--env is '=b', expected NAME=value"),
            (
                ["--in", "5s", "--misfire", "twice"],
                "--misfire is 'twice', expected 'once', 'skip' or 'all'"
            ),
        ]
    )
    func refused(arguments: [String], message: String) {
        expectUsageError(message) { try Add.parse(arguments) }
    }

    @Test(
        "Help and version are asked for before the command",
        arguments: ["-h", "--help", "--version"]
    )
    func clean(option: String) {
        do {
            let add = try Add.parse(["--in", "5s", option])
            Issue.record("\(option) was taken for a command: \(add.command)")
        } catch {
            #expect(Add.exitCode(for: error).isSuccess)
        }
    }

    @Test(
        "The first fire is told in words",
        arguments: [
            (5, "first fire in 5 s, at 09:00:05"), (50_400, "first fire in 14 h, at 23:00:00"),
            (86_400, "first fire in 24 h, tomorrow at 09:00:00"),
            (864_000, "first fire in 10 days, on 2026-12-11 at 09:00:00"),
        ]
    )
    func firstFire(seconds: Int64, sentence: String) {
        let job = job { $0.fireDate = testNow + .seconds(seconds) }
        #expect(job.firstFireSentence(in: berlin) == sentence)
    }

    @Test("A command that is refused is wrong usage, and is named so; that of a file is not")
    func refusedCommand() throws {
        let failure = Failure(
            ControlError(.invalidParams, "parameter 'command' is without a program")
        )
        func named(_ words: [String]) throws -> Failure {
            let command = try Timerctl.parseAsRoot(words)
            return StatedRefusal.named(failure, arguments: ["timerctl"] + words, of: command)
        }
        let own = Failure(.usage, "the command is without a program")
        #expect(try named(["add", "--every", "5s", "--", ""]) == own)
        #expect(try named(["change", "2", "--", ""]) == own)
        #expect(try named(["apply", "-f", "x.yaml"]) == failure)
    }

    @Test("A paused job says how it is armed")
    func paused() {
        let job = job { $0.state = .paused }
        #expect(job.firstFireSentence(in: berlin) == "paused; 'timerctl resume 2' arms it")
        #expect(job.firstFireSentence(in: berlin, isTrial: true) == "paused", "job 2 is not there")
    }
}

extension Add {
    /// What it asks the daemon.
    func request(
        now: Timestamp,
        local: Zone
    ) throws -> (request: Request, notes: [String]) {
        try job.request(
            schedule,
            command: command,
            now: now,
            local: local
        )
    }
}
