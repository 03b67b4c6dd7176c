// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// How one write changes the numbers of live jobs: stored once for all jobs of the write.
struct JobTally: Sendable {
    var scheduled: Int64 = 0
    var paused: Int64 = 0
    /// By the owner's row.
    var live: [OwnerID: Int] = [:]

    mutating func count(leaving: Job.State?, entering: Job.State) {
        func change(_ state: Job.State) -> Int64 {
            (entering == state ? 1 : 0) - (leaving == state ? 1 : 0)
        }
        scheduled += change(.scheduled)
        paused += change(.paused)
    }
}

extension JobTransaction {
    /// Carries out `body`, which changes many jobs, and stores the numbers of live jobs once, at its end.
    ///
    /// Within `body` the stored numbers are those of before.
    mutating func tallying<T>(_ body: (inout JobTransaction) throws -> T) throws -> T {
        guard tally == nil else { return try body(&self) }
        tally = JobTally()
        let value: T
        do {
            value = try body(&self)
        } catch {
            tally = nil
            throw error
        }
        let sum = tally ?? JobTally()
        tally = nil
        try write(sum)
        return value
    }

    /// Counts a job that changes its state; nil for one that is new.
    mutating func count(leaving: Job.State?, entering: Job.State) throws {
        var sum = tally ?? JobTally()
        sum.count(leaving: leaving, entering: entering)
        if tally == nil { try write(sum) } else { tally = sum }
    }

    /// Changes how many live jobs an owner has.
    mutating func countLive(_ change: Int, of owner: OwnerID) throws {
        if tally == nil {
            try owners.count(change, of: owner)
        } else {
            tally?.live[owner, default: 0] += change
        }
    }

    private func write(_ sum: JobTally) throws {
        if sum.scheduled != 0 || sum.paused != 0 {
            try jobs.count(scheduled: sum.scheduled, paused: sum.paused)
        }
        for (owner, change) in sum.live where change != 0 { try owners.count(change, of: owner) }
    }
}
