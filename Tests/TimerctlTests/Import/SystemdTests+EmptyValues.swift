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
}
