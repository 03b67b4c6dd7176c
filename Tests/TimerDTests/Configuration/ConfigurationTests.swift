// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("Configuration") struct ConfigurationTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.json")
    }

    func write(_ text: String) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        #expect(chmod(path, 0o644) == 0)
    }

    func read(
        _ commandLine: [String: String] = [:],
        _ environment: [String: String] = [:],
        file: String? = nil,
        uid: UInt32 = geteuid()
    ) async throws(SettingError) -> TimerD.Configuration {
        var paths = DefaultPaths(environment: [:], uid: 0) { _ in false }
        paths.configuration = path
        return try await .read(
            commandLine: commandLine,
            environment: environment,
            file: file,
            paths: paths,
            uid: uid
        )
    }

    func refusal(
        _ commandLine: [String: String] = [:],
        _ environment: [String: String] = [:],
        file: String? = nil,
        uid: UInt32 = geteuid()
    ) async -> String? {
        do throws(SettingError) {
            _ = try await read(commandLine, environment, file: file, uid: uid)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("Without a file all is as docs/configuration.md says")
    func defaults() async throws {
        let configuration = try await read()
        var standard = TimerD.Configuration(
            database: "/var/lib/timerd/timerd.db",
            socket: "/run/timerd/timerd.sock"
        )
        // It has the host's name.
        standard.unshared = configuration.unshared
        #expect(configuration == standard)
        let text = try String(contentsOfFile: Self.documentation, encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let documented = rows.map { row in
            row.split(separator: "|").prefix(3).map { $0.filter { !" `".contains($0) } }
        }
        let values = try JSONValue(parsing: configuration.jsonText)
        #expect(documented.map { $0[0] } == Setting.allCases.map(\.rawValue))
        // Paths, and what a daemon alone has no use for.
        let others = ["database", "node", "labels", "lease", "copy", "socket", "runner"]
        for row in documented where !others.contains(row[0]) {
            #expect(values[String(row[0])]?.jsonText == row[2], "\(row[0])")
        }
    }

    private static let documentation = URL(filePath: #filePath)
        .appending(path: "../../../../docs/configuration.md").standardizedFileURL.path

    @Test("The command line comes before the environment, that before the file, before the default")
    func precedence() async throws {
        try write(#"{"database": "/f.db", "socket": "/f.sock", "maxRuns": 1, "drainTime": "1min"}"#)
        let configuration = try await read(
            ["database": "/c.db"],
            ["TIMERD_DATABASE": "/e.db", "TIMERD_SOCKET": "/e.sock", "TIMERD_MAX_RUNS": ""]
        )
        #expect(configuration.database == "/c.db")
        #expect(configuration.socket == "/e.sock")
        #expect(configuration.maxRuns == 1)
        #expect(configuration.drainTime == .seconds(60))
        #expect(configuration.maxConnections == 1000)
    }

    @Test("What is printed is a configuration file that says the same")
    func roundTrip() async throws {
        try write(
            """
            {
                "logLevel": "debug", "drainTime": "1min 30s", "maxRuns": 2, "maxRunsPerUser": 1,
                "runsKept": 5, "outputKept": 0, "maxJobsPerUser": 0, "maxConnections": 8,
                "maxConnectionsPerUser": 4, "maxInFlight": 3, "maxInFlightPerUser": 6,
                "database": "/d\\"b", "socket": "/s"
            }
            """
        )
        let first = try await read()
        #expect(first.drainTime == .seconds(90))
        try write(first.jsonText)
        #expect(try await read() == first)
    }

    @Test("Which settings two configurations differ in is told by name")
    func changes() async throws {
        let before = try await read()
        var after = before
        #expect(before.changes(to: after) == [])
        after.socket = "/s"
        after.drainTime = .seconds(11)
        after.deny = ["ann"]
        #expect(before.changes(to: after) == [.socket, .drainTime, .deny])
    }

    @Test(
        "Limits of runs are by user; those of a user come before those of all, and a job's before both"
    )
    func runLimits() async throws {
        try write(
            #"{"runLimits": ["* memoryMax=1G tasksMax=500", "ann memoryMax=8G", "1002 cpuQuota=50%"]}"#
        )
        let texts = try await read(uid: 0).runLimits
        let limits = try #require(RunLimits(texts))
        let ann = limits.completing(ProcessLimits(), uid: 1001, name: "ann")
        #expect(ann.memoryMax == 8 << 30 && ann.tasksMax == 500 && ann.cpuQuota == nil)
        var own = ProcessLimits(memoryMax: 4096)
        own.tasksMax = 1
        let bob = limits.completing(own, uid: 1002, name: "bob")
        #expect(bob.memoryMax == 4096 && bob.tasksMax == 1 && bob.cpuQuota == 50)
        #expect(limits.completing(ProcessLimits(), uid: 0, name: "root") == ProcessLimits())
        for wrong in [
            "*", "ann", "memoryMax=1G", "ann memoryMax", "ann memoryMax=", "ann nice=5",
            "ann cpuQuota=50",
            "ann tasksMax=0", "@staff tasksMax=9", "4294967295 tasksMax=9", "-x tasksMax=9", "",
        ] { #expect(RunLimits([wrong]) == nil, "\(wrong)") }
    }

    @Test("Places of notices are read as those of jobs, and printed without a secret of a URL")
    func notices() async throws {
        try write(
            #"{"notify": ["mail", "https://h.example/secret"], "notifyOn": ["failed"], "mailProgram": "/m"}"#
        )
        let configuration = try await read()
        let settings = SchedulerSettings(configuration, account: try Account.find(uid: geteuid()))
        #expect(settings.notices.defaults.places == [.mail(nil), .web("https://h.example/secret")])
        #expect(settings.notices.defaults.reasons == [.failed])
        #expect(settings.notices.mailProgram == "/m")
        #expect(configuration.jsonText.contains("https://h.example/…#"))
        #expect(!configuration.jsonText.contains("secret"))
        for (text, setting) in [
            (#"{"notify": ["ops"]}"#, "notify"), (#"{"notifyOn": ["ping"]}"#, "notifyOn"),
            (#"{"notify": ["https://h.example/…#0000"]}"#, "notify"),
            (#"{"mailProgram": "sendmail"}"#, "mailProgram"),
        ] {
            try write(text)
            #expect(await refusal()?.contains("'\(setting)'") == true, "\(text)")
        }
    }

    @Test("Defaults of runs are read as the options of jobs, and printed as they count")
    func runDefaults() async throws {
        try write(#"{"defaults": {"onFailure": ["alert", "-x"], "retries": 2, "timeout": "1h"}}"#)
        let configuration = try await read()
        let settings = SchedulerSettings(configuration, account: try Account.find(uid: geteuid()))
        #expect(settings.runDefaults.stated[.onFailure] == .texts(["alert", "-x"]))
        #expect(settings.runDefaults.stated[.retries] == .integer(2))
        let printed = try JSONValue(parsing: configuration.jsonText)
        #expect(printed["defaults"]?["timeout"] == .string("1h"))
        let words = try await read([:], ["TIMERD_DEFAULTS": #"{"retries": 3}"#])
        #expect(RunDefaults(json: words.defaults)?.stated == [.retries: .integer(3)])
        for text in [
            "[]", #"{"overlap": "skip"}"#, #"{"retries": -1}"#, #"{"timeout": "soon"}"#,
            #"{"onFailure": "alert"}"#, #"{"onFailure": []}"#, #"{"nane": 1}"#,
        ] {
            try write(#"{"defaults": \#(text)}"#)
            let refusal = await refusal() ?? ""
            #expect(
                refusal.contains(":1: 'defaults' is ") && refusal.contains("'onFailure'"),
                "\(refusal)"
            )
        }
        for text in [#"{"retries": 2, "overlap": "skip"}"#, #"{"overlap": 1, "timeout": "1h"}"#] {
            try write(#"{"defaults": \#(text)}"#)
            let words = "of which 'overlap' is not accepted; accepted is an object"
            #expect(await refusal()?.contains(words) == true, "\(text)")
        }
    }

    @Test("Users and groups may be listed by root, as words or numbers; by others not")
    func users() async throws {
        try write(#"{"allow": ["ann", "@staff", 1001], "deny": ["0"]}"#)
        #expect(try await read(uid: 0).allow == ["ann", "@staff", "1001"])
        #expect(try await read(uid: 0).deny == ["0"])
        try write(#"{"deny": ["ann"]}"#)
        #expect(chown(path, 4711, 4711) == 0 || geteuid() != 0)
        let refusal = await refusal(uid: geteuid() == 0 ? 4711 : geteuid())
        #expect(refusal?.hasPrefix("'deny' is set, but a daemon that runs as uid ") == true)
    }

    struct Slip: Sendable, CustomTestStringConvertible {
        var text: String
        /// Behind the path.
        var message: String
        var testDescription: String { text }
    }

    static let slips = [
        Slip(
            text: "{\n  \"maxRuns\": 1,\n  \"maxRun\": 2\n}",
            message: ":3: there is no setting 'maxRun'; accepted are database, node, "
        ),
        Slip(
            text: "{\n\n\"maxRuns\": \"many\"}",
            message: ":3: 'maxRuns' is \"many\", accepted is a whole number from 1 to 10000"
        ),
        Slip(text: "{\"maxRuns\": 0}", message: ":1: 'maxRuns' is 0, accepted is"),
        Slip(text: "{\"maxRuns\": 1.5}", message: ":1: 'maxRuns' is 1.5, accepted is"),
        Slip(text: "{\"maxRuns\": true}", message: ":1: 'maxRuns' is true, accepted is"),
        Slip(text: "{\"maxRuns\": null}", message: ":1: 'maxRuns' is null, accepted is"),
        Slip(text: "{\"maxRuns\": 9223372036854775808}", message: ":1: 'maxRuns' is 9"),
        Slip(
            text: "{\n\"logLevel\":\n\"loud\"}",
            message: ":2: 'logLevel' is \"loud\", accepted is trace"
        ),
        Slip(
            text: "{\"drainTime\": 10}",
            message: ":1: 'drainTime' is 10, accepted is a time span"
        ),
        Slip(text: "{\"drainTime\": \"2d\"}", message: ":1: 'drainTime' is \"2d\", accepted is"),
        Slip(text: "{\"database\": \"\"}", message: ":1: 'database' is \"\", accepted is a path"),
        Slip(text: "{\"allow\": \"ann\"}", message: ":1: 'allow' is \"ann\", accepted is a list"),
        Slip(text: "{\"deny\": [\"a b\"]}", message: ":1: 'deny' is [\"a b\"], accepted is a list"),
        Slip(text: "{\"deny\": [-1]}", message: ":1: 'deny' is [-1], accepted is a list"),
        Slip(
            text: "{\"maxRuns\": 1,\n \"maxRuns\": 2}",
            message: ":2: expected a key other than 'maxRuns', again"
        ),
        Slip(text: "{\n\"maxRuns\": 1,\n}", message: ":3: expected a key in quotes"),
        Slip(text: "{\n// no\n}", message: ":2: expected a key in quotes"),
        Slip(text: "", message: ":1: expected a value"),
        Slip(text: "[]", message: ":1: it is an array, expected an object"),
        Slip(
            text: "{\"socket\": \"{\\\"x\\\":1}\",\n\"x\": {\"maxRuns\": 1}}",
            message: ":2: there is no setting 'x'"
        ),
    ]

    @Test("A slip in the file is told with its line and what is accepted", arguments: slips)
    func slip(slip: Slip) async throws {
        try write(slip.text)
        let refusal = await refusal()
        #expect(refusal?.hasPrefix(path + slip.message) == true, "\(refusal ?? "accepted")")
    }

    @Test("A slip in the environment is told with its variable")
    func environment() async {
        // As the environment of a process tells what is not UTF-8.
        let socket = String(decoding: [0x2F, 0xFF], as: UTF8.self)
        let told = await refusal([:], ["TIMERD_SOCKET": socket])
        #expect(told == "TIMERD_SOCKET has bytes that are no text, accepted is UTF-8")
        #expect(
            await refusal([:], ["TIMERD_MAX_RUNS": "x"])
                == "TIMERD_MAX_RUNS is 'x', accepted is a whole number from 1 to 10000"
        )
        #expect(await refusal([:], ["TIMERD_JOB_ID": "x", "TIMERD_SOMETHING": "x"]) == nil)
    }

    @Test(
        "A list in the environment that has commas and no entry is refused",
        arguments: [Setting.allow, .deny, .labels, .runLimits, .notify, .notifyOn],
        [",", ", ,"]
    )
    func noEntry(setting: Setting, text: String) async {
        let refusal = await refusal([:], [setting.variable: text])
        #expect(refusal?.hasPrefix("\(setting.variable) is '\(text)', accepted is ") == true)
    }

    @Test(
        "Places in the environment are split at commas where they can be read in one way alone",
        arguments: [
            ("mail,desktop", ["mail", "desktop"]),
            ("https://a/x,https://b/y", ["https://a/x", "https://b/y"]),
            ("mail,command:tell", ["mail", "command:tell"]),
            ("command:logger a,b", ["command:logger a,b"]), ("mail:ann,ben", ["mail:ann,ben"]),
            (#"["command:logger a,mail", "mail"]"#, ["command:logger a,mail", "mail"]),
            ("command:logger a,mail", nil), ("mail:ann,ben,desktop", nil),
            ("mail,command:logger a,b", nil), (#"["tea"]"#, nil),
        ] as [(String, [String]?)]
    )
    func places(text: String, places: [String]?) async throws {
        let environment = ["TIMERD_NOTIFY": text]
        guard let places else {
            let refusal = await refusal([:], environment)
            #expect(refusal?.contains("in a variable an array of JSON") == true, "\(refusal ?? "")")
            return
        }
        #expect(try await read([:], environment).notify == places)
    }
}
