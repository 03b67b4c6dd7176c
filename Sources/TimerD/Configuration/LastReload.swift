// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Locks
import TimerControl

/// What the last reload has left to be done by somebody, for `daemon.status`.
final class LastReload: Sendable {
    private let state = Locked<StatusReply.Reload?>(nil)

    /// Nil for nothing.
    var told: StatusReply.Reload? { state.withLock { $0 } }

    /// `new`: what was read, or why it was refused; `old`: the settings in force, whose places stay until a restart.
    func note(_ new: Result<Configuration, SettingError>, over old: Configuration) {
        switch new {
        case .success(let new):
            // A restart puts nothing in force that a database of one host has no use for: the log says so of these.
            let unused: Set<Setting> = new.shared == nil ? [.node, .labels, .lease, .copy] : []
            let waiting = new.changedPlaces(from: old).filter { !unused.contains($0) }
                .map(\.rawValue)
            state.withLock { $0 = waiting.isEmpty ? nil : StatusReply.Reload(waiting: waiting) }
        case .failure(let error):
            let now = SystemClock.read().wall
            // What waits for a restart from a reload before does so still.
            state.withLock {
                $0 = StatusReply.Reload(
                    refused: error.description,
                    refusedAt: now,
                    waiting: $0?.waiting
                )
            }
        }
    }
}
