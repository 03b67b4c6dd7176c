// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

/// What an empty value of a unit's setting takes back.
extension SystemdTests {
    /// By `systemctl show` of systemd 252.
    @Test("An empty value that systemd skips takes nothing back, and one that it reads does")
    func skippedEmptyValues() throws {
        let plan = whole(
            """
            [Timer]
            OnCalendar=daily
            RandomizedDelaySec=5min
            RandomizedDelaySec=
            AccuracySec=2s
            AccuracySec=
            """,
            """
            [Unit]
            OnFailure=told.service
            OnFailure=
            [Service]
            Type=oneshot
            Type=
            TimeoutStartSec=5
            TimeoutStartSec=
            TimeoutStopSec=7
            TimeoutStopSec=
            UMask=0077
            UMask=
            LimitCPU=9
            LimitCPU=
            Restart=on-failure
            Restart=
            KillSignal=SIGINT
            KillSignal=
            Nice=5
            Nice=
            WorkingDirectory=/srv
            WorkingDirectory=
            MemoryMax=1G
            MemoryMax=
            ExecStart=/bin/a
            ExecStart=
            ExecStart=/bin/b
            """
        )
        #expect(plan.refusals == [])
        let job = try #require(plan.jobs.first?.definition)
        #expect(job.command == ["/bin/b"])
        #expect(job.jitter == "5min" && job.tolerance == "2s")
        #expect(job.timeout == "5s" && job.killAfter == "7s")
        #expect(job.umask == "0077" && job.cpuTime == "9")
        #expect(job.retries == 5)
        #expect(job.onFailure == ["systemctl", "start", "told.service"])
        #expect(job.nice == nil && job.memoryMax == nil && job.cwd == "/")
        #expect(plan.notes.contains { $0.contains("KillSignal=SIGINT is not carried") })
    }

    @Test("A word that systemd does not know takes nothing back, and is told of")
    func skippedWords() throws {
        let service = """
            Type=oneshot
            Type=odd
            Restart=on-failure
            Restart=often
            TimeoutStartSec=1h
            ExecStart=/bin/a
            ExecStart=/bin/b
            """
        let plan = plan("OnCalendar=daily", service)
        #expect(plan.refusals == [])
        let job = try #require(plan.jobs.first?.definition)
        #expect(job.command == ["/bin/sh", "-c", "/bin/a && /bin/b"])
        #expect(job.timeout == "1h" && job.retries == 5)
        for (line, text) in [(3, "Type=odd"), (5, "Restart=often")] {
            let told = "x.service:\(line): [Service] \(text) is not carried: there is no such"
            #expect(plan.notes.filter { $0.hasPrefix(told) }.count == 1, "\(plan.notes)")
        }
    }

    @Test(
        "What stands above a length that cannot be read, and counts no more, is told of",
        arguments: [
            (
                "RandomizedDelaySec=5min\nRandomizedDelaySec=x", "ExecStart=/bin/a",
                [
                    "x.timer:3: [Timer] RandomizedDelaySec=5min is not carried: x.timer:4 says it anew"
                ]
            ),
            (
                "AccuracySec=1h\nAccuracySec=infinity", "ExecStart=/bin/a",
                ["x.timer:3: [Timer] AccuracySec=1h is not carried: x.timer:4 says it anew"]
            ),
            (
                "",
                "Type=oneshot\nExecStart=/bin/a\nTimeoutStartSec=1h\nTimeoutStopSec=9\nTimeoutSec=x",
                [
                    "x.service:4: [Service] TimeoutStartSec=1h is not carried: x.service:6 says it anew",
                    "x.service:5: [Service] TimeoutStopSec=9 is not carried: x.service:6 says it anew",
                ]
            ),
            (
                "", "Type=oneshot\nExecStart=/bin/a\nTimeoutSec=9\nTimeoutStartSec=x",
                [
                    "x.service:4: [Service] TimeoutSec=9 is carried otherwise: x.service:5 says a half of it anew"
                ]
            ),
        ]
    )
    func hiddenLengths(timer: String, service: String, told: [String]) {
        let plan = plan("OnCalendar=daily\n" + timer, service)
        #expect(plan.refusals == [])
        #expect(plan.notes.count == told.count + 1, "\(plan.notes)")
        #expect(plan.notes.filter { !$0.contains("is no length of time") } == told)
    }
}
