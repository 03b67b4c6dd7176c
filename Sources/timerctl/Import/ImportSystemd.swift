// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl import systemd`: a job for each time that timer units name.
struct ImportSystemd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "systemd",
        abstract: "Add a job for each OnCalendar= and the like of timer units.",
        discussion: """
            The unit is a path, or a name that is looked for where systemd looks, with its drop-ins. \
            Its service's commands become the job's command; what a run has nothing like is named. \
            --start-unit has a run do 'systemctl start' instead, which keeps all of the service. \
            Of several units none is added if one cannot be carried; then they are added one after \
            another. Prints the ids.

            Examples:
              timerctl import systemd --dry-run logrotate.timer
              timerctl import systemd logrotate.timer man-db.timer
              timerctl import systemd --start-unit certbot.timer
            """
    )

    @Argument(help: ArgumentHelp("The timers: paths or names.", valueName: "unit"))
    var units: [String]

    @Flag(help: "Look for the units among your own, not the system's.")
    var user = false

    @Flag(help: "Have systemd run the service: 'systemctl start'.")
    var startUnit = false

    @OptionGroup var options: ImportOptions

    func run() async throws {
        // All are read before one is added.
        let importers = try units.map { try importer(of: $0) }
        for importer in importers { importer.report() }
        if options.dryRun { for importer in importers { try await importer.preview() } }
        try Importer.requireCarried(importers.map(\.plan), options)
        if options.dryRun { return }
        for importer in importers { try await importer.add() }
    }

    private func importer(of unit: String) throws -> Importer {
        var folders = UnitFolders(isUser: user, home: LocalUser.current.home)
        var name = unit
        if let slash = unit.lastIndex(of: "/") {
            name = String(unit[unit.index(after: slash)...])
            folders.paths.insert(InputFile.absolutePath(String(unit[..<slash])), at: 0)
        }
        if !name.contains(".") { name += ".timer" }
        guard name.hasSuffix(".timer") else {
            throw ValidationError("'\(name)' is no timer unit, such as 'logrotate.timer'")
        }
        guard let timer = try folders.unit(name) else {
            throw Failure(.badData, "no '\(name)' in \(folders.paths.joined(separator: ", "))")
        }
        let disable = "systemctl \(user ? "--user " : "")disable --now \(name)"
        return Importer(
            plan: try plan(of: timer, folders),
            options: options,
            reminder: "systemd goes on as well until '\(disable)'"
        )
    }

    private func plan(of timer: UnitFile, _ folders: UnitFolders) throws(Failure) -> ImportPlan {
        let manager = user ? LocalUser.current : try LocalUser(named: "root") ?? .current
        let service: String
        do throws(UnitCommand.Mistake) {
            service = try SystemdJobs.serviceName(of: timer, isUser: user, manager: manager)
        } catch {
            var plan = ImportPlan(tag: SystemdJobs.tag(of: timer))
            plan.refusals = [ImportPlan.Refusal(error, of: timer, elsePlace: timer.name)]
            return plan
        }
        let jobs = SystemdJobs(
            timer: timer,
            service: try folders.unit(service),
            serviceName: service,
            isUser: user,
            startsUnit: startUnit
        )
        return jobs.plan(now: .now)
    }
}
