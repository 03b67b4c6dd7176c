// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Failure") struct FailureTests {
    @Test(
        "The daemon's refusal ends with 1, a missing permission with 77, a daemon that stops with 69",
        arguments: ControlError.Reason.allCases
    )
    func refusal(reason: ControlError.Reason) {
        let failure = Failure(answering: ControlError(reason, "no job 2"))
        let others: [ControlError.Reason: timerctl.ExitStatus] = [
            .notPermitted: .notPermitted, .stopping: .unavailable,
        ]
        #expect(failure.status == others[reason] ?? .refused)
        #expect(failure.message == "no job 2")
        // Nothing else will be accepted by one that stops.
        #expect(failure.isRefusal == (reason != .stopping))
    }

    @Test(
        "Trouble with the connection has a status of its own, and spares no other request",
        arguments: [
            (ClientError.Reason.noDaemon, timerctl.ExitStatus.unavailable),
            (.disconnected, .unavailable), (.closed, .unavailable), (.badReply, .protocolBroken),
        ]
    )
    func connection(reason: ClientError.Reason, status: timerctl.ExitStatus) {
        let failure = Failure(answering: ClientError(reason, "gone"))
        #expect(failure.status == status)
        #expect(failure.message.hasPrefix("gone"))
        #expect(!failure.isRefusal)
    }

    @Test("A socket that the user may not open is no permission")
    func notPermitted() {
        #expect(Failure(ClientError(.notPermitted, "no")).status == .notPermitted)
    }

    @Test("Without a daemon, the message says what to do")
    func noDaemon() {
        #expect(
            Failure(ClientError(.noDaemon, "no daemon at '/s'")).message
                == "no daemon at '/s'; start timerd, or say where it is with --socket"
        )
    }

    @Test(
        "The wrong usage of any command is one line that names its help",
        arguments: [
            (["bogus"], "unexpected argument 'bogus'; see 'timerctl --help'"),
            (
                ["list", "--al"],
                "unknown option '--al'. Did you mean '--all'? See 'timerctl list --help'"
            ),
            (
                ["add", "--in", "1h", "--name=a\nb", "--", "true"],
                "--name is \"a\\nb\", expected text without control characters; see 'timerctl add --help'"
            ),
            (["list", "a\nb"], "unexpected argument 'a^Jb'; see 'timerctl list --help'"),
            (["add", "--in"], "missing value for '--in <duration>'; see 'timerctl add --help'"),
            (
                ["show", "0"],
                "'0' is neither an id, a number from 1, nor a name; a name of digits goes with "
                    + "--name; see 'timerctl show --help'"
            ),
        ]
    )
    func usage(arguments: [String], line: String) {
        do {
            _ = try Timerctl.parseAsRoot(arguments)
            Issue.record("was accepted")
        } catch {
            let full = Timerctl.fullMessage(for: error)
            #expect(UsageSentence.text(Timerctl.message(for: error), fullMessage: full) == line)
        }
    }
}
