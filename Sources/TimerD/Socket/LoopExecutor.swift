// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TimerControl

/// Runs a request's task on the event loop it came from, except for the parts that run on an actor.
///
/// Without it every reply would pass through the pool on its way from the scheduler to the loop: one more
/// thread to wake for each request.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension Request {
    /// Whether the answer is at most one job.
    ///
    /// Making such an answer takes less time than waking another thread; a long list would keep the loop from
    /// its other clients.
    var isBrief: Bool {
        switch self {
        case .addJobs(let request): !request.isList
        case .killRun: true
        case .setFireDate, .fireJob, .getJob, .getRun, .status: true
        case .applyJobs, .invalidateJobs, .pauseJobs, .resumeJobs, .skipJobs, .listJobs, .listRuns,
            .readOutput, .previewSchedule, .subscribe, .metrics, .backUp, .checkDatabase:
            false
        }
    }

    /// Whether it ends a single job, named by its id.
    var invalidatesOne: Bool {
        guard case .invalidateJobs(let request) = self, case .ids(let ids) = request.jobs else {
            return false
        }
        return ids.count == 1 && !request.kill
    }

    /// Whether the answer may have to wait for something to happen; the request is cancelled when the client
    /// is gone.
    var mayWait: Bool {
        if case .readOutput(let request) = self { request.wait == true } else { false }
    }
}
