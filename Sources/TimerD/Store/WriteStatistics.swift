// SPDX-License-Identifier: Apache-2.0

/// How writing goes, for the daemon's status and metrics.
struct WriteStatistics: Sendable {
    /// Transactions that changed something, since the start.
    private(set) var commits = 0
    /// Commands and records in them.
    private(set) var writes = 0
    /// How long the last commit took.
    private(set) var lastCommit = Duration.zero
    /// Records that are kept because they could not be stored yet.
    private(set) var heldRecords = 0
    /// Why a batch could not be stored; nil once a change has been, and all that was held.
    private(set) var trouble: DatabaseError?

    /// Where things turned from good to bad or back.
    enum Turn: Sendable {
        case trouble(DatabaseError)
        case recovery
    }

    /// Notes the end of a batch of `writes`; `duration` is nil if it changed nothing.
    mutating func note(
        writes: Int,
        committedIn duration: Duration?,
        held: Int,
        error: DatabaseError?
    ) -> Turn? {
        heldRecords = held
        if let duration {
            commits += 1
            self.writes += writes
            lastCommit = duration
        }
        let wasInTrouble = trouble != nil
        if let error {
            trouble = error
            return wasInTrouble ? nil : .trouble(error)
        }
        guard wasInTrouble, duration != nil, held == 0 else { return nil }
        trouble = nil
        return .recovery
    }
}
