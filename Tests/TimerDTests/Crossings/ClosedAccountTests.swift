// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// Accounts that the system's administrators have closed, by what PAM says of them.
@Suite("Closed accounts", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct ClosedAccountTests {
    /// Runs a command until it comes to what is looked for: PAM's answer is kept for a few seconds.
    private func finish(
        _ daemon: DaemonProcess,
        as user: TestUser,
        until outcome: Run.Outcome
    ) async throws -> Run {
        while true {
            try Task.checkCancellation()
            let run = try await daemon.finish(["true"], as: user.uid)
            if run.outcome == outcome { return run }
            #expect([.exited, .notStarted].contains(run.outcome), "\(run)")
        }
    }

    @Test("An account that has expired has no runs, says why, and has them again once it is open")
    func expired() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            // The one by chage(1), the other by usermod(8), which locks the password too.
            try await Tool.run(["chage", "-E", "0", ann.name])
            try await Tool.run(["usermod", "-L", "-e", "1", ben.name])
            for user in [ann, ben] {
                let mark = "\(daemon.folder)/ran"
                let run = try await daemon.finish(["touch", mark], as: user.uid)
                #expect(run.outcome == .notStarted)
                let error = try #require(run.error)
                // Which words PAM has depends on the machine's own configuration.
                #expect(
                    error.hasPrefix("account '\(user.name)' may not run commands: "),
                    "\(error)"
                )
                #expect(error.hasSuffix(" (PAM service 'timerd')"), "\(error)")
                #expect(!FileManager.default.fileExists(atPath: mark))
                let told = try await daemon.timerctl(as: user, "runs").output
                #expect(told.contains("not started: account '\(user.name)'"), "\(told)")
            }
            #expect(try await daemon.finish(["true"], as: 0).status == 0, "root's is open")
            try await Tool.run(["chage", "-E", "-1", ann.name])
            let again = try await finish(daemon, as: ann, until: .exited)
            #expect(again.status == 0)
        }
    }

    @Test("A locked password closes no account, as with cron")
    func lockedPassword() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            try await Tool.run(["passwd", "-l", ann.name])
            #expect(try await daemon.finish(["true"], as: ann.uid).status == 0)
        }
    }

    @Test("An account that PAM does not know is refused, and PAM's own trouble too")
    func unknown() throws {
        let account = Account(
            uid: 70_001,
            gid: 70_001,
            groups: [],
            name: "tmd-nobody-has-this",
            home: "/",
            shell: "/bin/sh"
        )
        #expect(throws: StartRefusal.self) { try AccountManagement.check(account) }
        try AccountManagement.check(Account.find(uid: 0))
    }
}
