// SPDX-License-Identifier: Apache-2.0

import Locks

/// The moment at which a run's command begins, or is kept from it: one of the two, once.
///
/// Between its place among the runs and its process lie the user database, PAM and file systems, any of
/// which may take long. Who ends the job meanwhile is answered at once, and nothing begins after that.
final class RunStart: Sendable {
    private enum State {
        case ahead, begun, withdrawn
    }

    private let state = Locked(State.ahead)

    /// Whether the command may begin; from here on nothing keeps it from it.
    func begin() -> Bool {
        state.withLock { state in
            if state == .ahead { state = .begun }
            return state == .begun
        }
    }

    /// Keeps the command from beginning; false where it has begun.
    @discardableResult
    func withdraw() -> Bool {
        state.withLock { state in
            if state == .ahead { state = .withdrawn }
            return state == .withdrawn
        }
    }
}

extension StartRefusal {
    /// Why a run has no process that was ended before it had one.
    static let withdrawn = StartRefusal("it was ended before it began")
}
