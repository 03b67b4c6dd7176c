// SPDX-License-Identifier: Apache-2.0

import Locks

/// Wakes `top`: any thread reports, one task waits.
final class TopSignals: Sendable {
    struct News: Sendable {
        var isOver = false
        /// Something happened in the daemon.
        var hasChanged = true
        /// Why no more events come.
        var failure: Failure?
    }

    private let news = Locked(News())
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    init() {
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Reports an event; does not wake the task again if an earlier one has not been taken.
    func tellOfEvent() {
        let isFirst = news.withLock { news in
            defer { news.hasChanged = true }
            return !news.hasChanged
        }
        if isFirst { waker.yield() }
    }

    func tell(_ change: (inout News) -> Void = { _ in }) {
        news.withLock { change(&$0) }
        waker.yield()
    }

    /// Returns what is new.
    ///
    /// With `isTaken` a change is not returned again.
    func take(change isTaken: Bool) -> News {
        news.withLock { news in
            let taken = news
            if isTaken { news.hasChanged = false }
            return taken
        }
    }

    /// Waits until something is reported, at most `time`.
    func wait(_ time: Duration) async {
        let timer = Task {
            try await Task.sleep(for: time)
            waker.yield()
        }
        for await _ in wakes { break }
        timer.cancel()
    }
}
