// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

/// `timerctl import` against a real daemon.
@Suite("Import", .timeLimit(.minutes(2)))
struct ImportTests {
    private func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    @Test("A crontab is shown, taken over once, and commands read what follows a percent sign")
    func crontab() async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/crontab"
            try write("30 2 * * * cat; echo $0%one%two\n@daily true\n", to: file)
            let shown = try await daemon.timerctl("import", "crontab", "--dry-run", file)
            #expect(shown.status == 0)
            #expect(shown.output.contains("old: cron's rule"))
            #expect(shown.errors.contains("2 to add, 0 there already, 0 refused"))
            #expect(shown.errors.contains("the dates agree for 2 of 2"))
            #expect(!shown.output.contains("differs"))
            #expect(try await daemon.timerctl("list", "--json").output == "")

            let added = try await daemon.timerctl("import", "crontab", file)
            #expect(added.output == "1\n2\n")
            #expect(added.errors.contains("cron goes on running these lines"))
            let again = try await daemon.timerctl("import", "crontab", file)
            #expect(again.output == "")
            #expect(again.errors.contains("line 1: there already as job 1 (cat)"))
            // So it is by another spelling of its path.
            let link = daemon.folder + "/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            for path in [link, daemon.folder + "/./crontab"] {
                #expect(try await daemon.timerctl("import", "crontab", path).output == "")
            }
            try write("30 2 * * * cat; echo $0%one%two\n", to: file)
            let shorter = try await daemon.timerctl("import", "crontab", file)
            #expect(shorter.errors.contains("job 2 (true) came from there, and does no more"))

            try await daemon.timerctl("fire", "1")
            _ = try await daemon.finishedRun("1")
            #expect(try await daemon.timerctl("logs", "1").output == "one\ntwo\n/bin/sh\n")
        }
    }

    @Test("Of a crontab with a line that is refused nothing is added, unless that is asked for")
    func refused() async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/crontab"
            try write("0 0 * * * true\n61 * * * * false\n0 1 * * * true\n", to: file)
            let refused = try await daemon.timerctl("import", "crontab", file)
            #expect(refused.status == 65)
            #expect(refused.errors.contains("line 2, '61 * * * * false': "))
            #expect(try await daemon.timerctl("list", "--json").output == "")
            let added = try await daemon.timerctl("import", "crontab", "--skip-refused", file)
            #expect(added.output == "1\n2\n")
            #expect(try await daemon.job(1)["name"] == .string("true"))
            #expect(try await daemon.job(2)["name"] == .string("true-2"))
        }
    }

    @Test("More lines than one request holds are added all the same, each under a name of its own")
    func manyBytes() async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/crontab"
            // Each of its jobs has the variable.
            let variable = "A=" + String(repeating: "x", count: 100_000)
            let lines = String(repeating: "0 0 * * * true\n", count: 15)
            try write("\(variable)\n\(lines)", to: file)
            try await daemon.timerctl("add", "--in", "1h", "--name", "true-2", "--", "true")
            let added = try await daemon.timerctl("import", "crontab", file)
            #expect(added.output == (2...16).map { "\($0)\n" }.joined(), "\(added.errors)")
            #expect(try await daemon.job(2)["name"] == .string("true"))
            #expect(try await daemon.job(3)["name"] == .string("true-3"))
            #expect(try await daemon.job(16)["name"] == .string("true-16"))
        }
    }

    @Test("The user column says whose the jobs are", .enabled(if: geteuid() == 0))
    func systemCrontab() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            let file = daemon.folder + "/crontab"
            try write(
                "0 0 * * * \(ann.name) id -un\n0 0 * * * root id -un\n0 0 * * * \(ben.name) id -un\n",
                to: file
            )
            let added = try await daemon.timerctl("import", "crontab", "--system", file)
            #expect(added.output == "1\n2\n3\n", "\(added.errors)")
            for (id, name) in [("1", ann.name), ("2", "root"), ("3", ben.name)] {
                try await daemon.timerctl("fire", id)
                let run = try await daemon.finishedRun(id)
                #expect(run.outcome == .exited)
                #expect(try await daemon.timerctl("logs", id).output == name + "\n")
            }
            let again = try await daemon.timerctl("import", "crontab", "--system", file)
            #expect(again.output == "")

            let refused = try await daemon.timerctl(
                as: ann,
                "import",
                "crontab",
                "--system",
                file
            )
            #expect(refused.status == 65)
            let reasons = refused.errors.split(separator: "\n").filter { !$0.contains("warning:") }
            #expect(reasons.contains { $0.contains("line 2") }, "\(refused.errors)")
            #expect(!reasons.contains { $0.contains("line 1") }, "\(refused.errors)")
        }
    }

    @Test(
        "Where the daemon refuses one of the users, no job of the others stays",
        .enabled(if: geteuid() == 0)
    )
    func userRefused() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            await daemon.end(SIGTERM)
            let settings = daemon.folder + "/timerd.json"
            try write(#"{"deny": ["\#(ben.name)"]}"#, to: settings)
            try await daemon.start(["--config", settings])
            let file = daemon.folder + "/crontab"
            try write(
                "0 0 * * * \(ann.name) true\n0 0 * * * root true\n0 0 * * * \(ben.name) true\n",
                to: file
            )
            let refused = try await daemon.timerctl("import", "crontab", "--system", file)
            #expect(refused.status != 0)
            #expect(refused.output == "")
            #expect(refused.errors.contains("as '\(ben.name)': "), "\(refused.errors)")
            #expect(try await daemon.timerctl("list", "--json").output == "")
            let all = try await daemon.timerctl("list", "--all", "--json").output
            #expect(all.split(separator: "\n").count == 2, "two were added, and taken back")
        }
    }

    /// Fifteen jobs of 100 kB, the tenth of which fills the first request.
    private func writeLongList(to path: String) throws {
        let variable = "A=" + String(repeating: "x", count: 100_000)
        try write("\(variable)\n\(String(repeating: "0 0 * * * true\n", count: 15))", to: path)
    }

    @Test(
        "Where a list that comes in parts is refused, none of its jobs is added",
        .enabled(if: geteuid() == 0)
    )
    func longListRefused() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            await daemon.end(SIGTERM)
            let settings = daemon.folder + "/timerd.json"
            try write(#"{"maxJobsPerUser": 12}"#, to: settings)
            try await daemon.start(["--config", settings])
            let file = daemon.folder + "/crontab"
            try writeLongList(to: file)
            let refused = try await daemon.timerctl(as: ann, "import", "crontab", file)
            #expect(refused.status == 1)
            #expect(refused.output == "")
            #expect(refused.errors.contains("as '\(ann.name)': "), "\(refused.errors)")
            #expect(!refused.errors.contains("stay"), "\(refused.errors)")
            #expect(try await daemon.timerctl("list", "--all", "--json").output == "")
        }
    }

    @Test(
        "Where the daemon dies after the first part, no job is there; the same command goes on from there"
    )
    func daemonDies() async throws {
        try await DaemonProcess.with { daemon in
            let (file, proxy) = (daemon.folder + "/crontab", daemon.folder + "/proxy")
            try writeLongList(to: file)
            // Passes lines on, and ends the daemon and itself instead of passing on the second part.
            try write(
                """
                use IO::Socket::UNIX; my ($socket, $daemon, $pid, @command) = @ARGV;
                my $listener = IO::Socket::UNIX->new(Local => $socket, Listen => 9) or die;
                if (fork) { close $listener; exec @command; }
                alarm 60;
                while (my $client = $listener->accept) {
                    next if fork;
                    my $server = IO::Socket::UNIX->new(Peer => $daemon) or die;
                    while (my $line = <$client>) {
                        if ($line =~ /"upload\\.put"/) {
                            open my $log, ">>", "$socket.log"; print $log "put\\n"; close $log;
                            if ($sent++) { kill 9, $pid, getppid; unlink $socket; exit; }
                        }
                        print $server $line; $server->flush; print $client scalar <$server>; $client->flush;
                    }
                    exit;
                }
                """,
                to: proxy
            )
            let shell = Shell(variables: ["TIMERD_SOCKET": proxy + ".sock"])
            let broken = try await shell(
                "perl \(proxy) \(proxy).sock \(daemon.socket) \(daemon.pid) timerctl import crontab \(file)"
            )
            #expect(!broken.isDone && broken.output == "")
            // No signal: it is only waited for.
            await daemon.end(0)
            try await daemon.start()
            #expect(try await daemon.timerctl("list", "--all", "--json").output == "")
            let log = proxy + ".sock.log"
            try FileManager.default.removeItem(atPath: log)
            let again = try await shell(
                "perl \(proxy) \(proxy).sock \(daemon.socket) \(daemon.pid) timerctl import crontab \(file)"
            )
            #expect(again.isDone, "\(again.errors)")
            #expect(again.output == (1...15).map { "\($0)\n" }.joined())
            #expect(try String(contentsOfFile: log, encoding: .utf8) == "put\n", "the second alone")
        }
    }

    @Test("A timer unit with a drop-in becomes a job that runs its service's command")
    func systemd() async throws {
        try await DaemonProcess.with { daemon in
            let folder = daemon.folder
            try write("[Timer]\nOnCalendar=daily\n", to: "\(folder)/x.timer")
            try FileManager.default.createDirectory(
                atPath: "\(folder)/x.timer.d",
                withIntermediateDirectories: true
            )
            try write("[Timer]\nPersistent=yes\n", to: "\(folder)/x.timer.d/more.conf")
            try write(
                "[Service]\nEnvironment=A=hi\nExecStart=/bin/echo ${A} %p\n",
                to: "\(folder)/x.service"
            )
            let arguments = ["import", "systemd", "--user", "\(folder)/x.timer"]
            let shown = try await daemon.timerctl(arguments + ["--dry-run"])
            #expect(shown.output.contains("x.timer  OnCalendar=daily"), "\(shown.errors)")
            #expect(try await daemon.timerctl(arguments).output == "1\n")
            #expect(try await daemon.job(1)["misfire"] == .string("once"))
            try await daemon.timerctl("fire", "1")
            _ = try await daemon.finishedRun("1")
            #expect(try await daemon.timerctl("logs", "1").output == "hi x\n")
        }
    }

    @Test(
        "The commands of a service go on after a status that is its success, and after no other",
        arguments: [
            ("ExecStart=/bin/sh -c 'echo 1; exit 3'\nExecStart=/bin/echo 2", false, "1\n2\n"),
            ("ExecStart=/bin/sh -c 'echo 1; exit 4'\nExecStart=/bin/echo 2", true, "1\n"),
            ("ExecStart=/bin/echo 1\nExecStart=/bin/sh -c 'exit 3'", false, "1\n"),
            ("ExecStartPre=/bin/sh -c 'echo 1; exit 3'\nExecStart=/bin/echo 2", true, "1\n"),
            ("ExecStart=/bin/sh -c 'echo 1; exit 3'", false, "1\n"),
        ]
    )
    func successStatus(commands: String, fails: Bool, output: String) async throws {
        try await DaemonProcess.with { daemon in
            let folder = daemon.folder
            try write("[Timer]\nOnCalendar=daily\n", to: "\(folder)/x.timer")
            try write(
                "[Service]\nType=oneshot\nSuccessExitStatus=3\n\(commands)\n",
                to: "\(folder)/x.service"
            )
            let added = try await daemon.timerctl(
                "import",
                "systemd",
                "--user",
                "\(folder)/x.timer"
            )
            #expect(added.output == "1\n", "\(added.errors)")
            _ = try await daemon.timerctl("fire", "--wait", "1")
            let run = try await daemon.finishedRun("1")
            #expect((run.failed == true) == fails, "\(run)")
            #expect(try await daemon.timerctl("logs", "1").output == output)
        }
    }

    @Test("What waits for a time after the machine's start does not wait when that is over")
    func afterStart() async throws {
        // A run that slept as long once more would outlast this test.
        let up = try #require(
            try String(contentsOfFile: "/proc/uptime", encoding: .utf8).split(separator: ".").first
        )
        try await DaemonProcess.with { daemon in
            let folder = daemon.folder
            try write("[Timer]\nOnBootSec=\(up)\n", to: "\(folder)/x.timer")
            try write(
                "[Service]\nEnvironment=up=hi\nExecStart=/usr/bin/printenv up\n",
                to: "\(folder)/x.service"
            )
            let added = try await daemon.timerctl(
                "import",
                "systemd",
                "--user",
                "\(folder)/x.timer"
            )
            #expect(added.output == "1\n", "\(added.errors)")
            #expect(try await daemon.timerctl("fire", "--wait", "1").status == 0)
            #expect(try await daemon.timerctl("logs", "1").output == "hi\n")
        }
    }

    @Test(
        "Of several timer units none is added if one cannot be carried; else each is, with its own tag"
    )
    func severalUnits() async throws {
        try await DaemonProcess.with { daemon in
            let folder = daemon.folder
            for name in ["a", "b"] {
                try write("[Timer]\nOnCalendar=daily\n", to: "\(folder)/\(name).timer")
                try write("[Service]\nExecStart=/bin/true\n", to: "\(folder)/\(name).service")
            }
            try write("[Timer]\nOnCalendar=never\n", to: "\(folder)/c.timer")
            try write("[Service]\nExecStart=/bin/true\n", to: "\(folder)/c.service")
            let units = ["a", "b", "c"].map { "\(folder)/\($0).timer" }
            let refused = try await daemon.timerctl(["import", "systemd", "--user"] + units)
            #expect(refused.status == 65 && refused.errors.contains("c.timer"), "\(refused.errors)")
            #expect(try await daemon.timerctl("list", "--json").output == "")
            let added = try await daemon.timerctl(
                ["import", "systemd", "--user"] + units.prefix(2)
            )
            #expect(added.output == "1\n2\n", "\(added.errors)")
            #expect(added.errors.contains("disable --now b.timer"))
            #expect(try await daemon.job(2)["tags"] == .array([.string("systemd:b.timer")]))
        }
    }
}
