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
}
