// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Import of systemd timers") struct SystemdTests {
    func unit(_ name: String, _ texts: String...) -> UnitFile {
        var unit = UnitFile(name: name)
        for text in texts { unit.read(text) }
        return unit
    }

    func plan(
        _ timer: String,
        _ service: String,
        isUser: Bool = false,
        startsUnit: Bool = false,
        caller: LocalUser = .root
    ) -> ImportPlan {
        let timer = unit("x.timer", "[Timer]\n" + timer)
        var jobs = SystemdJobs(
            timer: timer,
            service: unit("x.service", "[Service]\n" + service),
            serviceName: timer.value("Unit", in: "Timer") ?? "x.service",
            isUser: isUser,
            startsUnit: startsUnit
        )
        jobs.caller = caller
        jobs.findUser = { name in [LocalUser.root, .ann].first { $0.name == name } }
        return jobs.plan(now: testNow)
    }

    // MARK: - Jobs

    @Test("A timer and its service become a job with all that has a counterpart")
    func job() throws {
        let plan = plan(
            """
            OnCalendar=Mon..Fri 09:00
            Persistent=true
            RandomizedDelaySec=12h
            AccuracySec=1h
            """,
            """
            Type=oneshot
            User=ann
            WorkingDirectory=/srv
            Environment="A=b c" D=%n
            ExecStart=/opt/run --all ${A}
            Nice=5
            TimeoutStartSec=1h
            TimeoutStopSec=20
            UMask=0077
            LimitAS=512M:1G
            LimitCPU=infinity
            SuccessExitStatus=3 75 TEMPFAIL
            PrivateTmp=yes
            """
        )
        #expect(plan.refusals == [])
        let words = ScheduleWords(calendar: "Mon..Fri 09:00")
        var expected = JobDefinition(schedule: words.namingZone(.local))
        expected.name = "x"
        expected.tags = ["systemd:x.timer"]
        expected.misfire = .once
        expected.jitter = "12h"
        expected.tolerance = "1h"
        expected.command = ["/opt/run", "--all", "b c"]
        expected.cwd = "/srv"
        expected.env = ["A": "b c", "D": "x.service"]
        expected.nice = 5
        expected.timeout = "1h"
        expected.killAfter = "20s"
        expected.umask = "0077"
        expected.memoryMax = "512M"
        expected.successCodes = [0, 3, 75]
        let job = try #require(plan.jobs.first)
        #expect(job.definition == expected)
        #expect(job.owner == .ann)
        #expect(plan.notes.count == 3, "\(plan.notes)")
        #expect(
            plan.notes[1].hasPrefix(
                "x.service:11: [Service] LimitAS=512M:1G is carried otherwise: "
            )
        )
        #expect(plan.notes[0].contains("not TEMPFAIL"))
        #expect(plan.notes[2].hasPrefix("x.service:14: [Service] PrivateTmp=yes is not carried: "))
    }

    @Test("Limits of its control group are those of a run's; what a run has none of is noted")
    func groupLimits() {
        let plan = plan(
            "OnCalendar=daily",
            "ExecStart=/bin/d\nMemoryMax=1G\nMemoryHigh=10%\nCPUWeight=20\nCPUQuota=150%\n"
                + "TasksMax=infinity\nIOWeight=300"
        )
        let definition = plan.jobs.first?.definition
        #expect(definition?.memoryMax == "1G" && definition?.memoryHigh == nil)
        #expect(definition?.cpuWeight == 20 && definition?.cpuQuota == "150%")
        #expect(definition?.tasksMax == nil && definition?.ioWeight == 300)
        #expect(plan.notes.filter { $0.contains("MemoryHigh=10%") }.count == 1)
    }

    @Test("Several commands are one line for a shell; one that may fail does not end it")
    func commands() {
        let plan = plan(
            "OnCalendar=daily",
            "Type=oneshot\nExecStartPre=-/bin/a 'b c'\nExecStart=/bin/d\nExecStart=/bin/e"
        )
        #expect(
            plan.jobs.first?.definition.command
                == ["/bin/sh", "-c", "{ /bin/a 'b c' || :; } && /bin/d && /bin/e"]
        )
        #expect(plan.jobs.first?.definition.cwd == "/")
        #expect(plan.jobs.first?.definition.misfire == .skip, "Persistent= is off by default")
    }

    @Test("Statuses that are a success are of ExecStart= alone, and the next command is run then")
    func successCodes() {
        let codes = "Type=oneshot\nSuccessExitStatus=75 0 3\n"
        let one = plan("OnCalendar=daily", codes + "ExecStart=/bin/a")
        #expect(one.jobs.first?.definition.command == ["/bin/a"])
        #expect(one.jobs.first?.definition.successCodes == [0, 3, 75])
        let several = plan(
            "OnCalendar=daily",
            codes + "ExecStartPre=/bin/a\nExecStart=/bin/b\nExecStart=-/bin/c"
        )
        #expect(
            several.jobs.first?.definition.command == [
                "/bin/sh", "-c",
                "/bin/a && { /bin/b || case $? in 3|75) ;; *) exit $?;; esac; } && { /bin/c || :; }",
            ]
        )
        #expect(several.jobs.first?.definition.successCodes == nil)
    }

    @Test(
        "A semicolon that stands alone separates commands, as several lines do, with prefixes of their own",
        arguments: [
            ("/bin/echo one ; /bin/echo two", "/bin/echo one && /bin/echo two"),
            ("-/bin/a ; :/bin/b $X ; @/bin/c d e", "{ /bin/a || :; } && /bin/b '$X' && /bin/c e"),
            ("/bin/a ; ; -+/bin/b ;\nExecStart=/bin/c", "/bin/a && { /bin/b || :; } && /bin/c"),
        ]
    )
    func semicolons(text: String, line: String) {
        let plan = plan("OnCalendar=daily", "Type=oneshot\nExecStart=\(text)")
        #expect(plan.jobs.first?.definition.command == ["/bin/sh", "-c", line])
    }

    @Test("Of settings with the same instants one becomes a job, and both lines are named")
    func sameInstants() {
        let twice = plan(
            "OnCalendar=daily\nOnCalendar=*-*-* 00:00\nOnCalendar=Sun 12:00\nOnCalendar=daily",
            "ExecStart=/bin/a"
        )
        #expect(twice.jobs.map(\.text) == ["OnCalendar=daily", "OnCalendar=Sun 12:00"])
        let reason = "is not carried: the job of x.timer:2 fires at the same instants, once"
        #expect(
            twice.notes == [
                "x.timer:3: [Timer] OnCalendar=*-*-* 00:00 \(reason)",
                "x.timer:5: [Timer] OnCalendar=daily \(reason)",
                "x.timer: 2 jobs, whose runs may overlap; those of one unit never do",
            ]
        )
        let starts = plan(
            "OnBootSec=1min\nOnBootSec=2min\nOnStartupSec=60",
            "ExecStart=/bin/a"
        )
        #expect(starts.jobs.map(\.text) == ["OnBootSec=1min", "OnBootSec=2min"])
        let spans = plan("OnUnitActiveSec=1h\nOnUnitInactiveSec=60min", "ExecStart=/bin/a")
        #expect(spans.jobs.map(\.text) == ["OnUnitActiveSec=1h"])
        #expect(spans.notes.count == 1 && spans.notes[0].contains("of x.timer:2"))
    }

    @Test("Lengths of time: a grid; from the start of the machine, where nothing else is said")
    func monotonic() throws {
        let grid = plan("OnBootSec=15min\nOnUnitActiveSec=1d", "ExecStart=/bin/a")
        #expect(grid.jobs.map(\.definition.schedule) == [ScheduleWords(every: "1d")])
        #expect(grid.notes.contains { $0.contains("OnBootSec=15min is not carried") })
        let boot = plan("OnBootSec=90", "Type=oneshot\nTimeoutStartSec=30\nExecStart=/bin/a b")
        let job = try #require(boot.jobs.first).definition
        #expect(job.schedule == ScheduleWords(cron: "@reboot"))
        #expect(job.command == ["/bin/sh", "-c", SystemdJobs.wait, "90", "/bin/a", "b"])
        #expect(job.timeout == "2min")
        #expect(boot.notes.count == 1 && boot.notes[0].contains("its run sleeps until then"))
        let atOnce = plan("OnBootSec=0", "ExecStart=/bin/a")
        #expect(atOnce.jobs.first?.definition.command == ["/bin/a"] && atOnce.notes == [])
    }

    @Test("Each time of a timer is a job, and --start-unit leaves the rest to systemd")
    func startUnit() {
        let plan = plan(
            "OnCalendar=daily\nOnCalendar=Sun 12:00\nUnit=y.service",
            "Type=forking\nUser=ann",
            startsUnit: true
        )
        #expect(plan.refusals == [])
        #expect(plan.jobs.map(\.text) == ["OnCalendar=daily", "OnCalendar=Sun 12:00"])
        #expect(
            plan.jobs.allSatisfy { $0.definition.command == ["systemctl", "start", "y.service"] }
        )
        #expect(plan.jobs.allSatisfy { $0.owner == .root })
        let own = self.plan(
            "OnCalendar=daily",
            "",
            isUser: true,
            startsUnit: true,
            caller: .ann
        )
        #expect(
            own.jobs.first?.definition.command == ["systemctl", "--user", "start", "x.service"]
        )
        #expect(own.jobs.first?.definition.env == ["XDG_RUNTIME_DIR": "/run/user/1001"])
    }

    @Test(
        "What cannot be taken over is refused, and --start-unit is offered",
        arguments: [
            ("OnCalendar=daily", "Type=forking\nExecStart=/bin/a", "--start-unit"),
            ("OnCalendar=daily", "DynamicUser=yes\nExecStart=/bin/a", "--start-unit"),
            ("OnCalendar=daily", "Type=oneshot", "has no ExecStart"),
            ("OnCalendar=daily", "ExecStartPre=/bin/a", "has no ExecStart"),
            ("OnCalendar=daily", "ExecStart=/bin/a\nExecStart=/bin/b", "with Type=oneshot alone"),
            ("OnCalendar=daily", "ExecStart=/bin/a ; /bin/b", "with Type=oneshot alone"),
            ("OnCalendar=daily", "ExecStart=/bin/a %b", "accepted are %%"),
            ("OnCalendar=daily", "ExecStart=/bin/a 'b", "has no end"),
            ("OnCalendar=daily", "User=ann\nExecStart=+/bin/a", "root's rights"),
            ("OnCalendar=daily", "User=ghost\nExecStart=/bin/a", "no user 'ghost'"),
            ("OnCalendar=daily", "EnvironmentFile=/nonexistent/x\nExecStart=/a", "/nonexistent/x"),
            ("OnCalendar=daily", "EnvironmentFile=/etc/*.env\nExecStart=/a", "is a pattern"),
            ("OnCalendar=daily", "WorkingDirectory=srv\nExecStart=/bin/a", "no absolute path"),
            ("OnCalendar=sometimes", "ExecStart=/bin/a", "sometimes"),
            ("Persistent=yes", "ExecStart=/bin/a", "at no time"),
        ]
    )
    func refused(timer: String, service: String, reason: String) {
        let plan = plan(timer, service)
        #expect(plan.jobs.isEmpty)
        #expect(plan.refusals.contains { $0.reason.contains(reason) }, "\(plan.refusals)")
    }

    @Test("Files of variables are read by each run; what ExecStart takes from one is read now")
    func environmentFiles() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try "PORT=80\nTOKEN=secret".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let files = "EnvironmentFile=\(file)\nEnvironmentFile=-/nonexistent/x\nEnvironment=A=b\n"
        let plain = plan("OnCalendar=daily", files + "ExecStart=/bin/a")
        let job = try #require(plain.jobs.first?.definition)
        #expect(job.envFile == [file, "-/nonexistent/x"] && job.env == ["A": "b"])
        #expect(!plain.notes.contains { $0.contains("EnvironmentFile") })
        let taken = plan("OnCalendar=daily", files + "ExecStart=/bin/a $PORT")
        #expect(taken.jobs.first?.definition.command == ["/bin/a", "80"])
        #expect(taken.jobs.first?.definition.env == ["A": "b"])
        #expect(taken.notes.contains { $0.contains("takes from it was read now") })
        let before = plan("OnCalendar=daily", files + "ExecStartPre=/bin/b $PORT\nExecStart=/bin/a")
        #expect(before.notes.contains { $0.contains("takes from it was read now") })
    }

    @Test(
        "A variable that nothing sets now is told of, one of the user is known, one of a run refuses"
    )
    func unsetVariables() throws {
        let files = "EnvironmentFile=-/nonexistent/x\nUser=ann\nLoadCredential=t:/x\n"
        let empty = plan("OnCalendar=daily", files + "ExecStart=/bin/a ${PORT} $HOST")
        #expect(empty.jobs.first?.definition.command == ["/bin/a", ""])
        #expect(
            empty.notes.contains { $0.contains("sets $HOST, $PORT, so it is empty in the job") }
        )
        let home = plan("OnCalendar=daily", "ExecStart=/bin/a ${HOME}/x $USER")
        #expect(home.jobs.first?.definition.command == ["/bin/a", "/root/x", "root"])
        #expect(!home.notes.contains { $0.contains("is empty in the job") })
        let secret = plan("OnCalendar=daily", files + "ExecStart=/bin/a ${CREDENTIALS_DIRECTORY}/t")
        #expect(secret.jobs.isEmpty)
        #expect(secret.refusals.contains { $0.reason.contains("is known in a run alone") })
    }

    @Test(
        "Credentials that are loaded are carried; what is encrypted or stands in the unit is named"
    )
    func credentials() throws {
        let service = """
            LoadCredential=old:/x
            LoadCredential=
            LoadCredential=token:/etc/token
            LoadCredential=missing
            LoadCredentialEncrypted=a:/b
            SetCredential=c:d
            ExecStart=/bin/a
            """
        let plan = plan("OnCalendar=daily", service)
        #expect(plan.jobs.first?.definition.credentials == ["token:/etc/token"])
        for name in ["LoadCredentialEncrypted=", "SetCredential="] {
            #expect(plan.notes.contains { $0.contains(name) && $0.contains("is not carried") })
        }
    }

    @Test("A credential without a path is the one that systemd has; it may lack, as with systemd")
    func storedCredentials() throws {
        let text = """
            [Service]
            LoadCredential=stored
            LoadCredential=missing
            LoadCredential=other:stored
            """
        var service = ServiceUnit(unit("a.service", text), owner: .root, isUser: false)
        service.hasFile = { $0 == "/etc/credstore/stored" }
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        try service.readCredentials(&definition)
        let stored = "/etc/credstore/stored"
        #expect(definition.credentials == ["stored:\(stored)", "other:\(stored)"])
        #expect(service.notes.count == 1)
        let words = "LoadCredential=missing is not carried: systemd has no credential 'missing'"
        #expect(service.notes.contains { $0.contains(words) })
        // A folder that this user may not look into may have it: it is not left out.
        service.hasFile = { $0.hasPrefix("/etc/credstore/") ? nil : false }
        service.notes = []
        try service.readCredentials(&definition)
        #expect(definition.credentials == ["stored", "missing", "other"])
        #expect(service.notes.count == 3)
    }

    @Test("A system unit that runs as root is for root to take over")
    func notRoot() {
        let plan = plan("OnCalendar=daily", "ExecStart=/bin/a", caller: .ann)
        #expect(plan.jobs.isEmpty)
        #expect(plan.refusals.first?.reason.contains("only root may") == true)
    }
}
