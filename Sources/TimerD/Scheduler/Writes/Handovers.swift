// SPDX-License-Identifier: Apache-2.0

import Locks

/// What the store says, on its way to the scheduler: all of a batch at once.
///
/// Said one by one, each commit of a hundred fires would wake the scheduler's thread a hundred times.
final class Handovers: Sendable {
    struct Batch: Sendable {
        /// In the order of the store.
        var answers: [@Sendable (isolated Scheduler) -> Void] = []
        /// How many records of fires are stored, by the user in whose share they count.
        var stored: [UInt32: Int] = [:]

        var isEmpty: Bool { answers.isEmpty && stored.isEmpty }
    }

    private let batch = Locked(Batch())

    /// Adds an answer, which is given to the scheduler when the store has told of its batch.
    func add(_ answer: @escaping @Sendable (isolated Scheduler) -> Void) {
        batch.withLock { $0.answers.append(answer) }
    }

    /// Notes that a record is stored which counts in the user's share.
    func noteStored(share: UInt32) {
        batch.withLock { $0.stored[share, default: 0] += 1 }
    }

    /// Takes what there is; nil for nothing.
    func take() -> Batch? {
        batch.withLock { batch in
            guard !batch.isEmpty else { return nil }
            defer { batch = Batch() }
            return batch
        }
    }
}
