// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LinuxSystem

@Suite("StartBackoff") struct StartBackoffTests {
    @Test("The first failure of a start by hand ends at once, each that follows later, up to 60 s")
    func delays() {
        let delays = (0...8).map { StartBackoff.delay(restarts: $0) }
        #expect(delays == [0, 2, 4, 8, 16, 32, 60, 60, 60])
        #expect(StartBackoff.delay(restarts: 1_000_000) == 60)
    }

    @Test("A process's service is the last in the path of its control group")
    func units() {
        let cases: [(String, ServiceUnit?)] = [
            ("0::/system.slice/timerd.service\n", .init(name: "timerd.service", isUsers: false)),
            (
                "0::/system.slice/timerd.service/run-7\n",
                .init(name: "timerd.service", isUsers: false)
            ),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/timerd.service\n",
                .init(name: "timerd.service", isUsers: true)
            ),
            (
                "12:pids:/\n1:name=systemd:/system.slice/my-timerd.service\n",
                .init(name: "my-timerd.service", isUsers: false)
            ),
            ("0::/user.slice/user-0.slice/session-1.scope\n", nil), ("0::/\n", nil), ("", nil),
            ("0::/system.slice/it's.service\n", nil),
        ]
        for (text, unit) in cases { #expect(ServiceUnit(cgroups: text) == unit, "\(text)") }
    }

    @Test("Where nobody manages the daemon, nothing is waited for")
    func unmanaged() {
        let manager = ServiceManager(environment: [:], pid: 1)
        StartBackoff(manager).wait(because: "the disk is full", mayMend: true)
    }
}
