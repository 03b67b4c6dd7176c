// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// The findings about a daemon and its host; pure, so that each sentence can be tested.
enum Diagnosis {
    // MARK: - The socket

    /// `trouble`: why no daemon answered; nil if one did.
    static func socket(_ facts: HostFacts, trouble: ClientError?) -> Finding {
        let path = facts.socketPath
        guard let trouble else { return .ok("socket", "a daemon answers at '\(path)'") }
        if trouble.reason == .notPermitted {
            return .broken("socket", trouble.message, "ask whoever runs this daemon to let you in")
        }
        if let lost = facts.lostSocket { return Self.lost(lost, facts) }
        // Whether a service makes another socket than the usual one is not known.
        let ofService =
            facts.service?.isInstalled == true
            ? ", or 'systemctl start timerd' where it is its" : ""
        let start =
            facts.serviceState?.startAdvice
            ?? "start it: timerd\(ofService); or say where it is: --socket or TIMERD_SOCKET"
        // Why it did not start, or has ended.
        let reason = facts.serviceState.map { "; \($0.sentence)" } ?? ""
        switch facts.socketFile {
        case .missing:
            return .broken("socket", "there is no '\(path)': no daemon runs there\(reason)", start)
        case .notASocket:
            return .broken("socket", "'\(path)' is not a socket", "move it away, then start timerd")
        case .socket:
            let text = "nobody answers at '\(path)': its daemon has died\(reason)"
            return .broken("socket", text, start)
        }
    }

    /// A daemon listens on a socket whose file is not there.
    private static func lost(_ socket: HostFacts.LostSocket, _ facts: HostFacts) -> Finding {
        let program = socket.process.map { "process \($0)" } ?? "a program"
        let anew =
            socket.isSystemds
            ? "stop timerd.service and timerd.socket, and start both: runs go on"
            : "systemctl reload timerd, or kill -HUP \(socket.process.map { "\($0)" } ?? "its process"), has it"
                + " listen anew" + (socket.process == nil ? "; else start timerd" : "")
        // The list of sockets is that of the network, which containers may share; processes of another are not seen here.
        let doubt =
            socket.process == nil
            ? ", or another container of this network has its own there, and no daemon runs here"
            : ""
        return .broken(
            "socket",
            "the file of '\(facts.socketPath)' was removed or replaced: \(program) listens there, and nobody can"
                + " connect" + doubt,
            facts.socketFile == .missing ? anew : "move '\(facts.socketPath)' away, then \(anew)"
        )
    }

    /// Something listens at the socket, and has not said how it is; `error`: why not; `service`: what its service says of itself.
    static func unanswered(_ error: any Error, at path: String, service: String? = nil) -> Finding {
        let failure = Failure(answering: error)
        switch failure.status {
        case .unavailable: return silence(failure, service: service)
        case .protocolBroken: return stranger(failure, at: path)
        default: break
        }
        // Not as somebody may not ask, or asks too much: nothing is carried out there.
        guard let refusal = error as? ControlError, refusal.reason == .storageFailed else {
            return unchecked("daemon", failure)
        }
        return .broken(
            "daemon",
            "it carries out no request: \(failure.message)",
            "mend what it says; journalctl -u timerd has more"
        )
    }

    /// A daemon listens at the socket but does not answer.
    static func silence(_ failure: Failure, service: String? = nil) -> Finding {
        // Who was waited for has said it already: see `Patience`.
        let isSaid = failure.message.contains("timerd.service is ")
        let reason = isSaid ? "" : service.map { "; \($0)" } ?? ""
        return .broken(
            "socket",
            failure.message + reason,
            "mend what it says; journalctl -u timerd has more, and 'systemctl restart timerd' begins anew"
        )
    }

    /// Something listens at the socket that does not speak as this release's daemon does.
    static func stranger(_ failure: Failure, at path: String) -> Finding {
        .broken(
            "socket",
            "what listens at '\(path)' is not timerd, or not one of this release: \(failure.message)",
            "ss -xlp, as root, shows whose socket it is; end that program and start timerd, or say where timerd "
                + "is: --socket or TIMERD_SOCKET"
        )
    }

    /// A check that could not be made; `isShared`: of a daemon that shares its jobs with others.
    static func unchecked(
        _ subject: String,
        _ failure: Failure,
        isShared: Bool = false
    ) -> Finding {
        let text = "not checked: \(failure.message)"
        if failure.isRefusal {
            return .warning(subject, text, "mend what it says, and ask again: timerctl doctor")
        }
        if isShared, failure.status == .unavailable {
            // Connections end then, and all daemons may be well.
            return .warning(
                subject,
                text,
                "the lead may have changed hands, which journalctl -u timerd says; ask again: timerctl doctor"
            )
        }
        return .broken(subject, text, "journalctl -u timerd says what became of the daemon")
    }

    // MARK: - The daemon

    static func daemon(_ status: StatusReply) -> Finding {
        let age = (status.now - status.startedAt).length
        let text = "timerd \(status.version), process \(status.pid), up \(age)"
        guard status.version == timerdVersion else {
            return .warning(
                "daemon",
                "\(text); timerctl is \(timerdVersion)",
                "restart timerd, so that both are of one version"
            )
        }
        return .ok("daemon", text)
    }

    static func jobs(_ status: StatusReply) -> Finding {
        .ok(
            "jobs",
            "\(status.liveJobs), \(status.running) running, \(status.waiting) waiting"
        )
    }

    /// The handlers that the daemon runs for jobs without one; nil if it has none.
    static func defaults(_ handlers: [HandlerProgram]) -> Finding? {
        guard !handlers.isEmpty else { return nil }
        let faulty = handlers.compactMap { handler in
            handler.fault.map { "\(handler.option) '\(handler.program)' cannot be run: \($0)" }
        }
        guard !faulty.isEmpty else {
            return .ok(
                "defaults",
                handlers.map { "\($0.option) runs '\($0.program)'" }.joined(separator: ", ")
            )
        }
        return .warning(
            "defaults",
            faulty.joined(separator: "; "),
            "mend 'defaults' in the daemon's configuration, or the program; until then no job that relies on it "
                + "is heard of"
        )
    }

    /// What becomes of the limits of runs; `facts`: of the daemon's host.
    static func groups(_ groups: StatusReply.ControlGroups, _ facts: HostFacts) -> Finding {
        guard groups.lack != nil else { return .ok("limits", groups.sentence) }
        if !groups.perRun, facts.service?.hasRunner == true {
            // The socket's file was removed, or the database's whole folder replaced: systemd makes none anew by itself.
            let isUsers = facts.daemon.map { $0.user != 0 } ?? false
            let systemctl = isUsers ? "systemctl --user" : "systemctl"
            return .warning(
                "limits",
                "\(groups.sentence); timerd-runner was started there, as systemd does not listen at its socket",
                "once no run is in progress: \(systemctl) restart timerd-runner.socket, whose ListenStream is the "
                    + "database's path with '-runner' behind it"
            )
        }
        // Without systemd there is no unit to change, as in a container.
        let remedy =
            facts.service == nil
            ? "timerd-runner needs a control group of cgroup v2 that it may change, which a container rarely has"
            : "Delegate=yes in the unit of timerd-runner"
        return .warning(
            "limits",
            groups.sentence,
            groups.perRun
                ? "these limits have no effect until the control group of timerd-runner has all controllers"
                : "\(remedy); until then --memory-max is the address space of each process, and the other limits "
                    + "have no effect"
        )
    }

    // MARK: - The database

    /// `problems`: what the daemon's own check found; nil if the caller may not ask for a check.
    static func database(_ path: String, problems: [String]?) -> Finding {
        guard let problems else {
            return .ok("database", "'\(path)', unchecked: that is for root and the daemon's user")
        }
        guard let first = problems.first else { return .ok("database", "'\(path)' is sound") }
        return .broken(
            "database",
            "'\(path)' is damaged: \(first)",
            "stop timerd, keep the file, and put back a backup: timerd --restore FILE"
        )
    }

    static func space(_ space: HostFacts.Space) -> Finding {
        guard !space.isReadOnly else {
            return .broken(
                "disk",
                "the file system of the database is mounted read-only: nothing can be stored",
                "mend it, and mount it anew to be written to; dmesg may have the reason"
            )
        }
        // A start makes seven files.
        if let files = space.files, files < 16 {
            return .warning(
                "disk",
                "free inodes for the database: \(files), however much room there is",
                "remove files there: timerd makes some at its start"
            )
        }
        let text = "\(size(space.free)) of \(size(space.all)) are free for the database"
        guard space.free < 100 << 20 else { return .ok("disk", text) }
        return .warning("disk", text, "make room: a full disk refuses new jobs")
    }

    /// What killed backups and restores have left; nil for nothing.
    static func leftovers(_ facts: HostFacts) -> Finding? {
        guard !facts.leftovers.isEmpty else { return nil }
        let named = facts.leftovers.prefix(5).map { "'\($0)'" }.joined(separator: ", ")
        return .warning(
            "leftovers",
            "a backup or a restore that was killed has left beside the database: \(named)"
                + (facts.leftovers.count > 5 ? " and others" : ""),
            ShellWords.joined(["rm", "-r"] + facts.leftovers.prefix(5))
                + ", unless a backup or a restore is in progress: at most the next one to the same file removes them"
        )
    }

    /// In a unit of which there are enough that the rest does not count.
    private static func size(_ bytes: Int64) -> String {
        bytes < 10 << 20 ? "\(bytes >> 10) KiB" : "\(bytes >> 20) MiB"
    }

    // MARK: - The clock

    static func clock(_ facts: HostFacts, daemon: Timestamp?) -> Finding {
        let advice = "timedatectl set-ntp true, or set it by hand; jobs by date follow the clock"
        if facts.now < .earliestOfClocks {
            return .broken("clock", "it stands at \(facts.now): it was never set", advice)
        }
        let ahead: TimeSpan = daemon.map { $0 - facts.now } ?? .zero
        if let daemon, !(.seconds(-10) ... .seconds(10) ~= ahead) {
            return .warning(
                "clock",
                "the daemon's clock shows \(daemon), this one \(facts.now)",
                "is the socket one of another machine or container?"
            )
        }
        guard facts.isClockSynchronized else {
            return .warning("clock", "nothing keeps it in time (adjtimex: unsynchronised)", advice)
        }
        return .ok("clock", "it is kept in time")
    }

    static func zones(_ facts: HostFacts) -> Finding {
        guard facts.hasZones else {
            return .warning(
                "zones",
                "'\(facts.zonesFolder)' has no zone 'Europe/Berlin'",
                facts.zonesFolder == Zone.standardDatabaseFolder
                    ? "apt-get install tzdata"
                    : "TZDIR leads there: unset it, or put the zone database there"
            )
        }
        return .ok("zones", "the zone database is there")
    }

    // MARK: - The service

    static func service(_ facts: HostFacts) -> Finding? {
        guard let service = facts.service else { return nil }
        guard service.isInstalled else {
            return .warning(
                "service",
                "systemd does not know timerd",
                "install its unit, so that it starts with the machine"
            )
        }
        guard !service.isMasked else {
            return .warning(
                "service",
                "timerd.service is masked: neither the machine nor a client starts it",
                "systemctl unmask timerd"
            )
        }
        guard service.isEnabled else {
            return .warning(
                "service",
                "timerd.service does not start with the machine",
                "systemctl enable timerd"
            )
        }
        guard let runsDaemon = service.runsDaemon else {
            return .warning(
                "service",
                "timerd.service starts with the machine, and no daemon of it answers",
                "'systemctl status timerd' and 'journalctl -u timerd' have the reason"
            )
        }
        guard runsDaemon else {
            return .warning(
                "service",
                "the daemon that answers is not timerd.service's",
                "stop it and 'systemctl start timerd', unless it is meant to be your own"
            )
        }
        return .ok("service", "timerd.service runs it, and starts with the machine")
    }
}
