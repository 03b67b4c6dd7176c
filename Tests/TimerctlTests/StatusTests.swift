// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("Status") struct StatusTests {
    @Test("The daemon is told in a few lines, trouble among them")
    func text() {
        var status = StatusReply(
            version: timerdVersion,
            pid: 42,
            startedAt: testNow - .seconds(7500),
            now: testNow,
            database: "/var/lib/timerd/timerd.db",
            socket: "/run/timerd/timerd.sock",
            scheduled: 3,
            paused: 1,
            armed: 2,
            running: 0,
            connections: 2,
            watchers: 1,
            seq: 123,
            nextFireDate: testNow + .seconds(5),
            trouble: nil
        )
        #expect(
            Status.text(of: status, zone: berlin) == """
                timerd \(timerdVersion), process 42, up 2 h 5 min
                jobs      3 scheduled, 1 paused, 2 armed; next fire in 5 s, at 09:00:05
                runs      0 in progress, 0 waiting
                clients   2 connected, 1 watching
                events    the newest has number 123
                database  /var/lib/timerd/timerd.db
                socket    /run/timerd/timerd.sock

                """
        )
        (status.maxRuns, status.maxRunsPerUser) = (64, 32)
        #expect(
            Status.text(of: status, zone: berlin).contains(
                "0 waiting; at most 64 at once (maxRuns), 32 of a user (maxRunsPerUser)\n"
            )
        )
        status.keptForRoot = 4
        #expect(
            Status.text(of: status, zone: berlin).contains(
                "; at most 64 at once, 4 of them root's alone (maxRuns), 32 of a user (maxRunsPerUser)\n"
            )
        )
        status.runner = .init(pid: 7, version: timerdVersion, runs: 3)
        #expect(
            Status.text(of: status, zone: berlin).contains("runner    process 7, minds 3\nclients ")
        )
        status.runner?.version = "0.0.1"
        #expect(Status.text(of: status, zone: berlin).contains("process 7 of 0.0.1, minds 3\n"))
        status.runner = .init(
            pid: nil,
            version: nil,
            runs: 3,
            trouble: "timerd-runner does not answer: why",
            troubleSince: testNow - .seconds(300)
        )
        let away =
            "runner    commands wait since 2026-12-01 08:55:00: timerd-runner does not answer: why\n"
        #expect(Status.text(of: status, zone: berlin).contains(away))
        status.node = .init(name: "b", leadsSince: testNow, epoch: 7, standby: ["c"])
        let here =
            "runner    no command begins on 'b' since 2026-12-01 08:55:00: timerd-runner does not answer: why\n"
        #expect(Status.text(of: status, zone: berlin).contains(here))
        status.node = nil
        status.runner?.trouble = "this node drains"
        status.runner?.drains = true
        let drains = "runner    this node drains, since 2026-12-01 08:55:00\n"
        #expect(Status.text(of: status, zone: berlin).contains(drains))
        status.trouble = "no space left on device"
        status.version = "9.9.9"
        let text = Status.text(of: status, zone: berlin)
        #expect(text.contains("trouble   no space left on device\n"))
        status.dropped = .init(records: 2, unstoredHolds: 1)
        let dropped =
            "trouble   2 records could not be stored since the daemon's start; 1 job is held, which could not be stored either\n"
        #expect(Status.text(of: status, zone: berlin).contains(dropped))
        #expect(text.hasSuffix("timerctl is \(timerdVersion), another version\n"))
    }

    @Test("What a reload has left to be done is a line of status, and a finding with what to do")
    func reload() {
        var status = StatusReply(
            version: timerdVersion,
            pid: 42,
            startedAt: testNow,
            now: testNow,
            database: "/d",
            socket: "/s",
            scheduled: 0,
            paused: 0,
            armed: 0,
            running: 0,
            connections: 1,
            watchers: 0,
            seq: 0,
            nextFireDate: nil,
            trouble: nil
        )
        #expect(Finding.reload(status) == nil)
        status.reload = .init(waiting: ["listen", "runner"])
        let waiting = "changed, and not in force before a restart: 'listen', 'runner'"
        #expect(Status.text(of: status, zone: berlin).contains("settings  \(waiting)\n"))
        #expect(
            Finding.reload(status)
                == Finding.warning(
                    "settings",
                    waiting,
                    "restart timerd, and they are in force: runs go on"
                )
        )
        status.reload?.refused = "/c:1: there is no setting 'x'"
        status.reload?.refusedAt = testNow - .seconds(30)
        let finding = Finding.reload(status)
        #expect(
            finding?.text
                == "the last reload was refused 30 s ago, as a start would be: /c:1: there is no setting 'x'; "
                + waiting
        )
        #expect(finding?.advice?.hasSuffix("systemctl reload timerd, or kill -HUP 42") == true)
    }

    @Test("What a reload has left to be done where nodes share their jobs is of the one that leads")
    func reloadOfNode() {
        var status = StatusReply(
            version: timerdVersion,
            pid: 42,
            startedAt: testNow,
            now: testNow,
            database: "/d",
            socket: "/s",
            scheduled: 0,
            paused: 0,
            armed: 0,
            running: 0,
            connections: 1,
            watchers: 0,
            seq: 0,
            nextFireDate: nil,
            trouble: nil
        )
        status.node = .init(name: "alpha", leadsSince: testNow, epoch: 1, standby: ["beta"])
        #expect(Finding.reload(status) == nil)
        status.reload = .init(waiting: ["listen"])
        let waiting = Finding.reload(status)
        #expect(waiting?.text.hasPrefix("on 'alpha', which leads: changed, and not") == true)
        #expect(waiting?.advice?.hasPrefix("restart timerd on that host") == true)
        status.reload?.refused = "/c:1: there is no setting 'x'"
        let refused = Finding.reload(status)
        #expect(refused?.text.hasPrefix("on 'alpha', which leads: the last reload was") == true)
        #expect(refused?.advice?.hasSuffix("on that host: systemctl reload timerd") == true)
        #expect(refused?.advice?.contains("kill") == false)
    }

    @Test("Of daemons that share their jobs the one that leads is told, and who stands by")
    func node() {
        var node = StatusReply.Node(
            name: "alpha",
            leadsSince: testNow - .seconds(300),
            epoch: 7,
            standby: ["beta", "gamma"]
        )
        let leads = "'alpha' leads since 2026-12-01 08:55:00, epoch 7; "
        #expect(node.sentence(testDates) == leads + "'beta', 'gamma' stand by")
        node.standby = ["beta"]
        #expect(node.sentence(testDates) == leads + "'beta' stands by")
        node.standby = []
        #expect(node.sentence(testDates) == leads + "no other stands by")
        var status = TopTests.status
        #expect(!Status.text(of: status, zone: berlin).contains("\nnode "))
        status.node = node
        #expect(Status.text(of: status, zone: berlin).contains("\nnode      'alpha' leads since "))
    }

    @Test(
        "Notices have a line where some wait, are held back or were given up",
        arguments: [
            (StatusReply.Notices(waiting: 0, held: 0, oldest: nil, givenUp: 0), nil),
            (
                .init(waiting: 2, held: 1, oldest: testNow - .seconds(720), givenUp: 3),
                """
                2 wait, the oldest since 2026-12-01 08:48:00, 12 min ago; 1 held back for a \
                summary; 3 given up since the daemon's start; 'timerctl notices' has them
                """
            ), (.init(waiting: 0, held: 2), "2 held back for a summary"),
        ] as [(StatusReply.Notices, String?)]
    )
    func notices(notices: StatusReply.Notices, words: String?) {
        #expect(notices.sentence(testDates) == words)
    }

    @Test("A reason of a newer daemon why a host takes no command leaves the rest readable")
    func newerAbsence() throws {
        let text = #"{"runs":0,"absentHosts":"1 waits","absences":["gone","asleep"]}"#
        let runner = try JSONValue(parsing: text).decoded(as: StatusReply.Runner.self)
        #expect(runner.absentHosts == "1 waits")
        #expect(runner.absences == [.gone])
    }
}
