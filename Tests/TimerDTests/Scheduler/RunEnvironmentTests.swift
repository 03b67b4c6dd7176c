// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Runner
@testable import TimerD

@Suite("RunEnvironment") struct RunEnvironmentTests {
    static let owner = Account(
        uid: 1234,
        gid: 1234,
        groups: [1234],
        name: "ada",
        home: "/home/ada",
        shell: "/bin/zsh"
    )
    static let run = RunEnvironment(
        job: "7",
        jobName: "backup",
        fire: "70",
        run: "700",
        attempt: 2,
        fireDate: "2026-12-01T09:00:00.000000Z",
        firedAt: "2026-12-01T09:00:00.000123Z",
        missed: 3,
        socket: "/run/timerd.sock"
    )

    @Test("A run gets its facts, its owner and a plain PATH, and nothing else")
    func complete() {
        let expected = [
            "HOME": "/home/ada",
            "LOGNAME": "ada",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "SHELL": "/bin/zsh",
            "TIMERD_ATTEMPT": "2",
            "TIMERD_FIRED_AT": "2026-12-01T09:00:00.000123Z",
            "TIMERD_FIRE_DATE": "2026-12-01T09:00:00.000000Z",
            "TIMERD_FIRE_ID": "70",
            "TIMERD_JOB_ID": "7",
            "TIMERD_JOB_NAME": "backup",
            "TIMERD_MISSED": "3",
            "TIMERD_RUN_ID": "700",
            "TIMERD_SOCKET": "/run/timerd.sock",
            "USER": "ada",
        ]
        #expect(Self.run.variables(owner: Self.owner, jobEnvironment: [:]) == expected)
    }

    @Test("What the job sets is added, and wins")
    func jobEnvironmentWins() {
        let variables = Self.run.variables(
            owner: Self.owner,
            jobEnvironment: ["PATH": "/opt/bin", "LANG": "C.UTF-8"]
        )
        #expect(variables["PATH"] == "/opt/bin")
        #expect(variables["LANG"] == "C.UTF-8")
        #expect(variables.count == 15)
    }
}
