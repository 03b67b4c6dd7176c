// SPDX-License-Identifier: Apache-2.0

import Platform
import SystemPackage

/// Asks the user database for names on a thread of its own, as that may be a network away.
final class NameThread: Sendable {
    /// How a user is looked up, which may block; answers nil where there is none.
    typealias LookUp = @Sendable (_ uid: UInt32) throws -> String?

    private struct State {
        var questions: [UInt32] = []
        var isOver = false
    }

    private let state = Monitor(State())

    /// `tell` is called on the thread.
    init(
        _ lookUp: @escaping LookUp,
        _ tell: @escaping @Sendable (UInt32, Result<String?, any Error>) -> Void
    ) throws(Errno) {
        try SystemThread.start(named: "timerd-names") { [state] in
            while let uid = Self.next(state) {
                tell(uid, Result { try lookUp(uid) })
            }
        }
    }

    func ask(_ uid: UInt32) {
        state.withLock { $0.questions.append(uid) }
        state.wakeOne()
    }

    /// Ends the thread once it has the answer that it waits for.
    func stop() {
        state.withLock { $0.isOver = true }
        state.wakeOne()
    }

    private static func next(_ state: Monitor<State>) -> UInt32? {
        state.wait { state in
            if state.isOver { return .found(nil) }
            guard !state.questions.isEmpty else { return .wait(until: nil) }
            return .found(state.questions.removeFirst())
        }
    }
}
