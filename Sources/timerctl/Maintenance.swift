// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl maintenance`: all of a user's jobs paused, and resumed as they were.
struct Maintenance: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "maintenance",
        abstract: "Pause all your jobs for a while, and have them go on as they were.",
        discussion: """
            'on' pauses every job that is not paused, and those that are added meanwhile; runs in \
            progress go on. 'off' resumes these, and no other: what was paused before, or by hand \
            in between, stays so, and what was resumed by hand fires. What becomes of the dates in \
            between is up to each job's --misfire policy. Without a word it says who is in \
            maintenance.

            Examples:
              timerctl maintenance on
              timerctl maintenance off
              sudo timerctl maintenance on --owner web
            """
    )

    enum Switch: String, CaseIterable, ExpressibleByArgument { case on, off }

    @Argument(help: "on or off.")
    var state: Switch?

    @Option(help: ArgumentHelp("The user, a name or a uid; for root.", valueName: "user"))
    var owner: String?

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if state == nil, owner != nil { throw ValidationError("--owner belongs to 'on' and 'off'") }
    }

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        guard let state else { return try await show(daemon) }
        let request: Request = state == .on ? .beginMaintenance(owner) : .endMaintenance(owner)
        let answer = try await daemon.ask(request, for: JobsReply.self)
        if common.json {
            return try Output.write(answer.jsonLines("jobs"), done: "maintenance is \(state)")
        }
        let count = answer.value.jobs.count + (answer.value.others?.count ?? 0)
        let jobs = count == 1 ? "1 job" : "\(count) jobs"
        let end =
            owner.map { Self.end(of: $0, by: .current) } ?? MaintenanceEnd.command(of: nil)
        Output.tell(
            state == .on
                ? "maintenance is on: \(jobs) paused for it; '\(end)' resumes them"
                : "maintenance is off: \(jobs) resumed"
        )
    }

    /// The command that ends a user's maintenance, as the caller has to type it: without `--owner` it ends the caller's.
    static func end(of owner: String, by caller: LocalUser) -> String {
        let isOwn = owner == caller.name || owner == "\(caller.uid)"
        return MaintenanceEnd.command(of: isOwn ? nil : owner)
    }

    private func show(_ daemon: Daemon) async throws {
        let answer = try await daemon.ask(.status, for: StatusReply.self)
        let all = answer.value.maintenance ?? []
        if common.json { return try Output.write(answer.jsonLines("maintenance")) }
        if all.isEmpty { return Output.tell("nobody is in maintenance") }
        try Output.write(all.map { "\($0.sentence(in: .local))\n" }.joined())
    }
}

extension StatusReply.Maintenance {
    /// "ann is in maintenance, since 2026-12-01 09:00:00".
    func sentence(in zone: Zone) -> String {
        let dates = LocalDate(now: .now, zone: zone)
        return "\(owner) is in maintenance, since \(dates.dayAndTime(since))"
    }
}
