// SPDX-License-Identifier: Apache-2.0

/// What became of a fire, in one word, by which `run.list` picks.
public enum RunWord: String, Codable, Hashable, Sendable, CaseIterable {
    /// The command ended with a status that is no failure, or a worker has finished the task.
    case success
    /// It ended with another status, or a worker has failed the task.
    case failure
    case signalled, timedOut, notStarted
    /// Or a worker has lost the task.
    case interrupted
    /// The date had no fire, or its task was dropped.
    case skipped
    /// An event without a command.
    case fired

    public func isOf(_ run: Run) -> Bool {
        switch self {
        case .success: run.outcome == .finished || run.outcome == .exited && run.failed != true
        case .failure: run.outcome == .failed || run.outcome == .exited && run.failed == true
        case .signalled: run.outcome == .signalled
        case .timedOut: run.outcome == .timedOut
        case .notStarted: run.outcome == .notStarted
        case .interrupted: run.outcome == .interrupted || run.outcome == .lost
        case .skipped: run.state == .skipped
        case .fired: run.state == .fired
        }
    }
}
