// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl status`: the daemon in a few lines.
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Tell how the daemon is.",
        discussion: """
            Ends with 0 when a daemon answers, with 69 when none does.

            Examples:
              timerctl status
              timerctl status --json | jq .seq
            """
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let answer = try await Daemon.ask(common, .status, for: StatusReply.self)
        if common.json { return try Output.write(answer.jsonLine) }
        try Output.write(Self.text(of: answer.value, zone: .local, for: .current))
    }

    /// Relative times are counted from the daemon's clock in the answer.
    static func text(
        of status: StatusReply,
        zone: Zone,
        for terminal: Terminal = .plain
    ) -> String {
        let dates = LocalDate(now: status.now, zone: zone)
        let age = (status.now - status.startedAt).length
        let next = status.nextFireDate.map {
            "; next fire \(dates.distance($0)), \(dates.phrase($0))"
        }
        var lines = [
            "timerd \(status.version), process \(status.pid), up \(age)",
            "jobs      \(status.liveJobs), \(status.armed) armed\(next ?? "")",
            "runs      \(status.running) in progress, \(status.waiting) waiting\(status.mostRuns)",
        ]
        lines += status.node.map { ["node      \($0.sentence(dates))"] } ?? []
        let runner = status.runner?.sentence(dates, on: status.node?.name)
        lines += runner.map { ["runner    \($0)"] } ?? []
        lines += [
            "clients   \(status.connections) connected, \(status.watchers) watching",
            "events    the newest has number \(status.seq)",
            "database  \(status.database)",
            "socket    \(status.socket)",
        ]
        lines += status.notices?.sentence(dates).map { ["notices   \($0)"] } ?? []
        for maintenance in status.maintenance ?? [] {
            lines.append("paused    \(maintenance.sentence(in: zone))")
        }
        if let groups = status.controlGroups { lines.append("limits    \(groups.sentence)") }
        if let reload = status.reload?.sentence(at: status.now) {
            lines.append("settings  \(reload)")
        }
        if let trouble = status.trouble { lines.append("trouble   \(trouble)") }
        if let dropped = status.dropped { lines.append("trouble   \(dropped.sentence)") }
        if status.version != timerdVersion {
            lines.append("timerctl is \(timerdVersion), another version")
        }
        return lines.flatMap { line in
            Printable.wrapped(Printable.escaped(line), to: terminal.width ?? .max, indent: 10)
        }.map { $0 + "\n" }.joined()
    }
}

extension StatusReply.Runner {
    /// Who minds the runs, and since when and why commands wait; `node`: see `wait`.
    func sentence(_ dates: LocalDate, on node: String?) -> String {
        let who = pid.map { pid in
            let release = version.flatMap { $0 == timerdVersion ? nil : " of \($0)" } ?? ""
            return "process \(pid)\(release), minds \(runs)"
        }
        let all = [who, wait(dates, on: node), absentHosts, straysSentence]
        return all.compactMap(\.self).joined(separator: "; ")
    }
}

extension StatusReply.Node {
    /// "'a' leads since 2026-12-01 08:55:00, epoch 7; 'b', 'c' stand by".
    func sentence(_ dates: LocalDate) -> String {
        let names = standby.map { "'\($0)'" }.joined(separator: ", ")
        let others =
            switch standby.count {
            case 0: "no other stands by"
            case 1: "\(names) stands by"
            default: "\(names) stand by"
            }
        return "'\(name)' leads since \(dates.dayAndTime(leadsSince)), epoch \(epoch); \(others)"
    }
}

extension StatusReply.Notices {
    /// "3 wait, the oldest since 12 min ago, at 08:48:00; 1 is held back; 2 were given up"; nil if there is nothing to say.
    func sentence(_ dates: LocalDate) -> String? {
        var parts: [String] = []
        if waiting > 0 {
            let since = oldest.map {
                ", the oldest since \(dates.dayAndTime($0)), \(dates.distance($0))"
            }
            parts.append("\(waiting) \(waiting == 1 ? "waits" : "wait")" + (since ?? ""))
        }
        if held > 0 { parts.append("\(held) held back for a summary") }
        if let givenUp, givenUp > 0 {
            parts.append("\(givenUp) given up since the daemon's start")
        }
        if waiting > 0 { parts.append("'timerctl notices' has them") }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}

extension StatusReply {
    /// "; at most 64 at once, 4 of them root's alone (maxRuns), 32 of a user (maxRunsPerUser)"; empty where that is not known.
    fileprivate var mostRuns: String {
        guard let maxRuns else { return "" }
        let ofUser = maxRunsPerUser.map { ", \($0) of a user (maxRunsPerUser)" } ?? ""
        let kept = keptForRoot.map { ", \($0) of them root's alone" } ?? ""
        return "; at most \(maxRuns) at once\(kept) (maxRuns)\(ofUser)"
    }

    /// How many jobs there are by state; `?` for what the daemon could not read.
    var liveJobs: String {
        let (scheduled, paused) = (scheduled.map { "\($0)" }, paused.map { "\($0)" })
        let held = held.flatMap { $0 > 0 ? ", \($0) held" : nil } ?? ""
        return "\(scheduled ?? "?") scheduled, \(paused ?? "?") paused\(held)"
    }
}
