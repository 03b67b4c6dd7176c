// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Makes jobs of a timer unit and its service.
struct SystemdJobs {
    var timer: UnitFile
    /// The unit that it starts; nil if it has no file, in which case --start-unit is needed.
    var service: UnitFile?
    var serviceName: String
    var isUser: Bool
    /// Whether a run has systemd start the service, instead of running its commands.
    var startsUnit: Bool
    var caller = LocalUser.current
    var findUser: (String) throws(Failure) -> LocalUser? = { name throws(Failure) in
        try LocalUser(namedOrNumbered: name)
    }

    /// "certbot.service", unless the timer names another, with what "%i" and the like stand for.
    ///
    /// `manager`: who runs the systemd that has the timer.
    static func serviceName(
        of timer: UnitFile,
        isUser: Bool,
        manager: LocalUser
    ) throws(UnitCommand.Mistake) -> String {
        guard let setting = timer.last(of: ["Unit"], in: "Timer") else {
            return "\(timer.stem).service"
        }
        do {
            return try UnitSpecifiers(unit: timer, owner: manager, isUser: isUser)
                .expanded(setting.value)
        } catch {
            throw error.at(setting)
        }
    }

    /// "systemd:certbot.timer".
    static func tag(of timer: UnitFile) -> String { "systemd:\(timer.name)" }

    func plan(now: Timestamp) -> ImportPlan {
        var plan = ImportPlan(tag: Self.tag(of: timer))
        if let refusal = templateRefusal {
            plan.refusals = [refusal]
            return plan
        }
        let specifiers = UnitSpecifiers(unit: timer, owner: caller, isUser: isUser)
        let when = TimerUnit(timer, specifiers, now: now)
        plan.notes = when.notes
        plan.refusals = when.refusals
        if when.clocks.count > 1 {
            plan.notes.append(
                "\(timer.name): \(when.clocks.count) jobs, whose runs may overlap; those of one unit never do"
            )
        }
        var handlers: [UnitHandler] = []
        do throws(UnitCommand.Mistake) {
            let owner = try owner()
            var definition = JobDefinition(schedule: ScheduleWords())
            if startsUnit {
                start(&definition, owner)
                plan.notes.append(
                    "what the service writes is in the journal: journalctl -u \(serviceName)"
                )
            } else {
                guard let service else {
                    throw UnitCommand.Mistake(reason: "'\(serviceName)' is not found")
                }
                var unit = ServiceUnit(service, owner: owner, isUser: isUser)
                try unit.apply(to: &definition)
                plan.notes += unit.notes
                handlers = RunHandler.allCases.map {
                    UnitHandler($0, of: service, owner: owner, isUser: isUser)
                }
                for handler in handlers { handler.apply(to: &definition) }
                plan.notes += handlers.flatMap(\.notes)
            }
            definition.tags = [plan.tag]
            definition.jitter = when.jitter
            definition.tolerance = when.tolerance
            plan.jobs = try when.clocks.map { clock throws(UnitCommand.Mistake) in
                try job(clock, definition, owner)
            }
        } catch {
            plan.refusals.append(ImportPlan.Refusal(error, of: timer, elsePlace: serviceName))
        }
        // What systemd goes on to do for a unit that it starts is not lost.
        for unit in startsUnit ? [timer] : [timer, service].compactMap(\.self) {
            let directives = UnitDirectives(unit, carried: handlers.compactMap(\.carried))
            plan.warnings += directives.warnings
            plan.notes += directives.notes
        }
        return plan
    }

    /// Why a template is refused that is not an instance of it, which systemd does not start either; nil for none.
    private var templateRefusal: ImportPlan.Refusal? {
        let units = [timer.name, serviceName].map { UnitFile(name: $0) }
        return units.first { $0.instance == "" }.map { template in
            let instance = "\(template.stem)NAME\(template.name.dropFirst(template.stem.count))"
            return ImportPlan.Refusal(
                place: timer.name,
                text: template.name,
                reason:
                    "it is a template, which runs nothing by itself; an instance of it is '\(instance)'"
            )
        }
    }

    private func job(
        _ clock: TimerUnit.Clock,
        _ common: JobDefinition,
        _ owner: LocalUser
    ) throws(UnitCommand.Mistake) -> ImportedJob {
        var definition = common
        definition.schedule = clock.schedule
        definition.name = timer.stem
        definition.misfire = clock.misfire
        if let delay = clock.delay {
            let seconds = (delay.microseconds + 999_999) / 1_000_000
            definition.command =
                ["/bin/sh", "-c", Self.wait, "\(seconds)"] + (common.command ?? [])
            // try?: it was written as a length of time here.
            if let limit = common.timeout.flatMap({ try? TimeSpan(parsing: $0) }) {
                definition.timeout = (limit + .seconds(seconds)).description
            }
        }
        do throws(OptionRefusal) {
            // As the daemon will, so that a dry run tells of it, and each error names the unit.
            try definition.check()
        } catch {
            throw UnitCommand.Mistake(reason: "its \(error)")
        }
        return ImportedJob(
            place: timer.name,
            text: clock.text,
            rule: clock.rule,
            definition: definition,
            owner: owner
        )
    }

    /// Sleeps until the machine has been up for $0 seconds, and becomes the command behind them.
    ///
    /// A retry, or a fire by hand, begins later than that and sleeps no more. The variables of it are those of a
    /// shell of its own, as the command may be given others of these names.
    static let wait =
        #"(read -r up _ </proc/uptime; left=$(($0 - ${up%.*})); [ "$left" -le 0 ] || sleep "$left"); exec "$@""#

    private func start(_ definition: inout JobDefinition, _ owner: LocalUser) {
        definition.command = ["systemctl"] + (isUser ? ["--user"] : []) + ["start", serviceName]
        if isUser { definition.env = ["XDG_RUNTIME_DIR": "/run/user/\(owner.uid)"] }
    }

    private func owner() throws(UnitCommand.Mistake) -> LocalUser {
        let setting = startsUnit ? nil : service?.last(of: ["User"], in: "Service")
        if isUser, setting == nil { return caller }
        var name = "root"
        if let service, let setting {
            name = try ServiceUnit(service, owner: caller, isUser: isUser).expanded(setting)
        }
        let found: LocalUser?
        do throws(Failure) {
            found = try findUser(name)
        } catch {
            throw UnitCommand.Mistake(reason: error.message, setting: setting)
        }
        guard let user = found else {
            throw UnitCommand.Mistake(reason: "there is no user '\(name)'", setting: setting)
        }
        guard user.uid == caller.uid || caller.uid == 0 else {
            throw UnitCommand.Mistake(
                reason:
                    "it runs as '\(user.name)'; only root may add jobs for others than oneself, "
                    + "and --user takes a unit of your own",
                setting: setting
            )
        }
        return user
    }
}

extension ImportPlan.Refusal {
    /// `elsePlace`: where a mistake is that is in no setting.
    init(_ mistake: UnitCommand.Mistake, of timer: UnitFile, elsePlace: String) {
        self.init(
            place: mistake.setting?.place ?? elsePlace,
            text: mistake.setting?.assignment ?? timer.name,
            reason: mistake.reason
        )
    }
}
