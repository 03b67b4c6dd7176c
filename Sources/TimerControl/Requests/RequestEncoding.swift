// SPDX-License-Identifier: Apache-2.0

import Schedules

extension Request {
    /// The name on the wire.
    public var method: Method {
        switch self {
        case .addJobs: .addJobs
        case .applyJobs: .applyJobs
        case .getJob: .getJob
        case .listJobs: .listJobs
        case .invalidateJobs: .invalidateJobs
        case .setFireDate: .setFireDate
        case .fireJob: .fireJob
        case .pauseJobs: .pauseJobs
        case .resumeJobs: .resumeJobs
        case .restoreJobs: .restoreJobs
        case .skipJobs: .skipJobs
        case .listRuns: .listRuns
        case .getRun: .getRun
        case .listNotices: .listNotices
        case .readOutput: .readOutput
        case .killRun: .killRun
        case .subscribe: .subscribe
        case .previewSchedule: .previewSchedule
        case .status: .status
        case .metrics: .metrics
        case .backUp: .backUp
        case .checkDatabase: .checkDatabase
        case .putPart: .putPart
        case .listUploads: .listUploads
        case .dropUpload: .dropUpload
        case .beginMaintenance: .beginMaintenance
        case .endMaintenance: .endMaintenance
        case .reserveTasks: .reserveTasks
        case .extendTasks: .extendTasks
        case .finishTasks: .finishTasks
        case .failTasks: .failTasks
        case .releaseTasks: .releaseTasks
        case .listTasks: .listTasks
        case .retryTasks: .retryTasks
        case .dropTasks: .dropTasks
        case .kickTasks: .kickTasks
        case .listQueues: .listQueues
        case .setQueue: .setQueue
        case .jobCalendar: .jobCalendar
        case .jobDates: .jobDates
        case .runCalendar: .runCalendar
        case .listNodes: .listNodes
        case .drainNode: .drainNode
        }
    }

    /// The request as one line without its newline.
    ///
    /// The reply repeats the id, a string or an integer; nil makes it a notification.
    public func line(id: JSONValue?) throws -> [UInt8] {
        var members: [String: JSONValue] = [
            "jsonrpc": .string("2.0"), "method": .string(method.rawValue),
        ]
        if let id { members["id"] = id }
        if let parameters = try parameters() { members["params"] = parameters }
        return JSONValue.object(members).jsonBytes
    }

    private func parameters() throws -> JSONValue? {
        switch self {
        case .addJobs(let request): try request.parameters()
        case .applyJobs(let request): .object(try request.members())
        case .getJob(let job), .fireJob(let job): .object(job.members)
        case .listJobs(let request): try JSONValue(encoding: request)
        case .invalidateJobs(let request):
            .object(
                request.jobs.members.merging(request.kill ? ["kill": .bool(true)] : [:]) { $1 }
            )
        case .pauseJobs(let jobs), .resumeJobs(let jobs):
            .object(jobs.members)
        case .restoreJobs(let jobs): jobs.map { .object($0.members) }
        case .skipJobs(let request):
            .object(request.members)
        case .setFireDate(let request):
            .object(request.members)
        case .listRuns(let request): try JSONValue(encoding: request)
        case .getRun(let run): try JSONValue(encoding: run)
        case .killRun(let request): try JSONValue(encoding: request)
        case .listNotices(let request): try JSONValue(encoding: request)
        case .readOutput(let request): try JSONValue(encoding: request)
        case .subscribe(let request): try JSONValue(encoding: request)
        case .previewSchedule(let request): try JSONValue(encoding: request)
        case .backUp(let request): try JSONValue(encoding: request)
        case .putPart(let request):
            .object(
                try request.jobs.members().merging([
                    "upload": .string(request.upload), "part": .integer(Int64(request.part)),
                ]) { $1 }
            )
        case .dropUpload(let name): .object(["upload": .string(name)])
        case .beginMaintenance(let owner), .endMaintenance(let owner):
            owner.map { .object(["owner": .string($0)]) }
        case .reserveTasks(let request): try JSONValue(encoding: request)
        case .extendTasks(let request): .object(request.members)
        case .finishTasks(let request): .object(request.members)
        case .failTasks(let request): .object(request.members)
        case .releaseTasks(let request): .object(request.members)
        case .listTasks(let request): try JSONValue(encoding: request)
        case .retryTasks(let tasks): .object(tasks.members)
        case .dropTasks(let tasks): .object(tasks.members)
        case .kickTasks(let request): try JSONValue(encoding: request)
        case .listQueues(let request): try JSONValue(encoding: request)
        case .jobCalendar(let request), .runCalendar(let request): try JSONValue(encoding: request)
        case .jobDates(let request): try JSONValue(encoding: request)
        case .setQueue(let request): try JSONValue(encoding: request)
        case .drainNode(let request): try JSONValue(encoding: request)
        case .status, .metrics, .checkDatabase, .listUploads, .listNodes: nil
        }
    }
}

extension AddJobs {
    fileprivate func parameters() throws -> JSONValue {
        var members: [String: JSONValue] = [:]
        if isList {
            let definitions = try definitions.map { try JSONValue(encoding: $0) }
            members["jobs"] = .array(definitions)
        } else if let definition = definitions.first,
            case .object(let fields) = try JSONValue(encoding: definition)
        {
            members = fields
        }
        if replace { members["replace"] = .bool(true) }
        if dryRun { members["dryRun"] = .bool(true) }
        return .object(members)
    }
}

extension ApplyJobs {
    fileprivate func members() throws -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        if !invalidate.isEmpty {
            members["invalidate"] = .array(
                invalidate.map { id in
                    guard let revision = ifRevisions[id] else { return .integer(id.rawValue) }
                    return .object([
                        "id": .integer(id.rawValue), "ifRevision": .integer(revision),
                    ])
                }
            )
        }
        if !change.isEmpty {
            members["change"] = .array(
                try change.map { revision in
                    guard case .object(var fields) = try JSONValue(encoding: revision.definition)
                    else { return .null }
                    fields["id"] = .integer(revision.id.rawValue)
                    fields["ifRevision"] = revision.ifRevision.map { .integer($0) }
                    return .object(fields)
                }
            )
        }
        if !add.isEmpty { members["add"] = .array(try add.map { try JSONValue(encoding: $0) }) }
        if let ifNoNewer {
            var newest: [String: JSONValue] = ["tag": .string(ifNoNewer.tag)]
            newest["id"] = ifNoNewer.id.map { .integer($0.rawValue) }
            members["ifNoNewer"] = .object(newest)
        }
        if dryRun { members["dryRun"] = .bool(true) }
        if let upload { members["upload"] = .string(upload) }
        return members
    }
}

extension JobReference {
    fileprivate var members: [String: JSONValue] {
        switch self {
        case .id(let id): ["id": .integer(id.rawValue)]
        case .name(let name): ["name": .string(name)]
        }
    }
}

extension JobSelection {
    fileprivate var members: [String: JSONValue] {
        switch self {
        case .ids(let ids): ["ids": .array(ids.map { .integer($0.rawValue) })]
        case .name(let name): ["name": .string(name)]
        case .tag(let tag): ["tag": .string(tag)]
        case .owner(let owner): ["owner": .string(owner)]
        }
    }
}

extension SkipJobs {
    fileprivate var members: [String: JSONValue] {
        var members = jobs.members
        members["count"] = .integer(Int64(count))
        members["from"] = from.map { .string($0.rfc3339) }
        return members
    }
}

extension SetFireDate {
    fileprivate var members: [String: JSONValue] {
        var members = job.members
        members["fireDate"] = .string(fireDate)
        members["from"] = from.map { .string($0.rfc3339) }
        return members
    }
}
