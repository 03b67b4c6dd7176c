// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// A runner of another release, or that speaks another version, goes on for as long as it has runs; then one of this
/// daemon's release follows.
/// All of it on the loop's thread.
extension ProgramRunner {
    /// Whether a runner is to make room once it has nothing left.
    ///
    /// Not where another one of its release has just made room: whoever starts them has no newer program.
    func isToLeave(_ runner: RunnerReport.Welcome) -> Bool {
        // Each node looks after its own.
        guard remote == nil else { return false }
        let isOwn = runner.release == timerdVersion && runner.version == language.version
        guard !isOwn else { return false }
        return left.map { left in
            (left.release, left.version) != (runner.release, runner.version)
                || left.pid == runner.pid
        } ?? true
    }

    /// Replaces the runner if it is to leave and minds nothing.
    func replaceIfIdle() {
        guard case .linked(let link) = connection, let runner = current,
            isToLeave(runner), state.withLock({ $0.entries.isEmpty })
        else { return }
        replace(link, runner)
        changed(.replaced(runner.release))
    }

    /// Has a runner end, and looks for the next one once it has.
    func replace(_ link: any RunnerLink, _ runner: RunnerReport.Welcome) {
        left = runner
        connection = .leaving
        link.send(.leave)
        // Before the connection is closed: while it is there, the runner stays.
        loop.perform(afterEndOf: runner.pid) { [weak self] in self?.followed() }
        link.close("it makes room for one of this release")
        // One that cannot end is asked again who it is.
        later(patience) { $0.followed() }
    }

    /// A runner that was told to leave has ended, or does not.
    private func followed() {
        guard case .leaving = connection else { return }
        connection = .away
        look()
    }
}
