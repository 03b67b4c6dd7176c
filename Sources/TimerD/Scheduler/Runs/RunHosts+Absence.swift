// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The hosts that commands wait for, and that take none.
extension RunHosts {
    /// How many commands wait for hosts that are not there, in words; nil where none does.
    ///
    /// One that is there and has no room is none of these. What they wait for is `named` to administrators alone, since
    /// others wrote it, and only the first of many.
    func absent(named: Bool) -> String? {
        let absent = absentWaits
        guard !absent.isEmpty else { return nil }
        func words(_ count: Int, _ host: String) -> String {
            count == 1 ? "1 command waits for \(host)" : "\(count) commands wait for \(host)"
        }
        guard named else {
            return words(absent.values.reduce(0, +), "nodes that are not there, or take none")
        }
        let shown = absent.sorted { $0.key < $1.key }.prefix(8)
        var sentences = shown.map { words($1, "'\($0)'") + ": " + reason(for: $0) }
        if shown.count < absent.count {
            sentences.append("and others for \(absent.count - shown.count) more")
        }
        return sentences.joined(separator: "; ")
    }

    /// Why those take none, each reason once; nil where no command waits for one.
    var absences: [StatusReply.Absence]? {
        var found: Set<StatusReply.Absence> = []
        for wish in absentWaits.keys {
            let meant = meant(by: wish)
            if meant.isEmpty { found.insert(.unknown) }
            for (name, host) in meant { found.insert(absence(of: name, host)) }
        }
        return found.isEmpty ? nil : StatusReply.Absence.allCases.filter(found.contains)
    }

    /// The names of those whose node is there, and whose runner does not answer; one that is replaced does in a moment.
    var silent: Set<String> {
        Set(hosts.filter { isSilent($0.key, $0.value) && !$0.value.standing.isReplaced }.keys)
    }

    /// This node is there in any case.
    private func isSilent(_ name: String, _ host: Host) -> Bool {
        host.standing.isSilent || name == own && host.standing.away != nil
    }

    /// How many commands wait for a host that is not there, by the label that they ask for.
    private var absentWaits: [String: Int] {
        waits.filter { wish, _ in
            wish != Self.anywhere && !meant(by: wish).contains { $0.value.standing.isThere }
        }
    }

    private func meant(by wish: String) -> [(key: String, value: Host)] {
        hosts.filter { Self.isMeant($0.key, $0.value, by: wish) }.sorted { $0.key < $1.key }
    }

    /// Why one that is not there takes no command.
    private func absence(of name: String, _ host: Host) -> StatusReply.Absence {
        if host.standing.drains { return .drains }
        return isSilent(name, host) ? .silent : .gone
    }

    /// In words, of the first of those that are called that.
    private func reason(for wish: String) -> String {
        let meant = meant(by: wish)
        guard !meant.isEmpty else { return "no node that is there is called that" }
        return meant.prefix(3).map { name, host in
            switch absence(of: name, host) {
            case .drains: "'\(name)' drains"
            case .silent: "timerd-runner of '\(name)' does not answer"
            case .gone, .unknown: "nothing is heard of '\(name)'"
            }
        }.joined(separator: ", ")
    }
}
