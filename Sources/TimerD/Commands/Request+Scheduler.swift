// SPDX-License-Identifier: Apache-2.0

import TimerControl

extension Request {
    /// Whether it is carried out by way of the scheduler, whatever it says.
    ///
    /// Where it is not, its command may pass the scheduler by, finds out itself whether it can, or changes no job.
    var goesByScheduler: Bool {
        switch self {
        case .applyJobs, .setFireDate, .fireJob, .pauseJobs, .resumeJobs, .restoreJobs, .skipJobs,
            .beginMaintenance, .endMaintenance, .killRun, .retryTasks, .dropTasks, .kickTasks,
            .setQueue:
            true
        case .addJobs(let request): request.dryRun
        case .invalidateJobs, .reserveTasks, .extendTasks, .finishTasks, .failTasks,
            .releaseTasks, .putPart, .dropUpload, .backUp, .drainNode:
            false
        case .getJob, .listJobs, .listRuns, .getRun, .listNotices, .readOutput, .subscribe,
            .previewSchedule, .status, .metrics, .checkDatabase, .listUploads, .listTasks,
            .listQueues, .jobCalendar, .jobDates, .runCalendar, .listNodes:
            false
        }
    }
}
