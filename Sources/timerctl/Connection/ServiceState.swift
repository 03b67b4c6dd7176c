// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl

/// The state of a daemon's service in systemd, and the daemon's last message.
struct ServiceState: Hashable, Sendable {
    /// "--user" for a user's own service; empty for the system's.
    var manager = ""
    /// What `systemctl show` printed.
    var properties: [String: String]
    /// The daemon's newest line in the journal; empty if the user may not read it.
    var lastMessage = ""

    private var active: String { properties["ActiveState"] ?? "" }
    private var status: String { properties["StatusText"] ?? "" }

    /// How the status of a daemon that could not start begins; see `TimerD.StartBackoff`.
    private static let failedStart = "cannot start: "

    /// Whether it is being started, stopped or reloaded, and did not fail to start.
    var isOnItsWay: Bool {
        ["activating", "deactivating", "reloading"].contains(active)
            && !status.hasPrefix(Self.failedStart)
    }

    /// "timerd.service is failed (exit-code), after 3 restarts; it says: ...".
    var sentence: String {
        var text = "timerd.service is \(active.isEmpty ? "unknown" : active)"
        let detail = [properties["SubState"], properties["Result"]].compactMap(\.self)
            .filter { !$0.isEmpty && $0 != active && $0 != "success" }
        if !detail.isEmpty { text += " (\(detail.joined(separator: ", ")))" }
        if let restarts = properties["NRestarts"].flatMap({ Int($0) }), restarts > 0 {
            text += ", after \(restarts) restart\(restarts == 1 ? "" : "s")"
        }
        let said = status.hasPrefix(Self.failedStart) || lastMessage.isEmpty ? status : lastMessage
        if !said.isEmpty { text += "; it says: \(said)" }
        return text + "; see 'journalctl \(manager.isEmpty ? "" : manager + " ")-u timerd'"
    }

    /// How to start it, and what is to be done before.
    ///
    /// A start mends neither what it refuses nor a database that was taken away: it would begin an empty one there.
    var startAdvice: String {
        let systemctl = manager.isEmpty ? "systemctl" : "systemctl \(manager)"
        let start = "\(systemctl) start timerd"
        if properties["LoadState"] == "masked" { return "\(systemctl) unmask timerd; \(start)" }
        // What the daemon ends with, and its units know: docs/configuration.md.
        switch (active, properties["ExecMainStatus"]) {
        case ("failed", "79"):
            return "first put the database back, as it says; then: \(start)"
        case ("failed", "78"): return "first mend what it says; then: \(start)"
        default:
            let journal = manager.isEmpty ? "journalctl" : "journalctl \(manager)"
            return "\(start); \(journal) -u timerd says why it is not running"
        }
    }

    /// The properties in what `systemctl show` prints, a line each.
    static func properties(in text: String) -> [String: String] {
        var properties: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard let sign = line.firstIndex(of: "=") else { continue }
            properties[String(line[..<sign])] = String(line[line.index(after: sign)...])
        }
        return properties
    }

    /// The service that serves `socket`; nil if systemd has none.
    static func read(socket: String) -> Self? {
        guard access("/run/systemd/system", F_OK) == 0 else { return nil }
        let isSystems = socket == DefaultPaths.systemSocket
        guard isSystems || socket == DefaultPaths.current.socket else { return nil }
        let manager = isSystems ? "" : "--user"
        let names = "LoadState,ActiveState,SubState,Result,ExecMainStatus,NRestarts,StatusText"
        let shown = output(of: "systemctl \(manager) show -p \(names) timerd.service")
        guard let shown else { return nil }
        let known = properties(in: shown)
        guard known["LoadState"] != "not-found" else { return nil }
        // "-q": no hint for a user who may not read the journal.
        let unit = isSystems ? "-u timerd.service" : "--user -u timerd.service"
        let message = output(of: "journalctl -q \(unit) -t timerd -n 1 -o cat") ?? ""
        return Self(
            manager: manager,
            properties: known,
            lastMessage: message.trimmingEnd
        )
    }

    /// What a command prints; nil if it fails, or takes longer than 3 s.
    private static func output(of command: String) -> String? {
        Spawn.output(of: "timeout 3 \(command) 2>/dev/null </dev/null")
    }
}

extension String {
    fileprivate var trimmingEnd: String {
        String(reversed().drop { $0.isWhitespace }.reversed())
    }
}
