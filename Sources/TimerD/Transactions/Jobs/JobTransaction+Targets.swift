// SPDX-License-Identifier: Apache-2.0

import TimerControl

extension JobTransaction {
    /// Ends a job whose process or connection has gone; does nothing if the job has ended.
    mutating func endWithTarget(_ id: JobID) throws {
        guard var job = try job(id), job.state.isLive else { return }
        try releaseClaim(of: &job)
        try recordUnfired(&job)
        try end(&job, .invalidated, .targetGone)
        try put(job)
    }

    /// Holds those jobs of which nobody can read what their lives are tied to; returns the others.
    ///
    /// They may be tied to what has gone, and end then; or to what is there, and go on.
    mutating func holdUnreadTargets(_ tied: [TiedJob]) throws -> [TiedJob] {
        for tied in tied {
            guard let reason = tied.unread, var job = try job(tied.job), job.state.isLive else {
                continue
            }
            if job.unread == nil { job = try job.unread(reason, jobs) }
            try hold(job, job.unread?.reason ?? reason, isAsStored: true)
        }
        return tied.filter { $0.unread == nil }
    }
}
