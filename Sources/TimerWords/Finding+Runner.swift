// SPDX-License-Identifier: Apache-2.0

public import TimerControl

extension Finding {
    /// What minds the runs.
    ///
    /// `daemon`: the version of the daemon; `running`: how many commands are in progress on its host, nil where others have some
    /// of them; `node`: the node that answers, whose runner it is, where another takes commands, else nil.
    public static func runner(
        _ runner: StatusReply.Runner,
        of daemon: String,
        running: Int? = nil,
        besideOthers node: String? = nil
    ) -> Self {
        if let trouble = runner.trouble {
            guard runner.drains != true else {
                return .warning(
                    "runner",
                    trouble,
                    "timerctl drain NODE --undo, once it may run commands again"
                )
            }
            return Self(
                level: node == nil ? .broken : .warning,
                subject: "runner",
                text: node.map { "no command begins on '\($0)', but on others: \(trouble)" }
                    ?? "commands wait: \(trouble)",
                advice: runner.pid == nil
                    ? "timerd tries again by itself; journalctl -u timerd-runner, and timerd's log, have the reason"
                    : "runs that end make room, and for want of descriptors connections that close; what runs left"
                        + " behind, and how many there may be, is in timerd's log"
            )
        }
        if let absentHosts = runner.absentHosts {
            let absences = runner.absences ?? [.unknown]
            return Self(
                level: absences == [.drains] ? .warning : .broken,
                subject: "runner",
                text: absentHosts,
                advice: absences.isEmpty
                    ? nil : absences.map(advice(on:)).joined(separator: "; ")
            )
        }
        if let strays = runner.straysSentence {
            let isNamed = runner.strays?.contains { $0.pid > 0 } == true
            return .warning(
                "runner",
                strays,
                isNamed
                    ? "'kill -- -PID' ends such a run, which no job knows of; so do 'timerd --end-runs' without a daemon, and"
                        + " SIGUSR1, with all others"
                    : "'timerd --end-runs' without a daemon ends such a run, which no job knows of, with all others; so does"
                        + " SIGUSR1"
            )
        }
        if let running, running > runner.runs {
            return .warning(
                "runner",
                "process \(runner.pid ?? 0) has told of \(runner.runs) of \(running) commands in progress",
                "that one begins or ends is told a moment later; where it stays so timerd-runner hangs, which timerd says"
                    + " once it has not answered for long: journalctl -u timerd-runner"
            )
        }
        let text = "process \(runner.pid ?? 0) minds \(runner.runs)"
        guard let version = runner.version, version != daemon else { return .ok("runner", text) }
        return .warning(
            "runner",
            "\(text); it is of timerd \(version), the daemon of \(daemon)",
            "it goes on until it has no runs, and is replaced then; if it is not, its program was not upgraded"
        )
    }

    /// What to do about a node that takes none of the commands that wait for it.
    static func advice(on absence: StatusReply.Absence) -> String {
        switch absence {
        case .unknown:
            "start the node, or 'timerctl change JOB --on LABEL', which moves what waits, too; 'timerctl invalidate JOB' ends a "
                + "job without a date to come, which takes no change; 'timerctl nodes' has names and labels"
        case .gone:
            "start timerd on that node's host; journalctl -u timerd there says why it ended, or does not reach the database"
        case .silent:
            "on that node's host journalctl -u timerd-runner, and timerd's log, have the reason; 'systemctl restart "
                + "timerd-runner' ends what it minds, and begins anew"
        case .drains: "timerctl drain NODE --undo, once that node may run commands again"
        }
    }
}

extension StatusReply.Runner {
    /// Which runs go on without a row, up to eight of them; nil where none does.
    ///
    /// One that is about to begin has no process yet.
    public var straysSentence: String? {
        guard let strays, !strays.isEmpty else { return nil }
        let named = strays.prefix(8).map {
            "run \($0.run)" + ($0.pid > 0 ? " (process \($0.pid))" : "")
        }
        let others = strays.count > 8 ? " and others" : ""
        return named.joined(separator: ", ") + others + (strays.count == 1 ? " goes" : " go")
            + " on, which the database does not have in progress"
    }
}
