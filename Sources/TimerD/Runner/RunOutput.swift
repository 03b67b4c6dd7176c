// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// The end of what a run has written, for whoever reads along while it is written.
///
/// Holds no more than `limit` bytes of each stream. Who reads more slowly than the run writes
/// misses bytes, and slows nothing.
final class RunOutput: Sendable {
    enum Stream: Sendable { case stdout, stderr }

    private struct State {
        var stdout: OutputCapture
        var stderr: OutputCapture
        var isStored = false
        var readers: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastTicket = 0

        /// Whether there is something that a reader who stands at `position` does not know.
        func hasNews(for position: OutputPosition) -> Bool {
            isStored || stdout.end > position.stdout || stderr.end > position.stderr
        }
    }

    private let state: Locked<State>

    /// `limit`: how many bytes of each stream are kept, the last ones.
    init(limit: Int = 65_536) {
        state = Locked(
            State(stdout: OutputCapture(limit: limit), stderr: OutputCapture(limit: limit))
        )
    }

    /// What has been written up to now, as far as it is kept.
    var captured: CapturedOutput {
        state.withLock { state in
            CapturedOutput(
                stdout: state.stdout.bytes,
                stdoutDropped: state.stdout.dropped,
                stderr: state.stderr.bytes,
                stderrDropped: state.stderr.dropped
            )
        }
    }

    /// How many wait for more of it.
    var readerCount: Int { state.withLock { $0.readers.count } }

    /// Whether the run is over and its output is to be had from the store.
    var isStored: Bool { state.withLock { $0.isStored } }

    func append(_ bytes: UnsafeRawBufferPointer, to stream: Stream) {
        tellReaders { state in
            switch stream {
            case .stdout: state.stdout.append(bytes)
            case .stderr: state.stderr.append(bytes)
            }
        }
    }

    /// The run is over, and the store has what it wrote.
    func noteStored() { tellReaders { $0.isStored = true } }

    /// Returns once there is a byte beyond `position` or the run's output is stored; at once, if
    /// that is so or the task is cancelled.
    func waitForMore(than position: OutputPosition) async {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let mustWait = state.withLock { state in
                    // A task cancelled before this has called `leave` in vain.
                    guard !Task.isCancelled, !state.hasNews(for: position) else { return false }
                    state.readers[ticket] = reader
                    return true
                }
                if !mustWait { reader.resume() }
            }
        } onCancel: {
            leave(ticket)
        }
    }

    private func leave(_ ticket: Int) {
        state.withLock { $0.readers.removeValue(forKey: ticket) }?.resume()
    }

    /// Makes a change and wakes all who wait: they know everything up to it.
    private func tellReaders(of change: (inout State) -> Void) {
        let readers = state.withLock { state in
            change(&state)
            defer { state.readers = [:] }
            return state.readers.values
        }
        for reader in readers { reader.resume() }
    }
}
