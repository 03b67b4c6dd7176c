// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import SystemPackage
import Testing
import TimerControl

@testable import timerctl

/// What is read of unit files.
extension SystemdTests {
    @Test("Drop-ins add to lists, replace values, and an empty value takes back")
    func dropIns() {
        let unit = unit(
            "a@b.timer",
            """
            # a comment
            [Unit]
            Description=x
            [Timer]
            OnCalendar=daily
            OnCalendar = Mon \\
              ; a comment in between
              *-*-* 09:00
            Persistent=yes
            """,
            "[Timer]\nOnCalendar=\nOnCalendar=weekly\nPersistent=no\nWakeSystem=on\n"
        )
        #expect(unit.values("OnCalendar", in: "Timer") == ["weekly"])
        #expect(unit.settings[2].value == "Mon    *-*-* 09:00", "with the blanks of both lines")
        #expect(unit.settings[2].place == "a@b.timer:6", "where a continued line begins")
        #expect(!unit.isOn("Persistent", in: "Timer"))
        #expect(
            unit.others(than: ["Timer": ["OnCalendar"], "Unit": []]).map(\.text)
                == [
                    "[Unit] Description=x", "[Timer] Persistent=yes", "[Timer] Persistent=no",
                    "[Timer] WakeSystem=on",
                ]
        )
        #expect(unit.stem == "a@b")
        #expect(unit.instance == "b")
    }

    @Test(
        "A command line has systemd's prefixes, quotes, specifiers and variables",
        arguments: [
            ("/bin/a b  c", ["/bin/a", "b", "c"]),
            (#"-/bin/a "b c" 'd"e'"#, ["/bin/a", "b c", #"d"e"#]),
            ("@/bin/sh -sh -l", ["/bin/sh", "-l"]),
            (#"/bin/a x\ty \x41"#, ["/bin/a", "x\ty", "A"]),
            ("/bin/a %i-%n-%p 100%%", ["/bin/a", "b-a@b.service-a", "100%"]),
            ("/bin/a $MORE ${ONE}$ONE $$X $NONE", ["/bin/a", "p", "q", "1$ONE", "$X"]),
            (":/bin/a $MORE", ["/bin/a", "$MORE"]), (#"/bin/a """#, ["/bin/a", ""]),
            (#"/bin/find . \; x; ";" ';' ;"#, ["/bin/find", ".", ";", "x;", ";", ";"]),
            // systemd knows blanks and signs of ASCII alone, whatever follows them.
            (
                "/bin/a b\u{A0}c \u{37E} d\u{2028}e",
                ["/bin/a", "b\u{A0}c", "\u{37E}", "d\u{2028}e"]
            ),
            (
                "/bin/a \"b\"\u{301} %%\u{301} ${ONE}\u{301}",
                ["/bin/a", "b\u{301}", "%\u{301}", "1\u{301}"]
            ),
        ]
    )
    func commandLine(text: String, words: [String]) throws {
        let specifiers = UnitSpecifiers(
            unit: UnitFile(name: "a@b.service"),
            owner: .ann,
            isUser: false
        )
        let commands = try UnitCommand.all(
            in: text,
            specifiers: specifiers,
            variables: ["MORE": "p q", "ONE": "1"]
        )
        let command = try #require(commands.first)
        #expect(commands.count == 1)
        #expect(command.words == words)
        #expect(command.unset == (text.contains("$NONE") ? ["NONE"] : []))
    }

    @Test(
        "The words of a variable are those that systemd takes from its value",
        arguments: [
            // What systemd 252 ran.
            (#"x "y z" w\ v"#, "$A +", ["x", "y z", "w v", "+"]),
            (#"--x="a b" --y=a"b c"d"#, "$A", ["--x=a b", "--y=ab cd"]),
            ("it's on", "$A", ["its on"]), ("a\tb\nc", "$A", ["a", "b", "c"]),
            (#"a\\b c"#, #"$A ${A}"#, [#"a\b"#, "c", #"a\\b c"#]),
            (#"x "" y"#, "$A", ["x", "", "y"]),
            (#"x "y z"#, "$A", ["x", "y z"]), (#"q\"#, "$A", ["q"]), ("", "$A ${A} +", ["", "+"]),
            ("1", #"$A.b "$A" '$A x' $ $-x a$A $$A"#, ["1", "a$A", "$A"]),
            ("1", "${A:-x} ${N:-${A}} ${A ${} $${A}", ["${A:-x}", "${N:-1}", "${A", "", "${A}"]),
        ]
    )
    func variableWords(value: String, text: String, words: [String]) throws {
        let specifiers = UnitSpecifiers(
            unit: UnitFile(name: "a.service"),
            owner: .ann,
            isUser: false
        )
        let commands = try UnitCommand.all(
            in: "/bin/a " + text,
            specifiers: specifiers,
            variables: ["A": value]
        )
        #expect(commands.map(\.words) == [["/bin/a"] + words])
    }

    @Test(
        "A line is continued where systemd continues it, and ends where it ends it",
        arguments: [
            ("A=a \\\\\nB=b", ["a \\\\", "b"]), ("A=a \\ \nB=b", ["a \\", "b"]),
            ("A=\"a \\\n   b\"", ["\"a     b\""]), ("A=a \\\r\n b\r\nB=b\r\n", ["a   b", "b"]),
            ("A=a\u{2028}b\u{85}c\u{C}d", ["a\u{2028}b\u{85}c\u{C}d"]),
            ("A=\u{A0}a\u{A0}", ["\u{A0}a\u{A0}"]), ("A=\u{301}a", ["\u{301}a"]),
            ("A=a\rB=b\0C=c", ["a", "b", "c"]),
        ]
    )
    func lines(text: String, values: [String]) {
        let unit = unit("a.service", "\u{FEFF}[Service]\n" + text)
        #expect(unit.settings.map(\.value) == values)
        #expect(unit.settings.allSatisfy { $0.section == "Service" } && unit.unread == [])
    }

    @Test("A backslash with nothing behind it is no escape")
    func lastBackslash() {
        let mistake = #expect(throws: UnitCommand.Mistake.self) {
            try UnitCommand.split(#"a \"#)
        }
        #expect(mistake?.reason == #"the escape '\' is not understood"#)
    }

    @Test(
        "An escape of a byte has two digits, and no sign",
        arguments: [#"\x+5"#, #"\x-1"#, #"\x4"#, #"\xg1"#]
    )
    func escapes(text: String) {
        let specifiers = UnitSpecifiers(
            unit: UnitFile(name: "a.service"),
            owner: .ann,
            isUser: false
        )
        let mistake = #expect(throws: UnitCommand.Mistake.self) {
            try UnitCommand.all(in: "/bin/a \(text)", specifiers: specifiers, variables: [:])
        }
        #expect(mistake?.reason == #"the escape '\x' is not understood"#)
    }

    @Test("A file may end in the middle of a setting, behind the backslash that continues it")
    func cutSetting() {
        let unit = unit("a.timer", "[Timer]\nOnCalendar=daily\nUnit=b.service \\")
        #expect(unit.value("Unit", in: "Timer") == "b.service")
        #expect(unit.settings.last?.place == "a.timer:3")
    }

    @Test("The unit of a timer may be said with what its name stands for")
    func serviceName() throws {
        func name(_ text: String) throws(UnitCommand.Mistake) -> String {
            try SystemdJobs.serviceName(
                of: unit("a@x.timer", "[Timer]\n" + text),
                isUser: false,
                manager: .root
            )
        }
        #expect(try name("OnCalendar=daily") == "a@x.service")
        #expect(try name("Unit=b@%i.service") == "b@x.service")
        let mistake = #expect(throws: UnitCommand.Mistake.self) { try name("Unit=b@%Q.service") }
        #expect(mistake?.setting?.place == "a@x.timer:2")
        #expect(mistake?.reason.hasPrefix("the specifier '%' in 'b@%Q.service'") == true)
    }

    @Test("Times and users of a template are those of its instance; %h and %u are not User='s")
    func specifiers() {
        func plan(_ instance: String, _ timer: String, _ service: String) -> ImportPlan {
            var jobs = SystemdJobs(
                timer: unit("a@\(instance).timer", "[Timer]\n" + timer),
                service: unit("a@\(instance).service", "[Service]\n" + service),
                serviceName: "a@\(instance).service",
                isUser: false,
                startsUnit: false
            )
            jobs.caller = .root
            jobs.findUser = { name in [LocalUser.root, .ann].first { $0.name == name } }
            return jobs.plan(now: testNow)
        }
        let user = plan("ann", "OnCalendar=daily", "User=%i\nExecStart=/bin/a %h %u %U $HOME")
        #expect(user.refusals == [] && user.jobs.first?.owner == .ann)
        #expect(
            user.jobs.first?.definition.command == ["/bin/a", "/root", "root", "0", "/home/ann"]
        )
        let daily = plan("daily", "OnCalendar=%i", "ExecStart=/bin/a").jobs.first
        #expect(daily?.definition.schedule.calendar == "daily")
        #expect(daily?.rule == .calendar("daily") && daily?.text == "OnCalendar=%i")
        let hourly = plan("1h", "OnUnitActiveSec=%i", "ExecStart=/bin/a").jobs.first
        #expect(hourly?.definition.schedule.every == "1h")
        let odd = plan("x", "OnCalendar=%Q", "User=%Q\nExecStart=/bin/a").refusals
        #expect(odd.map(\.text) == ["OnCalendar=%Q", "User=%Q"])
        #expect(odd.allSatisfy { $0.reason.contains("the specifier '%' in '%Q'") })
    }

    @Test(
        "A template that is no instance is refused, as a timer and as what a timer starts",
        arguments: [
            ("a@.timer", "a@.service", "a@NAME.timer"), ("a.timer", "b@.service", "b@NAME.service"),
        ]
    )
    func templates(timer: String, service: String, instance: String) {
        for startsUnit in [false, true] {
            var jobs = SystemdJobs(
                timer: unit(timer, "[Timer]\nOnCalendar=daily"),
                service: unit(service, "[Service]\nExecStart=/bin/a %i"),
                serviceName: service,
                isUser: false,
                startsUnit: startsUnit
            )
            jobs.caller = .root
            let plan = jobs.plan(now: testNow)
            #expect(plan.jobs.isEmpty)
            #expect(plan.refusals.map(\.place) == [timer])
            #expect(plan.refusals.first?.reason.hasSuffix("'\(instance)'") == true)
        }
    }

    @Test("A user is found by name and by number")
    func numberedUser() throws {
        #expect(try LocalUser(namedOrNumbered: "0")?.name == "root")
        #expect(try LocalUser(namedOrNumbered: "root")?.uid == 0)
        #expect(try LocalUser(namedOrNumbered: "4294967294") == nil)
        // Where a name alone is taken, it is said of a number.
        #expect(LocalUser.accepted(for: "1034") == "; accepted is a user's name, and no uid")
        #expect(LocalUser.accepted(for: "ann").isEmpty)
    }

    @Test("A user database that does not answer is a failure, and no user who is not there")
    func unansweredUser() {
        let failure = Failure(.inputOutput, "cannot look up the user 'ann': input/output error")
        #expect(throws: failure) {
            try LocalUser(named: "ann") { _ throws(Errno) in throw .ioError }
        }
        var jobs = CrontabJobs(path: "/etc/crontab", owner: nil)
        jobs.findUser = { _ throws(Failure) in throw failure }
        let plan = jobs.plan(of: Crontab(parsing: "* * * * * ann true\n", hasUsers: true))
        #expect(plan.refusals.map(\.reason) == [failure.message])
    }

    @Test("A folder that cannot be read is a failure, and no folder without files")
    func unreadableFolder() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "timerctl-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let loop = folder + "/loop"
        try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: loop)
        try "jobs: {a: {every: 5s}}".write(
            toFile: folder + "/a.yaml",
            atomically: false,
            encoding: .utf8
        )
        #expect(try InputFile.names(in: folder)?.sorted() == [".", "..", "a.yaml", "loop"])
        #expect(try InputFile.names(in: folder + "/none") == nil)
        #expect(try InputFile.names(in: folder + "/a.yaml") == nil)
        #expect(try JobFiles.read([folder], label: "web").jobs.map(\.name) == ["a"])
        let failure = #expect(throws: Failure.self) { try InputFile.names(in: loop) }
        #expect(failure?.status == .inputOutput)
        // The drop-ins of a unit.
        var units = UnitFolders(isUser: false, home: "/")
        units.paths = [folder]
        try "[Timer]\nOnCalendar=daily\n".write(
            toFile: folder + "/x.timer",
            atomically: false,
            encoding: .utf8
        )
        #expect(try units.unit("x.timer")?.value("OnCalendar", in: "Timer") == "daily")
        let dropIns = folder + "/x.timer.d"
        try FileManager.default.createSymbolicLink(atPath: dropIns, withDestinationPath: dropIns)
        let unread = #expect(throws: Failure.self) { try units.unit("x.timer") }
        #expect(unread?.status == .inputOutput)
    }

    @Test("A unit that is not UTF-8 is refused with the line; it would run another command")
    func notText() throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "timerctl-\(UUID().uuidString).service")
        defer { try? FileManager.default.removeItem(at: path) }
        try Data("[Service]\nExecStart=/bin/cat /srv/caf".utf8 + [0xe9, 0x0a]).write(to: path)
        var units = UnitFolders(isUser: false, home: "/")
        units.paths = [path.deletingLastPathComponent().path]
        let refused = #expect(throws: Failure.self) { try units.unit(path.lastPathComponent) }
        #expect(refused?.message == "'\(path.path)' is not UTF-8 text in line 2")
        // As a file of variables.
        let file = "[Service]\nEnvironmentFile=\(path.path)\nExecStart=/bin/a\n"
        let plan = whole("[Timer]\nOnCalendar=daily", file)
        #expect(plan.refusals.count == 1 && plan.refusals.first?.reason == refused?.message)
    }

    @Test("Units are looked for where systemd looks, in its order")
    func folders() {
        let system = UnitFolders(isUser: false, home: "/root").paths
        #expect(system.first == "/etc/systemd/system.control")
        #expect(system.contains("/run/systemd/transient"))
        #expect(system.last == "/run/systemd/generator.late")
        let variables = ["XDG_CONFIG_HOME": "/c", "XDG_RUNTIME_DIR": "/r", "XDG_DATA_HOME": "d"]
        let user = UnitFolders(isUser: true, home: "/home/ann") { variables[$0] }.paths
        #expect(
            user.prefix(7) == [
                "/c/systemd/user.control", "/r/systemd/user.control", "/r/systemd/transient",
                "/r/systemd/generator.early", "/c/systemd/user", "/etc/xdg/systemd/user",
                "/etc/systemd/user",
            ]
        )
        #expect(user.contains("/home/ann/.local/share/systemd/user"), "'d' is no absolute path")
        let usual = UnitFolders(isUser: true, home: "/home/ann") { _ in nil }.paths
        #expect(usual.first == "/home/ann/.config/systemd/user.control")
    }

    @Test("The dates of systemd-analyze are read from its answer, in UTC and elsewhere")
    func analyze() {
        let utc = """
              Original form: Sun 2026-11-22 06:00
            Normalized form: Sun 2026-11-22 06:00:00 UTC
                Next elapse: Sun 2026-11-22 06:00:00 UTC
                   From now: 10h left
               Iteration #2: Sun 2026-11-22 18:00:00 UTC
            """
        let first = date("2026-11-22T06:00:00Z")
        #expect(SystemdAnalyze.dates(in: utc) == [first, date("2026-11-22T18:00:00Z")])
        let berlin = """
                Next elapse: Sun 2026-11-22 07:00:00 CET
                   (in UTC): Sun 2026-11-22 06:00:00 UTC
                   From now: 10h left
            """
        #expect(SystemdAnalyze.dates(in: berlin) == [first])
    }
}

extension UnitFile {
    /// The last value of a setting; nil if it is not given, or was removed.
    func value(_ name: String, in section: String) -> String? {
        values(name, in: section).last
    }
}
