// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The last bytes that a run has written, for readers that follow it.
///
/// Holds no more than `limit` bytes of each stream. A reader that is slower than the run misses bytes, and
/// does not slow the run.
final class RunOutput: Sendable {
    enum Stream: Sendable { case stdout, stderr }

    private struct State {
        var stdout: OutputCapture
        var stderr: OutputCapture
        var isStored = false

        /// Whether there is more than a reader at `position` knows.
        func hasNews(for position: OutputPosition) -> Bool {
            isStored || stdout.end > position.stdout || stderr.end > position.stderr
        }
    }

    private let state: Observable<State>

    /// `limit`: how many bytes of each stream are kept, the last ones.
    init(limit: Int = 65_536) {
        state = Observable(
            State(stdout: OutputCapture(limit: limit), stderr: OutputCapture(limit: limit))
        )
    }

    /// What has been written up to now, as far as it is kept.
    var captured: CapturedOutput {
        let state = state.value
        return CapturedOutput(
            stdout: state.stdout.bytes,
            stdoutDropped: state.stdout.dropped,
            stderr: state.stderr.bytes,
            stderrDropped: state.stderr.dropped
        )
    }

    /// How many readers wait for more of it.
    var readerCount: Int { state.waiterCount }

    /// Whether the run is over and its output is to be had from the store.
    var isStored: Bool { state.value.isStored }

    func append(_ bytes: UnsafeRawBufferPointer, to stream: Stream) {
        state.change { state in
            switch stream {
            case .stdout: state.stdout.append(bytes)
            case .stderr: state.stderr.append(bytes)
            }
        }
    }

    /// The run is over, and the store has what it wrote.
    func noteStored() { state.change { $0.isStored = true } }

    /// Returns once there is a byte beyond `position` or the run's output is stored; at once, if
    /// that is so or the task is cancelled.
    func waitForMore(than position: OutputPosition) async {
        await state.waitForChange { $0.hasNews(for: position) }
    }
}
