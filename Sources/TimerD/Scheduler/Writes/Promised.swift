// SPDX-License-Identifier: Apache-2.0

import Locks

/// A value that is made elsewhere, perhaps before anybody waits for it; awaited once.
///
/// A command hands its write to the store before it first suspends, so that commands and reads keep their order: in a task that prefers
/// an executor, already a call of the actor's own async function suspends, and others of the actor get in between.
final class Promised<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case awaited(CheckedContinuation<Value, any Error>)
        case made(Result<Value, any Error>)
        case taken
    }

    private let state = Locked(State.empty)

    /// To be called once.
    func keep(_ result: Result<Value, any Error>) {
        let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .empty:
                state = .made(result)
                return nil
            case .awaited(let waiter):
                state = .taken
                return waiter
            // A second outcome of one thing is a bug: whoever waited has acted on the first.
            case .made, .taken: preconditionFailure("what was promised is kept once")
            }
        }
        waiter?.resume(with: result)
    }

    /// To be called once; stays on the caller's executor.
    func value(isolation: isolated (any Actor)? = #isolation) async throws -> Value {
        try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
            let made = state.withLock { state -> Result<Value, any Error>? in
                switch state {
                case .empty:
                    state = .awaited(continuation)
                    return nil
                case .made(let result):
                    state = .taken
                    return result
                // Two that wait would need two outcomes.
                case .awaited, .taken: preconditionFailure("what was promised is awaited once")
                }
            }
            if let made { continuation.resume(with: made) }
        }
    }
}
