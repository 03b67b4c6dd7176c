// SPDX-License-Identifier: Apache-2.0

import Locks
import SystemPackage

/// What the relay's thread is told by others.
enum RelayCommand: Sendable {
    case follow(leader: String?, listener: Int32)
    case lead(adopt: @Sendable (Int32, RelayedPeer) -> Void)
    case carrier(CarrierEvent)
    case carryAgent(Int32)
    case limitClients(all: Int, ofUser: Int)
    case named(uid: UInt32, Result<String?, any Error>)
    case stop
}

/// The commands that the relay's thread has not seen yet, in their order.
final class RelayInbox: Sendable {
    private struct State {
        var commands: [RelayCommand] = []
    }

    let bell: Bell
    private let state = Locked(State())

    init() throws(Errno) { bell = try Bell() }

    func add(_ command: RelayCommand) {
        let isFirst = state.withLock { state in
            state.commands.append(command)
            return state.commands.count == 1
        }
        if isFirst { bell.ring() }
    }

    /// On the relay's thread.
    func take() -> [RelayCommand] {
        bell.silence()
        return state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }
}
