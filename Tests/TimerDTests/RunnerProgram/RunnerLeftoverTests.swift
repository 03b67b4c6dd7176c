// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

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
}
