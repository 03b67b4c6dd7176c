// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// What the commands of real users are to the machine, when root's daemon runs them.
@Suite("Runs of others", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct OwnerRunTests {
    /// Adds a command of a user's, fires it, and returns its fire once it is over.
    private func run(
        _ daemon: DaemonProcess,
        as uid: UInt32,
        _ command: [String],
        options: [String] = []
    ) async throws -> Run {
        let words = ["add", "--in", "1h"] + options + ["--"] + command
        let added = try await daemon.timerctl(as: uid, words)
        #expect(added.status == 0, "\(added.errors)")
        let id = added.output.trimmingCharacters(in: .newlines)
        let fired = try await daemon.timerctl(as: uid, ["fire", id])
        #expect(fired.status == 0, "\(fired.errors)")
        return try await daemon.finishedRun(id)
    }

    private func output(_ daemon: DaemonProcess, _ run: Run) async throws -> [String] {
        let id = try #require(run.id)
        let lines = try await daemon.timerctl("logs", "--run", "\(id)").output
        return lines.split(separator: "\n").map(String.init)
    }

    @Test("A run has its owner's ids, groups, home, shell and names, and no more")
    func identity() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let script = """
                id -ru; id -u; id -rg; id -g; id -G; echo $HOME $SHELL $USER $LOGNAME; pwd; umask
                grep -E '^Cap(Prm|Eff|Inh|Amb)' /proc/self/status | cut -f 2 | sort -u
                cat /root/.profile /proc/1/environ >/dev/null 2>&1 || echo forbidden
                """
            let result = try await run(
                daemon,
                as: ann.uid,
                ["sh", "-c", script],
                options: ["--umask", "027"]
            )
            let groups = try UserDirectory.system.groups(ann.uid)
            #expect(groups.count == 2, "her own, and the club")
            #expect(
                try await output(daemon, result)
                    == [
                        "\(ann.uid)", "\(ann.uid)", "\(ann.gid)", "\(ann.gid)",
                        groups.map { "\($0)" }.joined(separator: " "),
                        "\(ann.home) /bin/sh \(ann.name) \(ann.name)", ann.home, "0027",
                        "0000000000000000", "forbidden",
                    ]
            )
        }
    }

    @Test("A run opens its own streams by their names, as a shell's command may")
    func streams() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let script = "cat /dev/stdin >/dev/stdout && echo told >/dev/stderr"
            let result = try await run(
                daemon,
                as: ann.uid,
                ["sh", "-c", script],
                options: ["--user-info", "1234"]
            )
            #expect(result.status == 0)
            #expect(try await output(daemon, result) == ["1234"])
        }
    }

    @Test("Another's folder and file are to a run what they are to its owner")
    func othersFiles() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            let script = "\(ann.home)/script"
            try "#!/bin/sh\nid -u\n".write(toFile: script, atomically: false, encoding: .utf8)
            chown(script, ann.uid, ann.gid)
            chmod(script, 0o700)
            chmod(ann.home, 0o700)

            let inside = try await run(daemon, as: ben.uid, ["true"], options: ["--cwd", ann.home])
            #expect(
                inside.error == "cannot enter working directory '\(ann.home)': permission denied"
            )
            chmod(ann.home, 0o755)
            let closed = try await run(daemon, as: ben.uid, [script])
            #expect(closed.error == "cannot run '\(script)': permission denied")
            #expect(closed.outcome == .notStarted)

            // Hers to give: then it runs, as himself.
            chmod(script, 0o755)
            let open = try await run(daemon, as: ben.uid, [script], options: ["--cwd", ann.home])
            #expect(try await output(daemon, open) == ["\(ben.uid)"])
        }
    }

    @Test("LD_PRELOAD is for its own process, which has no more rights by it")
    func preload() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            let library = "\(ben.home)/preload.so"
            let system = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64"]
                .map { "\($0)/libresolv.so.2" }
                .first { FileManager.default.fileExists(atPath: $0) }
            try FileManager.default.copyItem(atPath: try #require(system), toPath: library)
            let privileged = daemon.folder + "/cat"
            try FileManager.default.copyItem(atPath: "/bin/cat", toPath: privileged)
            chmod(privileged, 0o4755)
            let preload = ["--env", "LD_PRELOAD=\(library)"]

            let own = try await run(
                daemon,
                as: ben.uid,
                ["cat", "/proc/self/maps"],
                options: preload
            )
            #expect(try await output(daemon, own).contains { $0.hasSuffix(library) })
            let status = ["cat", "/proc/self/status"]
            let ids = try await output(daemon, run(daemon, as: ben.uid, status, options: preload))
            let uids = "Uid:" + String(repeating: "\t\(ben.uid)", count: 4)
            #expect(ids.contains(uids), "\(ids)")

            // With a program that runs as root for everybody, the loader does not listen.
            let raised = try await run(
                daemon,
                as: ben.uid,
                [privileged] + status.dropFirst(),
                options: preload
            )
            let raisedIDs = try await output(daemon, raised)
            #expect(raisedIDs.contains("Uid:\t\(ben.uid)\t0\t0\t0"), "\(raisedIDs)")
            let maps = [privileged, "/proc/self/maps"]
            let loaded = try await output(daemon, run(daemon, as: ben.uid, maps, options: preload))
            #expect(loaded.count > 3)
            #expect(!loaded.contains { $0.contains("preload") }, "\(loaded)")

            // Neither another user's run nor the daemon.
            let hers = try await run(daemon, as: ann.uid, ["cat", "/proc/self/maps"])
            #expect(try await !output(daemon, hers).contains { $0.contains("preload") })
            // Not by Foundation, which reads one page of a file of /proc.
            let daemons = try #require(ProcessStatus.text(at: "/proc/\(daemon.pid)/maps"))
            #expect(!daemons.contains("preload"))
        }
    }

    @Test("A user who was removed has no more runs, and the reason is written")
    func removedUser() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            let mark = daemon.folder + "/ann/ran"
            let added = try await daemon.timerctl(
                as: ann,
                "add",
                // She is gone by then, and nobody remembers her any more.
                "--every",
                "20s",
                "--",
                "touch",
                mark
            )
            #expect(added.output == "1\n", "\(added.errors)")
            try await ann.remove()
            let run = try await daemon.finishedRun("1")
            #expect(run.outcome == .notStarted)
            let reason =
                "job 1 belongs to '\(ann.name)' (uid \(ann.uid)), who is gone: "
                + "uid \(ann.uid) is nobody's now"
            #expect(run.error == reason)
            #expect(run.startedAt == nil)
            for words in [["runs", "1"], ["show", "1"]] {
                let told = try await daemon.timerctl(words).output
                #expect(told.contains("not started: \(reason)"), "\(told)")
            }
            #expect(!FileManager.default.fileExists(atPath: mark))
            #expect(try await daemon.timerctl("invalidate", "1").status == 0, "root's to end")
            #expect(try await self.run(daemon, as: ben.uid, ["true"]).status == 0)
        }
    }

    @Test("A uid that no user has, has jobs and no runs")
    func unknownUser() async throws {
        try await DaemonProcess.with { daemon in
            let run = try await run(daemon, as: 70_001, ["true"])
            #expect(run.error == "user 70001 does not exist (any more)")
        }
    }

    @Test("A privilege drop that fails is a failed run, never a run as root")
    func noPrivilege() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let mark = daemon.folder + "/ran"
            let script = ["sh", "-c", "touch \(mark)"]
            // The kernel lets nobody execute who has become one with too many processes.
            let other = try await daemon.timerctl(
                as: ann,
                "add",
                "--in",
                "1ms",
                "--name",
                "other",
                "--",
                "sleep",
                "1000"
            )
            #expect(other.output == "1\n", "\(other.errors)")
            // Its process has become the command, and needs no leave any more.
            _ = try await daemon.event(.runStarted)
            try await Tool.run(["prlimit", "--pid", "\(daemon.runner)", "--nproc=0:0"])
            let crowded = try await run(daemon, as: ann.uid, script)
            #expect(crowded.outcome == .notStarted)
            let reason = ": its user has as many processes as may be (ulimit -u)"
            #expect(crowded.error?.hasSuffix(reason) == true, "\(crowded)")
            #expect(try await daemon.timerctl("kill", "1").status == 0)
            #expect(try await daemon.finishedRun("1").outcome == .signalled)

            let refusals = [
                "setuid": "cannot become user \(ann.uid): operation not permitted",
                "setgid":
                    "cannot open a PAM session for '\(ann.name)': groups: Failure setting user credentials",
            ]
            for (capability, refusal) in refusals {
                await daemon.end(SIGTERM)
                try await daemon.start(through: ["setpriv", "--bounding-set=-\(capability)"])
                let run = try await run(daemon, as: ann.uid, script)
                #expect(run.outcome == .notStarted)
                #expect(run.error == refusal)
            }
            #expect(!FileManager.default.fileExists(atPath: mark))
            // Root's own need none.
            #expect(try await run(daemon, as: 0, ["true"]).status == 0)
        }
    }
}
