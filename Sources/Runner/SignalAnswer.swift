// SPDX-License-Identifier: Apache-2.0

/// What came of a signal to the processes of a run.
package enum SignalAnswer: Sendable, Hashable {
    /// At least one process has it.
    case sent
    /// There are processes, and the run's owner may signal none of them.
    case refused
    /// There is none.
    case gone
    /// It could not be tried.
    case unknown
}
