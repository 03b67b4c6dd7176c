// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import TimerControl

/// The jobs whose lives are tied to clients' connections; pure.
struct TiedJobs: Sendable {
    /// The jobs that are tied to each connection, with their users.
    private var jobs: [ConnectionLife: [JobID: UInt32]] = [:]
    private var lives: [JobID: ConnectionLife] = [:]

    /// Ties a user's job; true where nothing was known of the connection before.
    mutating func tie(_ job: JobID, of user: UInt32, to life: ConnectionLife) -> Bool {
        let isFirst = jobs[life] == nil
        jobs[life, default: [:]][job] = user
        lives[job] = life
        return isFirst
    }

    /// Forgets a job that has ended.
    ///
    /// The entry of its connection stays until that is over, for that is registered once.
    mutating func forget(_ job: JobID) {
        guard let life = lives.removeValue(forKey: job) else { return }
        jobs[life]?[job] = nil
    }

    /// Forgets a connection; returns the jobs that are tied to it, with their users.
    mutating func end(_ life: ConnectionLife) -> [JobID: UInt32] {
        let gone = jobs.removeValue(forKey: life) ?? [:]
        for job in gone.keys { lives[job] = nil }
        return gone
    }
}
