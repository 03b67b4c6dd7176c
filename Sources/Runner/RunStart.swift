// SPDX-License-Identifier: Apache-2.0

import JobModel
import Locks

/// Decides once whether a run's command begins or is withdrawn.
///
/// Between its slot and the order to the runner a run waits for the user database and PAM, which may take
/// long. A request that ends the job meanwhile is answered at once, and the command is not ordered after that.
package final class RunStart: Sendable {
    private enum State {
        case ahead, begun, withdrawn
    }

    private let state = Locked(State.ahead)

    package init() {}

    /// Whether the command may begin; after true, `withdraw` has no effect.
    func begin() -> Bool {
        state.withLock { state in
            if state == .ahead { state = .begun }
            return state == .begun
        }
    }

    /// Keeps the command from beginning; false if it has begun.
    @discardableResult
    package func withdraw() -> Bool {
        state.withLock { state in
            if state == .ahead { state = .withdrawn }
            return state == .withdrawn
        }
    }
}

extension StartRefusal {
    /// The refusal of a run that was ended before it had a process.
    package static let withdrawn = StartRefusal("\(RunOutcome.withdrawn)")
}
