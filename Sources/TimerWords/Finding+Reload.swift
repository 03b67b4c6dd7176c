// SPDX-License-Identifier: Apache-2.0

public import Schedules
public import TimerControl

extension Finding {
    /// What the last reload of the configuration has left to be done; nil for nothing.
    public static func reload(_ status: StatusReply) -> Self? {
        guard let reload = status.reload, let sentence = reload.sentence(at: status.now) else {
            return nil
        }
        guard let node = status.node?.name else {
            return .warning(
                "settings",
                sentence,
                reload.refused == nil
                    ? "restart timerd, and they are in force: runs go on"
                    : "mend what it says, and have timerd read it again: systemctl reload timerd, or kill -HUP \(status.pid)"
            )
        }
        // The node that leads may be on another host, where its process has that number.
        return .warning(
            "settings",
            "on '\(node)', which leads: \(sentence)",
            reload.refused == nil
                ? "restart timerd on that host, and they are in force: runs go on"
                : "mend what it says, and have timerd read it again, on that host: systemctl reload timerd"
        )
    }
}

extension StatusReply.Reload {
    /// "the last reload was refused 12 min ago, as a start would be: …; changed, and not in force before a restart: 'listen'"; nil
    /// for nothing.
    public func sentence(at now: Timestamp) -> String? {
        var parts: [String] = []
        if let refused {
            let age = refusedAt.map { " \((now - $0).length) ago" } ?? ""
            parts.append("the last reload was refused\(age), as a start would be: \(refused)")
        }
        if let waiting, !waiting.isEmpty {
            let names = waiting.map { "'\($0)'" }.joined(separator: ", ")
            parts.append("changed, and not in force before a restart: \(names)")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}
