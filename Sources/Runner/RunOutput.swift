// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
package import TimerControl

/// What a run has written, as far as it is kept, for readers that follow it.
///
/// Holds no more than `limit` bytes of each stream: their heads and tails. A reader that is slower than the run
/// misses bytes, and does not slow the run.
package final class RunOutput: Sendable {
    typealias Stream = StandardStream

    private struct State {
        var log: OutputLog
        var isStored = false
        var echoes: [RunEcho] = []

        /// Whether there is more than a reader at `position` knows.
        func hasNews(for position: OutputPosition) -> Bool {
            isStored || log.end.stdout > position.stdout || log.end.stderr > position.stderr
        }
    }

    /// How many bytes of each stream are kept where nobody says more.
    package static let standardLimit = 65_536

    private let state: Observable<State>

    /// `limit`: how many bytes of each stream are kept.
    package init(limit: Int = standardLimit) {
        state = Observable(State(log: OutputLog(limit: limit)))
    }

    package var limit: Int { state.value.log.limit }

    /// Has that many bytes kept of each stream, before there are any.
    package func keep(_ limit: Int) { state.change { $0.log = OutputLog(limit: limit) } }

    /// What has been written up to now, as far as it is kept.
    var captured: CapturedOutput { state.value.log.captured }

    /// What has been written up to now behind `position`, `most` bytes of it.
    package func read(after position: OutputPosition, most: Int) -> OutputReading {
        let log = state.value.log
        let (pieces, hasMore) = log.read(after: position, most: most)
        return OutputReading(
            pieces: pieces,
            hasMore: hasMore,
            stdout: OutputReply.Total(bytes: log.stdout.end, dropped: log.stdout.notShown),
            stderr: OutputReply.Total(bytes: log.stderr.end, dropped: log.stderr.notShown)
        )
    }

    /// How many readers wait for more of it.
    var readerCount: Int { state.waiterCount }

    /// Whether the run is over and its output is to be had from the store.
    package var isStored: Bool { state.value.isStored }

    /// Appends bytes that begin at `position` of the stream and came at `date`, in µs since 1970: those that are there
    /// already are left out, and those between were lost on the way here.
    func append(
        _ bytes: ArraySlice<UInt8>,
        from position: Int64,
        at date: Int64,
        to stream: Stream
    ) {
        state.change { state in
            let news = state.log.append(bytes, from: position, at: date, to: stream)
            let start = state.log[stream].end - Int64(news.count)
            for index in state.echoes.indices {
                state.echoes[index].take(news, of: stream, from: start)
            }
        }
    }

    /// So many bytes came of both streams, whatever is kept of them.
    func end(at position: OutputPosition) {
        state.change { state in
            state.log.skip(to: position.stdout, of: .stdout)
            state.log.skip(to: position.stderr, of: .stderr)
        }
    }

    /// Gives another all that is kept, and its bounds: they are those with which the run was begun.
    ///
    /// `passed`: up to where a daemon before has passed it on.
    func copy(to other: RunOutput, passed: OutputPosition = OutputPosition()) {
        let log = state.value.log
        other.state.change { state in
            state.log = log
            guard !state.echoes.isEmpty else { return }
            let pieces = log.read(after: OutputPosition(), most: .max).pieces
            for index in state.echoes.indices {
                state.echoes[index].goOn(from: passed)
                for piece in pieces {
                    state.echoes[index].take(piece.bytes, of: piece.stream, from: piece.offset)
                }
            }
        }
    }

    /// Goes on with what another keeps, `limit` bytes of each stream, and sends from the first on; there are none yet.
    ///
    /// `passed`: up to where a daemon before has passed it on.
    func goOn(limit: Int, passed: OutputPosition) {
        state.change { state in
            state.log = OutputLog(limit: limit)
            for index in state.echoes.indices { state.echoes[index].goOn(from: passed) }
        }
    }

    /// From now on what is appended goes to `echo` too.
    package func echo(to echo: RunEcho) { state.change { $0.echoes.append(echo) } }

    /// The run is over, and the store has what it wrote.
    package func noteStored() {
        state.change { state in
            state.isStored = true
            for index in state.echoes.indices { state.echoes[index].finish(at: state.log.end) }
            state.echoes = []
        }
    }

    /// Returns once there is a byte beyond `position` or the run's output is stored; at once, if
    /// that is so or the task is cancelled.
    package func waitForMore(than position: OutputPosition) async {
        // The end of a run is a change too, which comes ahead of its being stored and mostly brings no byte.
        while !Task.isCancelled, !state.value.hasNews(for: position) {
            await state.waitForChange { $0.hasNews(for: position) }
        }
    }
}
