// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import LinuxSystem
@testable import Runner

/// The time that a notice's program has, and that of what it leaves behind.
@Suite("What a program leaves behind", .timeLimit(.minutes(3))) struct RunnerLeftoverTests {
    @Test("What a mail program leaves behind to deliver the mail has time for that")
    func leftover() throws {
        let folder = try TemporaryFolder()
        let (gate, mail) = (folder.file("gate"), folder.file("mail"))
        mkfifo(gate, 0o600)
        let script = """
            p=$$
            (
                while [ -e /proc/$p ] && ! grep -q 'State:.Z' /proc/$p/status; do sleep 0.01; done
                read word <\(gate)
                echo "$word" >\(mail)
            ) &
            """
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var request = ScriptedRun.request(1, script)
        request.teardown = .afterLeftovers
        try peer.send(ScriptedRun.start(request))
        // Opened once what is left of it reads.
        let writer = open(gate, O_WRONLY)
        #expect(writer >= 0 && write(writer, "delivered\n", 10) == 10)
        close(writer)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 0 && end.survivors == [])
        #expect(try String(contentsOfFile: mail, encoding: .utf8) == "delivered\n")
        withExtendedLifetime(runner) {}
    }

    @Test(
        "A program whose time is over is ended at once: the time for what it leaves behind is not its own"
    )
    func timeout() throws {
        let (end, _) = try ScriptedRun.end("while :; do sleep 0.01; done") {
            $0.timeout = .milliseconds(50)
            $0.teardown = Teardown(
                steps: [.init(signal: SIGCONT, grace: .seconds(3600))] + Teardown.standard.steps
            )
        }
        #expect(end.outcome == .timedOut && end.code == SIGTERM)
    }

    @Test(
        "A process whose first thread has ended is ended as any other that is left",
        .enabled(if: Raised.compiler != nil)
    )
    func firstThreadGone() async throws {
        let folder = try TemporaryFolder()
        let program = folder.file("threads")
        let source = """
            #include <pthread.h>
            #include <unistd.h>
            static void *go_on(void *nothing) {
                // Not for ever, should a test be ended before it ends this.
                sleep(300);
                return nothing;
            }
            int main(void) {
                pthread_t thread;
                if (pthread_create(&thread, NULL, go_on, NULL) != 0) return 1;
                pthread_exit(NULL);
            }
            """
        let compiler = Raised.compiler ?? "cc"
        try await Tool.run([compiler, "-pthread", "-x", "c", "-o", program, "-"], input: source)
        let script = """
            '\(program)' >/dev/null 2>&1 &
            while ! grep -q ') Z ' /proc/$!/stat; do sleep 0.01; done
            echo $!
            """
        let runner = try RunnerProcess("--without-groups")
        let peer = try runner.connect()
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, script)))
        let (end, stdout, _) = try peer.end(of: 1)
        #expect(end.outcome == .exited && end.code == 0 && end.survivors == [])
        let pid = try #require(pid_t(String(decoding: stdout, as: UTF8.self).dropLast()))
        let status = ProcessStatus(of: pid)
        #expect(status?.hasEnded ?? true)
        if status?.hasEnded == false { kill(pid, SIGKILL) }
        withExtendedLifetime(runner) {}
    }

    @Test(
        "What a command leaves behind is ended also where /proc does not have the runner's processes",
        .enabled(if: geteuid() == 0)
    )
    func emptyProc() throws {
        let folder = try TemporaryFolder()
        let gate = folder.file("gate")
        mkfifo(gate, 0o600)
        let reader = open(gate, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let mount = #"mount -t tmpfs none /proc && exec "$0" "$@""#
        let namespace = ["/usr/bin/unshare", "--mount", "sh", "-c", mount]
        let runner = try RunnerProcess("--without-groups", through: namespace)
        let peer = try runner.connect()
        let script = "exec 3>'\(gate)'; sleep 300 >/dev/null 2>&1 & exit 3"
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, script)))
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 3 && end.survivors == [])
        // Nobody has it open any more.
        var left = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
        #expect(poll(&left, 1, 0) == 1 && left.revents & Int16(POLLHUP) != 0)
        withExtendedLifetime(runner) {}
    }
}
