// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// The output of the runs in progress, for whoever reads along, from their start until the store
/// has what they wrote: at every moment a run's output is here or there.
final class LiveOutputs: Sendable {
    private let outputs = Locked<[RunID: RunOutput]>([:])

    /// Nil before the run's start, and once the store has its output.
    subscript(run: RunID) -> RunOutput? { outputs.withLock { $0[run] } }

    func begin(_ run: RunID, _ output: RunOutput) { outputs.withLock { $0[run] = output } }

    /// The store has what the run wrote.
    func end(_ run: RunID) {
        outputs.withLock { $0.removeValue(forKey: run) }?.noteStored()
    }
}
