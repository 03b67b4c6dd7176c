// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// Wakes `top`: any thread reports, one task waits.
final class TopSignals: Sendable {
    struct News {
        var isOver = false
        /// Keys in the order in which they came.
        var keys: [TopKey] = []
        /// What the daemon answered, in that order.
        var answers: [TopModel.Answer] = []
        /// Something happened in the daemon.
        var hasChanged = true
        /// To which jobs, as far as that is known.
        var jobs: Set<JobID> = []
        /// SIGTSTP came.
        var isSuspended = false
        /// The process goes on after it was stopped, or the terminal has another size.
        var isRedrawn = false
    }

    private let news = Locked(News())
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation
    /// More jobs than this at once are all of them.
    private static let mostJobs = 1000

    init() {
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Reports an event; does not wake the task again if an earlier one has not been taken.
    func tellOfEvent(of job: JobID? = nil) {
        let isFirst = news.withLock { news in
            defer { news.hasChanged = true }
            if let job, news.jobs.count < Self.mostJobs { news.jobs.insert(job) }
            return !news.hasChanged
        }
        if isFirst { waker.yield() }
    }

    func tell(_ change: (inout News) -> Void = { _ in }) {
        news.withLock { change(&$0) }
        waker.yield()
    }

    func tell(_ answer: TopModel.Answer) { tell { $0.answers.append(answer) } }

    /// Returns what is new, each but the end once.
    ///
    /// Without `isTaken` a change stays to be returned again.
    func take(change isTaken: Bool) -> News {
        news.withLock { news in
            let taken = news
            news = News()
            news.isOver = taken.isOver
            news.hasChanged = !isTaken && taken.hasChanged
            if !isTaken { news.jobs = taken.jobs }
            return taken
        }
    }

    /// Whether a change has not been taken.
    var hasChange: Bool { news.withLock { $0.hasChanged } }

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
