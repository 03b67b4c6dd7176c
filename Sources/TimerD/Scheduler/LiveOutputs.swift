// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// The output of the runs in progress, for whoever reads along, from their start until the store
/// has what they wrote: at every moment a run's output is here or there.
final class LiveOutputs: Sendable {
    private struct State {
        var outputs: [RunID: RunOutput] = [:]
        /// How many runs have begun.
        var begun = 0
        /// Who waits for the start of a run, by a number of their own.
        var waiting: [RunID: [Int: CheckedContinuation<Void, Never>]] = [:]
        var lastTicket = 0
    }

    private let state = Locked(State())

    /// Nil before the run's start, and once the store has its output.
    subscript(run: RunID) -> RunOutput? { state.withLock { $0.outputs[run] } }

    func begin(_ run: RunID, _ output: RunOutput) {
        let waiting = state.withLock { state in
            state.outputs[run] = output
            state.begun += 1
            return state.waiting.removeValue(forKey: run)
        }
        for reader in (waiting ?? [:]).values { reader.resume() }
    }

    /// The store has what the run wrote.
    func end(_ run: RunID) {
        state.withLock { $0.outputs.removeValue(forKey: run) }?.noteStored()
    }

    /// How many runs have begun up to now.
    var begun: Int { state.withLock { $0.begun } }

    /// Returns once the run has begun, at the latest after `limit`, or when the task is cancelled: a
    /// run that is put off, or taken back, tells nobody.
    ///
    /// Returns at once where any run has begun after the first `known`: it may have been this one,
    /// and be over.
    func waitForBegin(of run: RunID, after known: Int, within limit: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.waitForBegin(of: run, after: known) }
            // try?: the sleep is over, or nobody waits for it any more.
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    private func waitForBegin(of run: RunID, after known: Int) async {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let mustWait = state.withLock { state in
                    // A task cancelled before this has called `leave` in vain.
                    guard !Task.isCancelled, state.begun == known else { return false }
                    state.waiting[run, default: [:]][ticket] = reader
                    return true
                }
                if !mustWait { reader.resume() }
            }
        } onCancel: {
            leave(run, ticket)
        }
    }

    private func leave(_ run: RunID, _ ticket: Int) {
        let reader = state.withLock { state in
            let reader = state.waiting[run]?.removeValue(forKey: ticket)
            if state.waiting[run]?.isEmpty == true { state.waiting[run] = nil }
            return reader
        }
        reader?.resume()
    }
}
