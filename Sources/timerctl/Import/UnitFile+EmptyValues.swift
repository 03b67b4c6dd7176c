// SPDX-License-Identifier: Apache-2.0

/// What an empty value says, which is not the same for all settings.
extension UnitFile.Setting {
    /// Whether an empty value of it is one of its own, and no way back to the default.
    ///
    /// It is no capability at all, by systemd.exec(5), and a control group that is handed over without controllers, by
    /// systemd.resource-control(5).
    var hasMeaningEmpty: Bool {
        section == "Service" && ["CapabilityBoundingSet", "Delegate"].contains(name)
    }

    /// Whether its value is empty and systemd skips it for that: what was said before stays.
    ///
    /// Seen by `systemctl show` of systemd 252; an empty value of any other setting is the way back to the default.
    var isSkipped: Bool {
        guard value.isEmpty else { return false }
        return switch section {
        case "Unit":
            !["Description", "Documentation"].contains(name) && !name.hasPrefix("Condition")
                && !name.hasPrefix("Assert")
        // The clocks alone are lists.
        case "Timer": !name.hasPrefix("On") || name.hasSuffix("Change")
        case "Service": name.hasPrefix("Limit") || Self.keptInService.contains(name)
        default: false
        }
    }

    /// Spans of time, words of a list, and words for yes and no.
    private static let keptInService: Set = [
        "TimeoutStartSec", "TimeoutStopSec", "TimeoutSec", "RuntimeMaxSec", "RestartSec",
        "WatchdogSec", "RuntimeRandomizedExtraSec", "TimeoutStartFailureMode", "Type", "Restart",
        "UMask", "DynamicUser", "KillSignal", "RestartKillSignal", "FinalKillSignal",
        "SendSIGKILL", "SendSIGHUP", "RemainAfterExit", "NotifyAccess", "PrivateTmp",
        "PrivateNetwork", "ProtectSystem", "ProtectHome", "NoNewPrivileges", "OOMPolicy",
        "CPUSchedulingPriority", "Slice", "StandardInput", "StandardOutput", "StandardError",
        "IgnoreSIGPIPE",
    ]
}
