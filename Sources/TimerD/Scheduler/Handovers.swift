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
        var isEmpty = true
    }

    private let batch = Locked(Batch())

    /// Adds an answer, which is given to the scheduler when the store has told of its batch.
    func add(_ answer: @escaping @Sendable (isolated Scheduler) -> Void) {
        batch.withLock {
            $0.answers.append(answer)
            $0.isEmpty = false
        }
    }

    /// Notes that a record is stored; `share`: nil for one that counts in nobody's.
    func noteStored(share: UInt32?) {
        batch.withLock {
            if let share { $0.stored[share, default: 0] += 1 }
            $0.isEmpty = false
        }
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
