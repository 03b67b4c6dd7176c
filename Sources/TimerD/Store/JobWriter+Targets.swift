// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// A live job whose life is tied to something.
struct TiedJob: Hashable, Sendable {
    var job: JobID
    /// Nil for a connection, and for a process of an earlier boot.
    var process: Orphan?
    /// The job's owner, by uid.
    var owner: UInt32
}

/// Jobs whose life is tied to a process or a connection.
extension JobWriter {
    /// Stores what the job's life is tied to; `process` is nil for a connection.
    func insertTarget(of job: JobID, _ process: Orphan?) throws {
        try database.prepare(SQL.insertTarget).run(job, process?.pid, process?.ticks)
    }

    /// The jobs that are tied to something, which may have gone while no daemon ran.
    func tiedJobs() throws -> [TiedJob] {
        try database.prepare(SQL.targets).all { row in
            var tied = TiedJob(job: try row.get(0), owner: try row.get(3))
            if let pid: Int32 = try row.get(1), let ticks: Int64 = try row.get(2) {
                tied.process = Orphan(pid: pid, ticks: ticks)
            }
            return tied
        }
    }

    /// Ends a job whose target has gone; nothing if it has ended.
    mutating func endWithTarget(_ id: JobID) throws {
        guard var job = try job(id), job.state.isLive else { return }
        try takeBack(&job)
        try settleUnfired(&job)
        try end(&job, .invalidated, .targetGone)
        try put(job)
    }
}

extension JobWriter.SQL {
    static let insertTarget = """
        INSERT INTO job_targets SELECT ?1, ?2, ?3, boot_id FROM daemon_state
        """
    static let targets = """
        SELECT job_id, CASE WHEN boot_id = (SELECT boot_id FROM daemon_state) THEN pid END,
            pid_ticks, owners.uid
        FROM job_targets JOIN jobs ON jobs.id = job_targets.job_id
            JOIN owners ON owners.id = jobs.owner_id
        ORDER BY job_id
        """
    static let deleteTarget = "DELETE FROM job_targets WHERE job_id = ?1"
}
