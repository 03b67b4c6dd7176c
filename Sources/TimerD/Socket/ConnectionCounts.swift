// SPDX-License-Identifier: Apache-2.0

import Platform
import TimerControl

/// How many connections there are, by user; decides whether one more may come in.
struct ConnectionCounts {
    private(set) var total = 0
    private var byUser: [UInt32: Int] = [:]

    mutating func add(_ uid: UInt32) {
        total += 1
        byUser.count(1, of: uid)
    }

    mutating func remove(_ uid: UInt32) {
        total -= 1
        byUser.count(-1, of: uid)
    }

    /// How many of `max` connections are kept for root and the user that the daemon runs as.
    static func reserve(of max: Int) -> Int { Swift.max(1, min(64, max / 10)) }

    /// Why one more connection of `caller` is refused; nil if it is not.
    func refusal(of caller: Caller, _ settings: ControlSocket.Settings) -> ControlError? {
        let reserve = caller.isAdministrator ? 0 : Self.reserve(of: settings.maxConnections)
        if total >= settings.maxConnections - reserve {
            return ControlError(
                .limitReached,
                "\(total) connections are open; maxConnections is \(Self.words(settings.maxConnections, settings))"
                    + (reserve > 0 ? ", the last \(reserve) are for root" : "")
            )
        }
        let own = byUser[caller.uid, default: 0]
        guard own >= settings.maxConnectionsPerUser else { return nil }
        return ControlError(
            .limitReached,
            "uid \(caller.uid) has \(own) connections open; maxConnectionsPerUser is "
                + Self.words(settings.maxConnectionsPerUser, settings)
        )
    }

    /// The number, and why it is lower than the setting, if it is.
    private static func words(_ count: Int, _ settings: ControlSocket.Settings) -> String {
        guard let limit = settings.scarceDescriptors else { return "\(count)" }
        return "taken as \(count), as timerd may have \(limit) descriptors"
    }
}
