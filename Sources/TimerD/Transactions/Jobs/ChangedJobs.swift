// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What a change of many jobs came to.
struct ChangedJobs: Sendable {
    /// All jobs of the change, as they stand.
    var jobs: [StoredJob] = []
    /// How many of the jobs, from the first on, fit into a reply of `Limits.pageBytes` bytes.
    var told = 0

    /// The jobs that do not fit into the reply; nil where all do.
    var untold: [JobID]? { jobs.count > told ? jobs.dropFirst(told).map(\.id) : nil }
}

extension StoredJob {
    /// Drops the members that may be large, unless a claimed fire needs them: a change of thousands of jobs
    /// would hold too much memory otherwise.
    mutating func shedWords() {
        guard claim == nil else { return }
        definition.userInfo = nil
        definition.command = nil
        definition.env = nil
        definition.onFailure = nil
        definition.onSuccess = nil
        unread?.definition = ""
    }
}
