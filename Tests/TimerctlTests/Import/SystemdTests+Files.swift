// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
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
        #expect(unit.settings[2].value == "Mon  *-*-* 09:00")
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
