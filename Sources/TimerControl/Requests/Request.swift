// SPDX-License-Identifier: Apache-2.0

/// Every request of the control protocol, one case each; `docs/protocol.md` describes them in full.
public enum Request: Hashable, Sendable {
    case addJobs(AddJobs)
    case applyJobs(ApplyJobs)
    case getJob(JobReference)
    case listJobs(ListJobs)
    case invalidateJobs(InvalidateJobs)
    case setFireDate(SetFireDate)
    case fireJob(JobReference)
    case pauseJobs(JobSelection)
    case resumeJobs(JobSelection)
    /// Ended jobs by their ids, or one by its name; nil for what the caller has ended last.
    case restoreJobs(JobSelection?)
    case skipJobs(SkipJobs)
    case listRuns(ListRuns)
    case getRun(RunReference)
    case listNotices(ListNotices)
    case readOutput(ReadOutput)
    case killRun(KillRun)
    case subscribe(Subscribe)
    case previewSchedule(PreviewSchedule)
    case status
    case metrics
    case backUp(BackUp)
    case checkDatabase
    case putPart(PutPart)
    case listUploads
    case dropUpload(String)
    /// Of the owner of that name or uid; nil for the caller.
    case beginMaintenance(String?)
    case endMaintenance(String?)
    case reserveTasks(ReserveTasks)
    case extendTasks(ExtendTasks)
    case finishTasks(FinishTasks)
    case failTasks(FailTasks)
    case releaseTasks(ReleaseTasks)
    case listTasks(ListTasks)
    case retryTasks(TaskSelection)
    case dropTasks(DropTasks)
    case kickTasks(KickTasks)
    case listQueues(ListQueues)
    case setQueue(SetQueue)
    case jobCalendar(ReadCalendar)
    case jobDates(ReadDates)
    case runCalendar(ReadCalendar)
    case listNodes
    case drainNode(DrainNode)

    /// The name of each request on the wire.
    public enum Method: String, CaseIterable, Sendable {
        case addJobs = "job.add"
        case applyJobs = "job.apply"
        case getJob = "job.get"
        case listJobs = "job.list"
        case invalidateJobs = "job.invalidate"
        case setFireDate = "job.setFireDate"
        case fireJob = "job.fire"
        case pauseJobs = "job.pause"
        case resumeJobs = "job.resume"
        case restoreJobs = "job.restore"
        case skipJobs = "job.skip"
        case listRuns = "run.list"
        case getRun = "run.get"
        case listNotices = "notice.list"
        case readOutput = "run.output"
        case killRun = "run.kill"
        case subscribe = "events.subscribe"
        case previewSchedule = "schedule.preview"
        case status = "daemon.status"
        case metrics = "daemon.metrics"
        case backUp = "daemon.backup"
        case checkDatabase = "daemon.check"
        case putPart = "upload.put"
        case listUploads = "upload.list"
        case dropUpload = "upload.drop"
        case beginMaintenance = "maintenance.begin"
        case endMaintenance = "maintenance.end"
        case reserveTasks = "task.reserve"
        case extendTasks = "task.extend"
        case finishTasks = "task.finish"
        case failTasks = "task.fail"
        case releaseTasks = "task.release"
        case listTasks = "task.list"
        case retryTasks = "task.retry"
        case dropTasks = "task.drop"
        case kickTasks = "task.kick"
        case listQueues = "queue.list"
        case setQueue = "queue.set"
        case jobCalendar = "job.calendar"
        case jobDates = "job.dates"
        case runCalendar = "run.calendar"
        case listNodes = "node.list"
        case drainNode = "node.drain"
    }
}

extension Request.Method {
    /// Whether all is as before once it was carried out.
    package var changesNothing: Bool {
        switch self {
        case .getJob, .listJobs, .listRuns, .getRun, .listNotices, .readOutput, .subscribe,
            .previewSchedule, .status, .metrics, .checkDatabase, .listUploads, .listTasks,
            .listQueues, .jobCalendar, .jobDates, .runCalendar, .listNodes:
            true
        case .addJobs, .applyJobs, .invalidateJobs, .setFireDate, .fireJob, .pauseJobs, .resumeJobs,
            .restoreJobs, .skipJobs, .killRun, .backUp, .putPart, .dropUpload, .beginMaintenance,
            .endMaintenance, .reserveTasks, .extendTasks, .finishTasks, .failTasks, .releaseTasks,
            .retryTasks, .dropTasks, .kickTasks, .setQueue, .drainNode:
            false
        }
    }
}
