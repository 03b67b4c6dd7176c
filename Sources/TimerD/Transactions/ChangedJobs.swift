// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What a change of many jobs came to.
struct ChangedJobs: Sendable {
    /// All of them, as they stand.
    var jobs: [StoredJob] = []
    /// How many of them, from the first on, a reply has room for: `PageRoom.limit` bytes of them.
    var told = 0

    /// The others.
    var untold: [JobID]? { jobs.count > told ? jobs.dropFirst(told).map(\.id) : nil }
}

extension StoredJob {
    /// Lets go of what its user may have filled with anything, unless a fire is to come of it: of
    /// thousands of jobs that are changed together that is more than may be held.
    mutating func shedWords() {
        guard claim == nil else { return }
        definition.userInfo = nil
        definition.command = nil
        definition.env = nil
        definition.onFailure = nil
        unread?.definition = ""
    }
}
