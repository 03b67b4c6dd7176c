// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Schedules
import TimerControl
import Turns

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
        case .reserveTasks(let request): !request.mayWaitForTask && (request.count ?? 1) == 1
        case .extendTasks(let request): !request.isList
        case .finishTasks(let request): !request.isList
        case .failTasks(let request): !request.isList
        case .releaseTasks(let request): !request.isList
        case .setQueue: true
        case .setFireDate, .fireJob, .getJob, .getRun, .status: true
        case .applyJobs, .invalidateJobs, .pauseJobs, .resumeJobs, .restoreJobs, .skipJobs,
            .listJobs, .listRuns,
            .listNotices, .readOutput, .previewSchedule, .subscribe, .metrics, .backUp,
            .checkDatabase,
            .putPart, .listUploads, .dropUpload, .beginMaintenance, .endMaintenance,
            .listTasks, .retryTasks, .dropTasks, .kickTasks, .listQueues,
            .jobCalendar, .jobDates, .runCalendar, .listNodes, .drainNode:
            false
        }
    }

    /// How many jobs it ends, where it names a few by their ids; nil for any other request.
    ///
    /// The store looks at each of them, and at each once more if one of them is the scheduler's.
    var fewToEnd: Int? {
        guard case .invalidateJobs(let request) = self, case .ids(let ids) = request.jobs,
            !request.kill, ids.count <= RequestLoad.manyJobs
        else { return nil }
        return ids.count
    }

    /// Whether the answer may have to wait for something to happen; the request is cancelled when the client
    /// is gone.
    var mayWait: Bool {
        switch self {
        case .readOutput(let request): request.wait == true
        case .reserveTasks(let request): request.mayWaitForTask
        default: false
        }
    }
}

extension Request {
    /// Whether the answer to one that may wait takes the loop no longer than a brief one.
    var isBriefOnceMade: Bool {
        if case .reserveTasks(let request) = self { request.count ?? 1 <= 16 } else { false }
    }
}
