// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

/// What is told of the directives that no job has, or not as systemd means them.
extension SystemdTests {
    /// A plan of units that have more than one section.
    func whole(_ timer: String, _ service: String, caller: LocalUser = .root) -> ImportPlan {
        var jobs = SystemdJobs(
            timer: unit("x.timer", timer),
            service: unit("x.service", service),
            serviceName: "x.service",
            isUser: false,
            startsUnit: false
        )
        jobs.caller = caller
        jobs.findUser = { name in [LocalUser.root, .ann].first { $0.name == name } }
        return jobs.plan(now: testNow)
    }

    @Test("Every directive that is not carried is told of, with its place and its value")
    func directives() {
        let plan = whole(
            """
            [Unit]
            Description=x
            Requires=network.target
            After=a.service \\
              b.service
            [Timer]
            OnCalendar=daily
            OnClockChange=yes
            Nonsense=1
            rubbish
            [Install]
            WantedBy=timers.target
            Also=y.service
            [X-Mine]
            A=b
            """,
            """
            [Unit]
            OnSuccess=y.service
            ConditionACPower=true
            Wants=z.service
            Wants=
            [Service]
            User=ann
            ExecStart=/bin/a
            ProtectHome=yes
            Nice=soon
            TimeoutStopSec=later
            [Mount]
            What=x
            """
        )
        #expect(plan.refusals == [])
        #expect(
            plan.warnings == [
                "x.service:2: [Unit] OnSuccess=y.service is not carried: "
                    + "no unit is started when a run succeeds; --on-success of 'timerctl add' runs a "
                    + "command then"
            ]
        )
        for expected in [
            "x.timer:3: [Unit] Requires=network.target is not carried: a job neither waits",
            "x.timer:4: [Unit] After=a.service    b.service is not carried: a job neither waits",
            "x.timer:8: [Timer] OnClockChange=yes is not carried: timerd has nothing like it",
            "x.timer:9: [Timer] Nonsense=1 is not carried: ", "x.timer:10: 'rubbish' is no setting",
            "x.timer:13: [Install] Also=y.service is not carried: ",
            "x.service:3: [Unit] ConditionACPower=true is not carried: it is not looked at",
            "x.service:4: [Unit] Wants=z.service is not carried: a job neither waits",
            "x.service:9: [Service] ProtectHome=yes is not carried: a run has nothing like it; ",
            "x.service:13: [Mount] What=x is not carried: ",
            "x.service:10: [Service] Nice=soon is not carried: ",
            "x.service:11: [Service] TimeoutStopSec=later is not carried: it is no length of time",
        ] {
            #expect(plan.notes.filter { $0.hasPrefix(expected) }.count == 1, "\(expected)")
        }
        #expect(plan.notes.count == 12, "\(plan.notes)")
    }

    @Test("An empty value that means something is told of; one that brings the default back is not")
    func emptyValues() {
        let plan = whole(
            "[Timer]\nOnCalendar=daily",
            """
            [Service]
            ExecStart=/bin/a
            CapabilityBoundingSet=CAP_CHOWN
            CapabilityBoundingSet=
            Delegate=
            AmbientCapabilities=
            SystemCallFilter=@system-service
            SystemCallFilter=
            RestrictAddressFamilies=none
            IPAddressDeny=
            """
        )
        #expect(
            plan.notes.map { String($0.prefix { $0 != "," && $0 != ";" }) } == [
                "x.service:4: [Service] CapabilityBoundingSet= is not carried: a run has nothing like it",
                "x.service:5: [Service] Delegate= is not carried: a run has nothing like it",
                "x.service:9: [Service] RestrictAddressFamilies=none is not carried: a run has nothing like "
                    + "it",
            ]
        )
    }

    @Test("A section that belongs to the other unit is told of, and not read")
    func wrongUnit() {
        let plan = whole(
            "[Timer]\nOnCalendar=daily\n[Service]\nExecStart=/bin/b",
            "[Service]\nExecStart=/bin/a\n[Timer]\nOnCalendar=weekly"
        )
        #expect(
            plan.notes == [
                "x.timer:4: [Service] ExecStart=/bin/b is not carried: it is in the wrong unit; "
                    + "systemd skips it, too",
                "x.service:4: [Timer] OnCalendar=weekly is not carried: it is in the wrong unit; "
                    + "systemd skips it, too",
            ]
        )
        #expect(plan.jobs.map(\.definition.command) == [["/bin/a"]])
    }

    @Test(
        "An empty clock takes back all clocks before it, whatever their names",
        arguments: [
            ("OnCalendar=daily\nOnBootSec=\nOnUnitActiveSec=1h", ["OnUnitActiveSec=1h"]),
            ("OnUnitActiveSec=1h\nOnCalendar=\nOnCalendar=daily", ["OnCalendar=daily"]),
            ("OnCalendar=daily\nOnStartupSec=", []),
        ] as [(String, [String])]
    )
    func takenBack(timer: String, texts: [String]) {
        let plan = plan(timer, "ExecStart=/bin/a")
        #expect(plan.jobs.map(\.text) == texts)
        #expect(plan.refusals.isEmpty == !texts.isEmpty)
    }

    @Test("OnSuccess= is the job's where its owner may start units, else it is a warning")
    func success() {
        let service = "[Unit]\nOnSuccess=next.service\n[Service]\nExecStart=/bin/a\n"
        let carried = whole("[Timer]\nOnCalendar=daily", service)
        #expect(carried.jobs.first?.definition.onSuccess == ["systemctl", "start", "next.service"])
        #expect(carried.jobs.first?.definition.onFailure == nil && carried.warnings == [])
        #expect(
            carried.notes.contains {
                $0.hasPrefix(
                    "x.service:2: [Unit] OnSuccess=next.service is carried otherwise: when"
                )
            }
        )
        let told = whole("[Timer]\nOnCalendar=daily", service + "User=ann")
        #expect(told.jobs.first?.definition.onSuccess == nil && told.jobs.count == 1)
        #expect(told.warnings.first?.hasPrefix("x.service:2: [Unit] OnSuccess=next") == true)
    }

    @Test("OnFailure= is the job's where its owner may start units, else it is a warning")
    func alert() {
        let service =
            "[Unit]\nOnFailure=alert@%n.service page.service\n[Service]\nExecStart=/bin/a\n"
        let carried = whole("[Timer]\nOnCalendar=daily", service)
        #expect(
            carried.jobs.first?.definition.onFailure
                == ["systemctl", "start", "alert@x.service.service", "page.service"]
        )
        #expect(carried.warnings == [])
        #expect(carried.notes.contains { $0.contains("page.service is carried otherwise: when a") })
        let told = whole("[Timer]\nOnCalendar=daily", service + "User=ann")
        #expect(told.jobs.first?.definition.onFailure == nil && told.jobs.count == 1)
        #expect(told.warnings.first?.hasPrefix("x.service:2: [Unit] OnFailure=alert@%n") == true)
        let ofTimer = whole("[Unit]\nOnFailure=y.service\n[Timer]\nOnCalendar=daily", service)
        #expect(ofTimer.warnings.map { $0.prefix(9) } == ["x.timer:2"])
    }

    @Test(
        "A directive of a timer that means more than a job does is told of with file, line and value",
        arguments: [
            ("Persistent=maybe", "is not carried: it is neither yes nor no"),
            ("WakeSystem=true", "is not carried: timerd wakes no"),
            ("WakeSystem=perhaps", "is not carried: it is neither"),
            ("FixedRandomDelay=yes", "is not carried: a job's delay differs"),
            ("RemainAfterElapse=no", "is not carried: a job that has ended is kept"),
            ("RandomizedDelaySec=soon", "is not carried: it is no length of time"),
            ("AccuracySec=fine", "is not carried: it is no length of time"),
            ("OnActiveSec=5min", "is carried otherwise: it is counted from"),
            ("OnStartupSec=5min", "is carried otherwise: it is counted from"),
            ("OnUnitInactiveSec=1h", "is carried otherwise: counted from date to date"),
            ("OnUnitActiveSec=1h\nOnBootSec=5min", "is not carried: dates go on"),
            ("OnUnitActiveSec=1h\nOnActiveSec=5min", "is not carried: dates go on"),
            ("OnTimezoneChange=yes", "is not carried: timerd has nothing like it"),
        ]
    )
    func timerDirectives(lines: String, told: String) throws {
        let plan = plan("OnCalendar=daily\n" + lines, "ExecStart=/bin/a")
        #expect(plan.refusals == [])
        let last = try #require(lines.split(separator: "\n").last)
        let place = "x.timer:\(lines.contains("\n") ? 4 : 3)"
        let notes = plan.notes.filter { $0.hasPrefix("\(place): [Timer] \(last) \(told)") }
        #expect(notes.count == 1, "\(plan.notes)")
    }

    @Test(
        "A directive of a service that means more than a run does is told of with file, line and value",
        arguments: [
            ("TasksMax=50%", "is not carried: a run's --tasks-max is a number from 1"),
            ("MemoryMax=10%", "is not carried: a run's --memory-max is a number of bytes"),
            ("CPUWeight=idle", "is not carried: a run's --cpu-weight"),
            ("Nice=99", "is not carried: a run's --nice"),
            ("Nice=infinity", "is not carried: a run's"),
            ("UMask=rubbish", "is not carried: a run's --umask"),
            ("LimitCPU=10:20", "is carried otherwise: a process gets SIGXCPU at 10, and SIGKILL"),
            ("LimitCPU=60", "is carried otherwise: a process gets SIGXCPU at 60, and SIGKILL"),
            ("LimitCPU=infinity:20", "is not carried: a run has no hard limit"),
            ("LimitAS=1G", "is carried otherwise: 1G is the limit of all"),
            ("MemoryMax=2G\nLimitAS=1G", "is not carried: MemoryMax= is"),
            ("Group=staff", "is not carried: a run has its user's own groups"),
            ("Restart=always", "is carried otherwise: a run that failed, and no other, is tried"),
            ("Restart=on-success", "is not carried: a run that succeeded"),
            ("Restart=often", "is not carried: there is no such value"),
            ("RestartSec=3", "is not carried: no run is restarted"),
            (
                "SuccessExitStatus=3 TEMPFAIL 300",
                "is carried otherwise: only numbers from 0 to 255"
            ),
            ("SuccessExitStatus=SIGKILL", "is not carried: only numbers from 0 to 255"),
            ("LoadCredential=missing", "is not carried: systemd has no credential 'missing'"),
            ("Environment=A=b C", "is carried otherwise: without 'C'"),
            ("Environment=A=b 1X=c", "is carried otherwise: without '1X=c', which sets no"),
            ("WorkingDirectory=-/srv", "is carried otherwise: a run fails where it is missing"),
            (
                "ExecStartPre=@/bin/sh mysh -c b",
                "is carried otherwise: the program is told '/bin/sh'"
            ),
            ("ExecStartPre=/bin/b $NONE", "is carried otherwise: neither Environment= nor"),
            ("ExecStartPost=/bin/b", "is carried otherwise: it is run when ExecStart= has ended"),
            ("DynamicUser=maybe", "is not carried: it is neither yes nor no"),
            ("Type=notify", "is carried otherwise: nothing waits"),
            ("Type=idle", "is carried otherwise: a run does not wait"),
            ("Type=odd", "is not carried: there is no such type"),
            ("TimeoutStartSec=1h", "is not carried: a run has no start to limit"),
            ("TimeoutSec=1h", "is carried otherwise: it limits the end of a run alone"),
            ("TimeoutStopSec=infinity", "is not carried: SIGKILL follows"),
            ("RuntimeMaxSec=later", "is not carried: it is no length of time"),
            ("Type=oneshot\nRuntimeMaxSec=1h", "is not carried: systemd does not heed it"),
        ]
    )
    func serviceDirectives(lines: String, told: String) throws {
        let plan = plan("OnCalendar=daily", "ExecStart=/bin/a\n" + lines)
        #expect(plan.refusals == [])
        let last = try #require(lines.split(separator: "\n").last)
        let place = "x.service:\(lines.contains("\n") ? 4 : 3)"
        #expect(plan.notes.count == 1, "\(plan.notes)")
        #expect(plan.notes.first?.hasPrefix("\(place): [Service] \(last) \(told)") == true)
    }

    @Test(
        "What is carried whole, or changes no run, is not told of",
        arguments: [
            "Type=simple", "Nice=5", "UMask=022", "TasksMax=infinity", "LimitAS=infinity",
            "Restart=no", "RuntimeMaxSec=1h", "TimeoutStartSec=infinity", "TimeoutStopSec=9",
            "SuccessExitStatus=3 4", "Environment=A=b", "ExecStartPre=@/bin/b /bin/b", "Group=root",
            "[Unit]\nDescription=a\nDocumentation=man:a",
        ]
    )
    func untold(lines: String) {
        let timer = "OnCalendar=daily\nRemainAfterElapse=yes\n[Install]\nWantedBy=timers.target"
        #expect(plan(timer, "ExecStart=/bin/a\n" + lines).notes == [])
    }

    @Test("The limit of a run is that of its start for a oneshot service, else that of its running")
    func timeouts() {
        let lines = "RuntimeMaxSec=3h\nTimeoutStartSec=1h\nExecStart=/bin/a\n"
        func job(_ service: String) -> JobDefinition? {
            plan("OnCalendar=daily", service).jobs.first?.definition
        }
        #expect(job(lines)?.timeout == "3h")
        #expect(job(lines + "Type=oneshot")?.timeout == "1h")
        let both = job(lines + "Type=oneshot\nTimeoutSec=20")
        #expect(both?.timeout == "20s" && both?.killAfter == "20s", "the last line counts")
        // systemd's own, where a job would have 5 s.
        #expect(job(lines)?.killAfter == "90s")
        #expect(job(lines + "TimeoutStopSec=soon")?.killAfter == "90s")
        #expect(job(lines + "TimeoutStopSec=infinity").map { $0.killAfter == nil } == true)
    }

    @Test(
        "A restart for which systemd refuses the service is refused",
        arguments: ["always", "on-success"]
    )
    func refusedRestarts(value: String) {
        let plan = plan("OnCalendar=daily", "ExecStart=/bin/a\nType=oneshot\nRestart=\(value)")
        #expect(plan.jobs.isEmpty)
        #expect(plan.refusals.map(\.place) == ["x.service:4"])
        #expect(
            plan.refusals.first?.reason.hasPrefix("systemd refuses it with Type=oneshot") == true
        )
    }

    @Test("A niceness that only systemd can give is told of, and the daemon is not asked for it")
    func lowNiceness() {
        let service = "ExecStart=/bin/a\nNice=-5\nUser="
        #expect(plan("OnCalendar=daily", service + "root").jobs.first?.definition.nice == -5)
        let ann = plan("OnCalendar=daily", service + "ann")
        #expect(ann.refusals == [] && ann.jobs.map(\.definition.nice) == [nil])
        #expect(
            ann.notes == [
                "x.service:3: [Service] Nice=-5 is not carried: a run of ann cannot have less than 0"
            ]
        )
    }

    @Test("A refusal names the line of the setting that it is for")
    func refusedPlaces() {
        let plan = plan("OnCalendar=never", "ExecStart=/bin/a\nType=forking")
        #expect(plan.refusals.map(\.place) == ["x.timer:2", "x.service:3"])
        #expect(plan.refusals.map(\.text) == ["OnCalendar=never", "Type=forking"])
    }

    @Test("Of a value that cannot be carried those above it are told of, too")
    func earlierValues() {
        let lines =
            "Nice=5\nNice=soon\nTimeoutStopSec=9\nTimeoutStopSec=later\nUMask=077\nUMask=022"
        let plan = plan("OnCalendar=daily", "ExecStart=/bin/a\n" + lines)
        let told = [
            "Service] Nice=soon", "Service] Nice=5", "TimeoutStopSec=later", "TimeoutStopSec=9",
        ]
        #expect(plan.notes.count == 4, "\(plan.notes)")
        for text in told { #expect(plan.notes.contains { $0.contains("\(text) is not carried") }) }
        #expect(plan.notes.contains { $0.hasSuffix("x.service:4 says it anew") })
        #expect(plan.jobs.first?.definition.umask == "022")
    }

    @Test("What the daemon would refuse is refused by a dry run as well, with the unit")
    func unstorable() {
        let long = String(repeating: "a", count: 131_072)
        let plan = plan("OnCalendar=daily", "ExecStart=/bin/a \(long)")
        #expect(plan.jobs.isEmpty)
        #expect(plan.refusals.map(\.place) == ["x.service"])
        #expect(plan.refusals.first?.reason.hasPrefix("its 'command' ") == true)
        #expect(plan.refusals.first?.reason.hasSuffix("at most 131072 are accepted") == true)
    }
}
