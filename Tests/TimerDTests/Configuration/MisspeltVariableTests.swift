// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("Variables of the environment that are no setting's") struct MisspeltVariableTests {
    @Test(
        "One that is like a setting's is told, with that one",
        arguments: [
            ("TIMERD_MAX_RUN", "TIMERD_MAX_RUNS"), ("TIMERD_MAXRUNS", "TIMERD_MAX_RUNS"),
            ("TIMERD_LOGLEVEL", "TIMERD_LOG_LEVEL"), ("timerd_socket", "TIMERD_SOCKET"),
            ("TIMERD_CONFG", "TIMERD_CONFIG"),
        ]
    )
    func misspelt(name: String, meant: String) {
        #expect(
            Setting.misspeltVariables(in: [name]) == [
                "the variable '\(name)' is no setting's, and has no effect; perhaps '\(meant)'"
            ]
        )
    }

    @Test("No setting's own one, no other program's, and none that runs, handlers and tests have")
    func others() {
        let names =
            Setting.allCases.map(\.variable) + [
                "TIMERD_CONFIG", "PATH", "MAX_RUN", "TIMERD_\u{1b}SOCKET",
                "TIMERD_ATTEMPT", "TIMERD_FIRED_AT", "TIMERD_FIRE_DATE", "TIMERD_FIRE_ID",
                "TIMERD_JOB_ID", "TIMERD_JOB_NAME", "TIMERD_MISSED", "TIMERD_RUN_ID",
                "TIMERD_OWNER",
                "TIMERD_OWNER_UID", "TIMERD_QUEUE", "TIMERD_HOST", "TIMERD_NOTICE_ID",
                "TIMERD_OUTCOME", "TIMERD_REASON", "TIMERD_STATUS", "TIMERD_SUBJECT",
                "TIMERD_PAGER", "TIMERD_WEB_ORIGIN", "TIMERD_PROGRAMS", "TIMERD_TIMERS",
                "TIMERD_TEST_HOME", "TIMERD_SLOW", "TIMERD_GRACE", "TIMERD_SOURCES",
                "TIMERD_POSTGRESQL", "TIMERD_TORTURE", "TIMERD_TORTURE_SEED", "TIMERD_YEAR_ZONE",
                "TIMERD_SIMULATE_SEEDS", "TIMERD_CLUSTER_SEEDS", "TIMERD_RECORD_SESSION",
                "TIMERD_JOB", "TIMERD_RUN", "TIMERD_NAME", "TIMERD_SOAK_KILL",
            ]
        #expect(Setting.misspeltVariables(in: names) == [])
    }
}
