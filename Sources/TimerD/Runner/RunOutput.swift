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
        var echo: RunEcho?

        /// Whether there is more than a reader at `position` knows.
        func hasNews(for position: OutputPosition) -> Bool {
            isStored || stdout.end > position.stdout || stderr.end > position.stderr
        }
    }

    /// How many bytes of each stream are kept.
    let limit: Int
    private let state: Observable<State>

    /// `limit`: how many bytes of each stream are kept, the last ones.
    init(limit: Int = 65_536) {
        self.limit = limit
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

    /// Appends bytes that begin at `position` of the stream: those that are there already are left out, and
    /// those between were lost on the way here.
    func append(_ bytes: ArraySlice<UInt8>, from position: Int64, to stream: Stream) {
        change(stream) { capture, echo in
            capture.skip(to: position)
            let known = min(max(capture.end - position, 0), Int64(bytes.count))
            let news = bytes.dropFirst(Int(known))
            news.withUnsafeBytes { capture.append($0) }
            echo?.take(news, of: stream)
        }
    }

    /// Gives another all that is kept.
    func copy(to other: RunOutput) {
        let now = captured
        other.append(now.stdout[...], from: Int64(now.stdoutDropped), to: .stdout)
        other.append(now.stderr[...], from: Int64(now.stderrDropped), to: .stderr)
    }

    /// From now on what is appended goes to `echo` too.
    func echo(to echo: RunEcho) { state.change { $0.echo = echo } }

    private func change(
        _ stream: Stream,
        _ body: (inout OutputCapture, inout RunEcho?) -> Void
    ) {
        state.change { state in
            switch stream {
            case .stdout: body(&state.stdout, &state.echo)
            case .stderr: body(&state.stderr, &state.echo)
            }
        }
    }

    /// The run is over, and the store has what it wrote.
    func noteStored() {
        state.change { state in
            state.isStored = true
            state.echo?.finish()
        }
    }

    /// Returns once there is a byte beyond `position` or the run's output is stored; at once, if
    /// that is so or the task is cancelled.
    func waitForMore(than position: OutputPosition) async {
        await state.waitForChange { $0.hasNews(for: position) }
    }
}
