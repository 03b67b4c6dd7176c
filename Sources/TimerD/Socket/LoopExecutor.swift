// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TimerControl

/// Runs a request's task on the event loop it came from, wherever no actor claims it.
///
/// Without it every reply would pass through the pool on its way from the scheduler to the loop: one
/// thread more to wake for each request.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension Request {
    /// Whether the answer is one job or less.
    ///
    /// It is then made sooner than another thread is woken; a long list would keep the loop from its
    /// other clients.
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

    /// Whether it may be answered only after something has happened, for which nobody waits once
    /// the client is gone.
    var mayWait: Bool {
        if case .readOutput(let request) = self { request.wait == true } else { false }
    }
}
