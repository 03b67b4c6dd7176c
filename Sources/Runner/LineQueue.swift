// SPDX-License-Identifier: Apache-2.0

import JobModel
import Platform
import SystemPackage

/// Lines of runs on their way to a reader who may be slow or away.
///
/// A thread of its own takes them there, so that no run waits; it is started with the first line. Lines for which
/// there is no room meanwhile are left out, and counted; each owner has a share of it.
final class LineQueue<Line: Sendable>: Sendable {
    /// What waits, and how many lines of each owner were left out.
    typealias Batch = (lines: [Line], leftOut: [Owner: Int])

    private enum Phase { case idle, writing, ended }

    private struct State {
        var waiting: LineShares<Line, Owner>
        var phase = Phase.idle
        /// Whether the thread is to end once all is written.
        var isEnding = false
    }

    private let name: String
    private let patience: Duration
    private let state: Monitor<State>

    /// `name`: the thread's; `room`: how many bytes wait at most; `patience`: how long `stop` waits for a reader.
    init(thread name: String, room: Int = 1 << 20, patience: Duration = .seconds(1)) {
        self.name = name
        self.patience = patience
        state = Monitor(State(waiting: LineShares(room: room)))
    }

    /// Whether what is not taken at once is to be left out.
    var isEnding: Bool { state.withLock { $0.isEnding } }

    /// Has a line of `size` bytes taken; never waits.
    ///
    /// `write`: what the thread does: it asks for `next` until that is nil, or calls `close`.
    ///
    /// - Returns: whether it waits now. If not, `leaveOut` says cheaply that those right behind it do not either.
    /// - Throws: why there is no thread. What waits is left out then, and the next line tries again.
    @discardableResult
    func put(
        _ line: Line,
        size: Int,
        of owner: Owner,
        write: @escaping @Sendable () -> Void
    ) throws(Errno) -> Bool {
        let (isKept, isFirst) = state.withLock { state in
            guard state.phase != .ended else { return (false, false) }
            let isKept = state.waiting.put(line, size: size, of: owner)
            defer { state.phase = .writing }
            return (isKept, state.phase == .idle)
        }
        guard isFirst else {
            state.wakeOne()
            return isKept
        }
        do throws(Errno) {
            try SystemThread.start(named: name, write)
        } catch {
            state.withLock { state in
                state.phase = .idle
                state.waiting.dropAll()
            }
            throw error
        }
        return isKept
    }

    /// Counts lines of an owner that are left out, as there is no room for them.
    func leaveOut(_ count: Int, of owner: Owner) {
        state.withLock { state in
            if state.phase != .ended { state.waiting.leaveOut(count, of: owner) }
        }
        state.wakeOne()
    }

    /// Waits for lines, or lines that were left out; nil at the end.
    func next() -> Batch? {
        let next = state.wait { state -> Monitor<State>.Look<LineShares<Line, Owner>?> in
            guard !state.waiting.isEmpty else {
                guard state.isEnding else { return .wait(until: nil) }
                state.phase = .ended
                return .found(nil)
            }
            return .found(state.waiting.takeAll())
        }
        guard let taken = next else {
            state.wakeAll()
            return nil
        }
        // Without the lock, for which runs would wait.
        return (taken.lines, taken.leftOut)
    }

    /// Takes no line any more, and drops what waits: there is nobody to take it.
    func close() {
        state.withLock { state in
            state.phase = .ended
            state.waiting.dropAll()
        }
        state.wakeAll()
    }

    /// Returns once all is written; after `patience` leaves the rest where nobody takes it.
    func stop() {
        state.withLock { $0.isEnding = true }
        state.wakeAll()
        let limit = SuspendingClock.now + patience
        state.wait { state -> Monitor<State>.Look<Void> in
            guard state.phase == .writing, .now < limit else { return .found(()) }
            return .wait(until: limit)
        }
    }
}
