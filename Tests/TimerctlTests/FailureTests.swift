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

    @Test("A name that was taken is another's next time; a conflict of jobs passes only with them")
    func conflicts() {
        for reason in ControlError.Reason.allCases {
            let expected: Failure.Conflict? =
                switch reason {
                case .conflict: .jobs
                case .nameTaken: .taken
                default: nil
                }
            let failure = Failure(answering: ControlError(reason, "no"))
            #expect(failure.conflict == expected, "\(reason)")
            #expect(failure.saying("line 2: no").conflict == expected)
        }
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

    @Test("Where the answer to a change is lost, it may have been made; ahead of it nothing was")
    func lostAnswers() {
        let lost = ClientError(.disconnected, "gone")
        let applied = Failure(answering: lost, to: .applyJobs)
        #expect(applied.message == "gone; 'job.apply' may have been carried out nevertheless")
        // Parts of a change are kept or go, and change nothing.
        for request in [Request.Method.listJobs, .listUploads, .putPart, .dropUpload] {
            let ahead = Failure(answering: lost, to: request).aheadOfChange
            #expect(ahead == Failure(.unavailable, "gone; nothing was changed"))
            #expect(ahead.aheadOfChange == ahead)
        }
        let refused = Failure(answering: ControlError(.conflict, "no"), to: .putPart)
        #expect(refused.aheadOfChange.message == "no")
    }

    @Test("A socket that the user may not open is no permission")
    func notPermitted() {
        #expect(Failure(ClientError(.notPermitted, "no")).status == .notPermitted)
    }

    @Test(
        "A refusal of what an option has stated names the option, and is wrong usage",
        arguments: [
            (
                ["add", "--cpu-quota", "0%", "--", "x"],
                "parameter 'cpuQuota' is '0%', expected 1%",
                "--cpu-quota is '0%', expected 1%"
            ),
            (
                ["add", "--dry-run", "--cwd="], "parameter 'add[0].cwd' is '', expected a path",
                "--cwd is '', expected a path"
            ),
            (
                ["change", "2", "--tag", ""], "parameter 'change[0].tags[1]' is empty",
                "--tag is empty"
            ),
            (
                ["add", "--env", "A=b"], "parameter 'env.A' is with a NUL",
                "--env 'A' is with a NUL"
            ),
            (
                ["queue", "reserve", "q", "--wait", "2h"], "parameter 'wait' is '2h'",
                "--wait is '2h'"
            ),
            (["add", "--tz", "x"], "parameter 'schedule.tz' is 'x'", "--tz is 'x'"),
            (["at", "noon", "--shell", "x"], "parameter 'command' is", "--shell is"),
        ]
    )
    func stated(arguments: [String], message: String, named: String) {
        let failure = StatedRefusal.named(
            Failure(ControlError(.invalidParams, message)),
            arguments: ["timerctl"] + arguments
        )
        #expect(failure == Failure(.usage, named))
    }

    @Test("A schedule that is refused is wrong usage where the command line states one")
    func statedSchedules() throws {
        let message = "the date '2020-01-01T00:00:00.000000Z' has passed, 6y ago"
        let refused = Failure(ControlError(.badSchedule, message))
        func status(
            _ words: [String],
            _ command: (any ParsableCommand)? = nil
        ) -> timerctl.ExitStatus {
            StatedRefusal.named(refused, arguments: ["timerctl"] + words, of: command).status
        }
        for option in ["--at", "--cron=x", "--calendar", "--from", "--until"] {
            #expect(status(["add", option, "x", "--", "y"]) == .usage, "\(option)")
        }
        #expect(status(["at", "2020-01-01"], try At.parse(["2020-01-01"])) == .usage)
        let moved = try timerctl.SetFireDate.parse(["2", "2020-01-01"])
        #expect(status(["set-fire-date", "2", "2020-01-01"], moved) == .usage)
        // The date is that of the job, or of a file.
        #expect(status(["change", "2", "--nice", "5"]) == .refused)
        #expect(status(["apply", "-f", "x.yaml", "--label", "x"]) == .refused)
        let other = Failure(ControlError(.conflict, message))
        let named = StatedRefusal.named(other, arguments: ["timerctl", "add", "--at", "x"])
        #expect(named == other)
        #expect(Failure(ScheduleError(.badCron, "cron 'x' is unknown")).status == .usage)
    }

    @Test(
        "What is refused as the daemon stands now is no wrong usage",
        arguments: [ControlError.Reason.limitReached, .storageFailed, .conflict]
    )
    func statedInVain(reason: ControlError.Reason) {
        let failure = StatedRefusal.named(
            Failure(ControlError(reason, "parameter 'whilePid' is 123: no file is left")),
            arguments: ["timerctl", "add", "--while-pid", "123", "--", "x"]
        )
        #expect(failure.status == .refused)
        #expect(failure.message == "--while-pid is 123: no file is left")
    }

    @Test("The options of the job's own command state nothing, without '--' before it either")
    func ownOptions() throws {
        let arguments = ["add", "--in", "1h", "rsync", "--cwd", "/x"]
        let command = try Timerctl.parseAsRoot(arguments)
        let failure = Failure(ControlError(.invalidParams, "parameter 'cwd' is '/home'"))
        let named = StatedRefusal.named(
            failure,
            arguments: ["timerctl"] + arguments,
            of: command
        )
        #expect(named == failure)
    }

    @Test("What the user may not state is named by its option, and stays a missing permission")
    func statedWithoutPermission() {
        let failure = StatedRefusal.named(
            Failure(.notPermitted, "parameter 'nice' is '-5', accepted is 0 to 19"),
            arguments: ["timerctl", "add", "--nice=-5", "--", "x"]
        )
        #expect(failure == Failure(.notPermitted, "--nice is '-5', accepted is 0 to 19"))
    }

    @Test(
        "A refusal of what no option has stated is as the daemon said it",
        arguments: [
            (["apply", "-f", "a.yaml"], "parameter 'cwd' is ''"),
            (["add", "--", "x", "--nice", "5"], "parameter 'nice' is '5'"),
            (["apply", "--nice", "5"], "a.yaml:1:1: job 'a': parameter 'nice' is 5"),
            (["show", "2"], "there is no job 2"),
        ]
    )
    func unstated(arguments: [String], message: String) {
        let failure = Failure(.refused, message)
        #expect(
            StatedRefusal.named(failure, arguments: ["timerctl"] + arguments) == failure
        )
    }

    @Test("Without a daemon, the message says what to do")
    func noDaemon() {
        #expect(
            Failure(ClientError(.noDaemon, "no daemon at '/s'")).message
                == "no daemon at '/s'; start timerd, or say where it is with --socket"
        )
    }

    @Test("What a command finds wrong only once it is carried out names its help, too")
    func words() {
        #expect(Timerctl.words(for: Runs.self) == "timerctl runs")
        #expect(Timerctl.words(for: QueueWork.self) == "timerctl queue work")
        #expect(Timerctl.words(for: Timerctl.self) == "timerctl")
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
                ["add", "--in", "1h", "--name", "-dash"],
                "missing value for '--name <name>': '-dash' is read as an option, unless it is --name=-dash; "
                    + "see 'timerctl add --help'"
            ),
            (
                ["add", "--in", "1h", "--shell", "- a"],
                "missing value for '--shell <line>': '- a' is read as an option, unless it is --shell='- a'; "
                    + "see 'timerctl add --help'"
            ),
            (
                ["add", "--in", "1h", "--shell", "---"],
                "invalid option: ---: '---' is read as an option, unless it is --shell=---; "
                    + "see 'timerctl --help'"
            ),
            (
                ["kill", "-1"],
                "missing expected argument '<run> ...': '-1' is read as an option, unless it stands "
                    + "behind '--'; see 'timerctl kill --help'"
            ),
            (
                ["show", "-1"],
                "say which job: its id or its name: '-1' is read as an option, unless it stands "
                    + "behind '--'; see 'timerctl show --help'"
            ),
            (
                ["runs", "-1"],
                "unknown option '-1': '-1' is read as an option, unless it stands behind '--'; "
                    + "see 'timerctl runs --help'"
            ),
            (
                ["complete", "bogus"],
                "the value 'bogus' is invalid for '<kind>', accepted are jobs, tags, zones, queues, nodes, hosts; "
                    + "see 'timerctl complete --help'"
            ),
            (
                ["--generate-completion-script", "tcsh"],
                "can't generate completion scripts for 'tcsh', accepted are zsh, bash, fish; see 'timerctl --help'"
            ),
            (
                ["add", "--in", "x", "--", "true"],
                "--in: 'x' is not a duration, such as '5s', '1h 30min' or '250ms'; see 'timerctl add --help'"
            ),
            (
                ["add", "--every", "x", "--", "true"],
                "--every: 'x' is not a duration, such as '5s', '1h 30min' or '250ms'; see 'timerctl add --help'"
            ),
            (
                ["add", "--at", "yesterday", "--", "true"],
                "--at: 'yesterday' has passed; accepted is a date that is to come, such as 'tomorrow 09:00'; "
                    + "see 'timerctl add --help'"
            ),
            (
                ["queue", "limit", "mails", "--reserved", "-"],
                "--reserved is '-', accepted is a whole number from 0 to 1000000; "
                    + "see 'timerctl queue limit --help'"
            ),
            (
                ["queue", "limit", "mails", "--reserved", "-1"],
                "--reserved is '-1', accepted is 0 to 1000000; see 'timerctl queue limit --help'"
            ),
            (
                ["timeline", "--past", "-1h"],
                "--past '-1h' is no duration from 1min to 366d; see 'timerctl timeline --help'"
            ),
            (
                ["maintenance", "x"],
                "the value 'x' is invalid for '<state>', accepted are 'on' and 'off'; see 'timerctl maintenance --help'"
            ),
            (
                ["list", "-n", "x"],
                "-n is 'x', accepted is a whole number from 1; see 'timerctl list --help'"
            ),
            (
                ["web", "--port", "70000"],
                "--port is '70000', accepted is a whole number from 1 to 65535; see 'timerctl web --help'"
            ),
            (
                ["at", "-q", "1", "now"],
                "-q is '1', accepted is a letter, a to z or A to Z; see 'timerctl at --help'"
            ),
            (
                ["at", "-t", "bad"],
                "-t 'bad' is no date, expected [[CC]YY]MMDDhhmm[.SS], such as 202612241000; "
                    + "see 'timerctl at --help'"
            ),
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
            let message = Timerctl.message(for: error)
            #expect(
                UsageSentence.text(message, fullMessage: full, arguments: ["timerctl"] + arguments)
                    == line
            )
        }
    }

    @Test(
        "A date that cannot be read is named with its option, and an option that is none with those there are",
        arguments: [
            (["add", "--at", "x", "--", "true"], "--at: date 'x' is not understood"),
            (["add", "--every", "5s", "--from", "x", "--", "true"], "--from: date 'x' is not"),
            (["add", "--every", "5s", "--until", "x", "--", "true"], "--until: date 'x' is not"),
            (
                ["change", "2", "--unset", "bogus"],
                "--unset 'bogus' is no option of a job; accepted are name"
            ),
        ]
    )
    func beginnings(arguments: [String], beginning: String) {
        do {
            _ = try Timerctl.parseAsRoot(arguments)
            Issue.record("was accepted")
        } catch {
            let full = Timerctl.fullMessage(for: error)
            let text = UsageSentence.text(Timerctl.message(for: error), fullMessage: full)
            #expect(text.hasPrefix(beginning), "\(text)")
        }
    }
}
