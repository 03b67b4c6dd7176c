// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The directives of a unit that no job carries, each with its place: none is dropped in silence.
struct UnitDirectives {
    /// Those that tell somebody of a failure.
    private(set) var warnings: [String] = []
    private(set) var notes: [String] = []

    /// What is told of where it is read, is done by timerd anyway, or is for readers of the unit.
    private static func known(of unit: UnitFile) -> [String: Set<String>] {
        let own: [String: Set<String>] =
            isTimer(unit) ? ["Timer": TimerUnit.known] : ["Service": ServiceUnit.known]
        return own.merging(["Unit": ["Description", "Documentation"]]) { own, _ in own }
    }

    private static func isTimer(_ unit: UnitFile) -> Bool { unit.name.hasSuffix(".timer") }

    /// `carried`: what of the service is the job's, though it is none of the settings that are known.
    init(_ unit: UnitFile, carried: [String]) {
        for setting in unit.others(than: Self.known(of: unit))
        where !Self.isDoneAnyway(setting, of: unit) {
            if setting.section == "Unit", carried.contains(setting.name),
                unit.name.hasSuffix(".service")
            {
                continue
            }
            let line = setting.notCarried(Self.reason(setting, of: unit))
            if ["OnFailure", "OnSuccess"].contains(setting.name) {
                warnings.append(line)
            } else {
                notes.append(line)
            }
        }
        notes += unit.unread.map {
            "\($0.place): '\($0.value)' is no setting; systemd skips it, too"
        }
    }

    /// A timer that is enabled starts with the machine, as a job does.
    private static func isDoneAnyway(_ setting: UnitFile.Setting, of unit: UnitFile) -> Bool {
        let targets = ["timers.target", "basic.target", "default.target", "multi-user.target"]
        return isTimer(unit) && setting.section == "Install"
            && setting.name == "WantedBy" && targets.contains(setting.value)
    }

    /// Directives that order units or tie them to each other.
    private static let ofOtherUnits: Set = [
        "After", "Before", "Requires", "Requisite", "Wants", "BindsTo", "PartOf", "Upholds",
        "Conflicts", "RequiresMountsFor", "WantsMountsFor", "JoinsNamespaceOf",
        "DefaultDependencies",
    ]

    private static func reason(_ setting: UnitFile.Setting, of unit: UnitFile) -> String {
        switch setting.name {
        case _ where setting.section == (isTimer(unit) ? "Service" : "Timer"):
            "it is in the wrong unit; systemd skips it, too"
        case "OnFailure":
            "nobody is told of a failure; --on-failure of 'timerctl add' runs a command then"
        case "OnSuccess":
            "no unit is started when a run succeeds; --on-success of 'timerctl add' runs a command then"
        case _ where ofOtherUnits.contains(setting.name):
            "a job neither waits for other units nor starts them"
        case _ where setting.name.hasPrefix("Condition") || setting.name.hasPrefix("Assert"):
            "it is not looked at before a run"
        case _ where setting.section == "Service":
            "a run has nothing like it; --start-unit has systemd run the service as it is"
        default: "timerd has nothing like it"
        }
    }
}

/// What a service's `OnFailure=` or `OnSuccess=` starts, as the command of a job's handler.
struct UnitHandler {
    private let handler: RunHandler
    private let settings: [UnitFile.Setting]
    /// The units; empty where there is nothing that a job could carry.
    private let units: [String]
    private let owner: LocalUser
    private let isUser: Bool

    /// systemd's manager of system units takes orders from root.
    init(_ handler: RunHandler, of service: UnitFile, owner: LocalUser, isUser: Bool) {
        let specifiers = UnitSpecifiers(unit: service, owner: owner, isUser: isUser)
        settings = service.settings(handler.directive, in: "Unit")
        let names = settings.flatMap { $0.value.split(whereSeparator: \.isWhitespace) }
        // try?: a specifier that is not understood leaves the directive to be told of.
        let expanded = names.map { try? specifiers.expanded(String($0)) }
        let mayStart = isUser || owner.uid == 0
        units = mayStart && !expanded.contains(nil) ? expanded.compactMap(\.self) : []
        (self.handler, self.owner, self.isUser) = (handler, owner, isUser)
    }

    /// The directive that the job carries; nil for none.
    var carried: String? { units.isEmpty ? nil : handler.directive }

    func apply(to definition: inout JobDefinition) {
        guard carried != nil else { return }
        let command = ["systemctl"] + (isUser ? ["--user"] : []) + ["start"] + units
        switch handler {
        case .onFailure: definition.onFailure = command
        case .onSuccess: definition.onSuccess = command
        }
        guard isUser else { return }
        let folder = ["XDG_RUNTIME_DIR": "/run/user/\(owner.uid)"]
        definition.env = (definition.env ?? [:]).merging(folder) { own, _ in own }
    }

    var notes: [String] {
        guard carried != nil else { return [] }
        let when = handler == .onFailure ? "has failed for good" : "has succeeded"
        return settings.map {
            $0.carriedOtherwise(
                "when a fire \(when), 'systemctl start' of it is run; $MONITOR_SERVICE_RESULT and the like "
                    + "are not set"
            )
        }
    }
}

extension RunHandler {
    fileprivate var directive: String {
        switch self {
        case .onFailure: "OnFailure"
        case .onSuccess: "OnSuccess"
        }
    }
}
