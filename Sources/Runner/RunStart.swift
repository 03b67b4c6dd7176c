// SPDX-License-Identifier: Apache-2.0

import JobModel
import Locks

/// Decides once whether a run's command begins or is withdrawn.
///
/// Between its slot and the order to the runner a run waits for the user database and PAM, which may take
/// long. A request that ends the job meanwhile is answered at once, and the command is not ordered after that.
package final class RunStart: Sendable {
    private struct State {
        var hasBegun: Bool
        var isWithdrawn = false
    }

    private let state: Locked<State>

    /// `hasBegun`: whether the runner was asked for the command already, or may have been, by a daemon before.
    package init(hasBegun: Bool = false) { state = Locked(State(hasBegun: hasBegun)) }

    /// Whether somebody wants that the command does not begin, whether or not that came in time.
    ///
    /// An order that is lost, or that a daemon before has never sent, is not sent again then.
    package var isWithdrawn: Bool { state.withLock { $0.isWithdrawn } }

    /// Whether the command may begin; after true, `withdraw` does not keep it from that.
    func begin() -> Bool {
        state.withLock { state in
            if !state.isWithdrawn { state.hasBegun = true }
            return state.hasBegun
        }
    }

    /// Keeps the command from beginning; false if it has begun, or may have.
    @discardableResult
    package func withdraw() -> Bool {
        state.withLock { state in
            state.isWithdrawn = true
            return !state.hasBegun
        }
    }
}

extension StartRefusal {
    /// The refusal of a run that was ended before it had a process.
    package static let withdrawn = StartRefusal("\(RunOutcome.withdrawn)")
}
