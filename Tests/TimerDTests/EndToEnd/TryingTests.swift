// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerControl

@testable import TimerD

@Suite("Trying, and firing by tag", .timeLimit(.minutes(2)))
struct TryingTests {
    @Test("--dry-run has all of it checked, says when it would fire, and keeps nothing")
    func dryRun() async throws {
        try await DaemonProcess.with { daemon in
            let words = ["--every", "1h", "--name", "tick", "--", "true"]
            let tried = try await daemon.timerctl(["add", "--dry-run"] + words)
            #expect(tried.status == 0 && tried.output == "")
            #expect(
                tried.errors.hasPrefix(
                    "tried, nothing was added: it would be 'true', first fire in "
                ),
                "\(tried.errors)"
            )
            #expect(try await daemon.timerctl("list", "--all", "--json").output == "")
            let json = try await daemon.timerctl(["add", "--dry-run", "--json"] + words)
            #expect(json.output.contains(#""name":"tick""#))
            let never = try await daemon.timerctl(
                "add",
                "--dry-run",
                "--cron",
                "0 0 30 2 *",
                "--",
                "true"
            )
            #expect(never.status == 64)
            #expect(!never.errors.contains("add[0]"), "\(never.errors)")
            _ = try await daemon.timerctl(["add"] + words)
            let taken = try await daemon.timerctl(["add", "--dry-run"] + words)
            #expect(taken.status == 1)
            #expect(taken.errors.contains("job 1 has the name 'tick'"), "\(taken.errors)")
            let replaced = try await daemon.timerctl(["add", "--dry-run", "--replace"] + words)
            #expect(replaced.errors.hasPrefix("tried, nothing was changed"), "\(replaced.errors)")
            let changed = try await daemon.timerctl("change", "tick", "--every", "2h", "--dry-run")
            #expect(changed.output == "job 1 (tick): would be changed\n")
            #expect(try await daemon.job(1)["schedule"]?["every"] == .string("1h"))
        }
    }

    @Test("--dry-run tries a job that ends with a process or a connection, and waits for neither")
    func tiedDryRun() async throws {
        try await DaemonProcess.with { daemon in
            let words = ["--every", "1h", "--", "true"]
            for tie in [["--while-connected"], ["--while-pid", "\(getpid())"]] {
                let tied = try await daemon.timerctl(["add", "--dry-run"] + tie + words)
                #expect(tied.status == 0, "\(tied.errors)")
                #expect(tied.errors.hasPrefix("tried, nothing was added: "), "\(tied.errors)")
            }
            // No process has the number, which is above the kernel's highest (pid_max).
            let gone = try await daemon.timerctl(
                ["add", "--dry-run", "--while-pid", "4194305"] + words
            )
            #expect(gone.status == 64, "\(gone.errors)")
            #expect(gone.errors.contains("there is no such process"), "\(gone.errors)")
            #expect(try await daemon.timerctl("list", "--all", "--json").output == "")
        }
    }

    @Test(
        "fire --tag fires one's own live jobs with the tag, and no other",
        .enabled(if: geteuid() == 0)
    )
    func tag() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            for (name, tag) in [("a", "t"), ("b", "t"), ("c", "u")] {
                _ = try await daemon.timerctl(
                    ["add", "--every", "1h", "--name", name, "--tag", tag, "--event"]
                )
            }
            try await daemon.timerctl(
                as: ann,
                "add",
                "--every",
                "1h",
                "--name",
                "hers",
                "--tag",
                "t",
                "--event"
            )
            let fired = try await daemon.timerctl("fire", "--tag", "t")
            #expect(fired.status == 0, "\(fired.errors)")
            #expect(fired.output.contains("job 1 (a): fired"))
            #expect(fired.output.contains("job 2 (b): fired"))
            #expect(fired.output.split(separator: "\n").count == 2)
            let typo = try await daemon.timerctl("fire", "--tag", "x")
            #expect(typo.status == 1 && typo.errors.contains("no live job has the tag 'x'"))
            let hers = try await daemon.timerctl("fire", "--owner", ann.name)
            #expect(hers.output.contains("job 4 (hers): fired"), "\(hers.errors)")
            let foreign = try await daemon.timerctl(as: ann, "fire", "--owner", "root")
            #expect(foreign.status != 0)
            #expect(try await daemon.timerctl("list").output.contains("OWNER"))
            #expect(!(try await daemon.timerctl(as: ann, "list").output.contains("OWNER")))
        }
    }
}
