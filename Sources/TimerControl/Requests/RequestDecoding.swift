// SPDX-License-Identifier: Apache-2.0

import Schedules

extension Request {
    /// Reads the parameters of a method, an object; nil and null stand for an empty one.
    ///
    /// - Throws: `invalidParams`, for unknown ones too; `badSchedule`; `limitReached`.
    init(_ method: Method, parameters value: JSONValue?) throws(ControlError) {
        let parameters = try Parameters(value)
        switch method {
        case .addJobs: self = .addJobs(try AddJobs(parameters))
        case .applyJobs: self = .applyJobs(try ApplyJobs(parameters))
        case .getJob: self = .getJob(try parameters.reference(besides: []))
        case .listJobs:
            let list = try parameters.decoded(ListJobs.self, fields: ListJobs.fieldNames)
            if let limit = list.limit { try checkRange(limit, 1...Limits.page, "limit") }
            try list.checkIDs()
            try list.checkSearch()
            try list.checkCursor()
            self = .listJobs(list)
        case .invalidateJobs:
            let jobs = try parameters.selection(besides: ["kill"])
            let kill = try parameters.optional(Bool.self, "kill") ?? false
            self = .invalidateJobs(InvalidateJobs(jobs, kill: kill))
        case .setFireDate:
            let reference = try parameters.reference(besides: ["fireDate", "from"])
            guard let fireDate = try parameters.optional(String.self, "fireDate") else {
                throw Parameters.missing("fireDate")
            }
            try checkSize(fireDate.utf8.count, Limits.words, "fireDate")
            let from = try parameters.guarding(Timestamp.self, "from")
            self = .setFireDate(SetFireDate(job: reference, fireDate: fireDate, from: from))
        case .fireJob: self = .fireJob(try parameters.reference(besides: []))
        case .pauseJobs: self = .pauseJobs(try parameters.selection())
        case .resumeJobs: self = .resumeJobs(try parameters.selection())
        case .restoreJobs: self = .restoreJobs(try parameters.ended())
        case .skipJobs:
            let jobs = try parameters.selection(besides: ["count", "from"])
            let count = try parameters.optional(Int.self, "count") ?? 1
            try checkRange(count, 1...Limits.skip, "count")
            let from = try parameters.guarding(Timestamp.self, "from")
            self = .skipJobs(SkipJobs(jobs: jobs, count: count, from: from))
        case .listRuns:
            let list = try parameters.decoded(ListRuns.self, fields: ListRuns.fieldNames)
            if let limit = list.limit { try checkRange(limit, 1...Limits.page, "limit") }
            if list.job != nil, list.name != nil {
                throw ControlError(
                    .invalidParams,
                    "expected at most one of 'job', 'name'; both are given"
                )
            }
            if list.open == true, list.failed == true {
                throw ControlError(
                    .invalidParams,
                    "expected at most one of 'open', 'failed'; both are true"
                )
            }
            try list.checkAlone()
            self = .listRuns(list)
        case .getRun: self = .getRun(try parameters.run())
        case .listNotices:
            let list = try parameters.decoded(ListNotices.self, fields: ListNotices.fieldNames)
            if let limit = list.limit { try checkRange(limit, 1...Limits.page, "limit") }
            self = .listNotices(list)
        case .readOutput: self = .readOutput(try parameters.output())
        case .killRun:
            let kill = try parameters.decoded(KillRun.self, fields: KillRun.fieldNames)
            if let span = kill.killAfter {
                try checkSize(span.utf8.count, Limits.words, "killAfter")
            }
            _ = try kill.killAfterSpan()
            self = .killRun(kill)
        case .subscribe: self = .subscribe(try parameters.subscription())
        case .previewSchedule: self = .previewSchedule(try parameters.preview())
        case .status:
            try parameters.checkNames(among: [])
            self = .status
        case .metrics:
            try parameters.checkNames(among: [])
            self = .metrics
        case .backUp: self = .backUp(try parameters.backUp())
        case .checkDatabase:
            try parameters.checkNames(among: [])
            self = .checkDatabase
        case .putPart: self = .putPart(try PutPart(parameters))
        case .listUploads:
            try parameters.checkNames(among: [])
            self = .listUploads
        case .dropUpload:
            try parameters.checkNames(among: ["upload"])
            self = .dropUpload(try parameters.upload())
        case .beginMaintenance: self = .beginMaintenance(try parameters.owner())
        case .endMaintenance: self = .endMaintenance(try parameters.owner())
        case .reserveTasks: self = .reserveTasks(try ReserveTasks(parameters))
        case .extendTasks: self = .extendTasks(try ExtendTasks(parameters))
        case .finishTasks: self = .finishTasks(try FinishTasks(parameters))
        case .failTasks: self = .failTasks(try FailTasks(parameters))
        case .releaseTasks: self = .releaseTasks(try ReleaseTasks(parameters))
        case .listTasks: self = .listTasks(try ListTasks(parameters))
        case .retryTasks: self = .retryTasks(try TaskSelection(parameters))
        case .dropTasks: self = .dropTasks(try DropTasks(parameters))
        case .kickTasks: self = .kickTasks(try KickTasks(parameters))
        case .jobCalendar: self = .jobCalendar(try parameters.calendar(of: method))
        case .runCalendar: self = .runCalendar(try parameters.calendar(of: method))
        case .jobDates: self = .jobDates(try parameters.dates())
        case .listQueues:
            self = .listQueues(try ListQueues(parameters))
        case .setQueue: self = .setQueue(try SetQueue(parameters))
        case .listNodes:
            try parameters.checkNames(among: [])
            self = .listNodes
        case .drainNode: self = .drainNode(try DrainNode(parameters))
        }
    }
}

extension [JobID] {
    /// In their order, each once: a job that is named twice is changed once.
    var eachOnce: Self {
        var seen: Set<JobID> = []
        return filter { seen.insert($0).inserted }
    }
}

extension Parameters {
    /// The only parameter that there may be.
    fileprivate func owner() throws(ControlError) -> String? {
        try checkNames(among: ["owner"])
        return try optional(String.self, "owner")
    }

    /// One job, by exactly one of `id` and `name`.
    fileprivate func reference(besides others: Set<String>) throws(ControlError) -> JobReference {
        try checkNames(among: others.union(["id", "name"]))
        let field = try onlyField(of: ["id", "name"])
        if field == "id" { return .id(try required(JobID.self, "id")) }
        return .name(try required(String.self, "name"))
    }

    /// Ended jobs, by one of `id`, `ids` and `name`; nil without any.
    fileprivate func ended() throws(ControlError) -> JobSelection? {
        let names: Set = ["id", "ids", "name"]
        try checkNames(among: names)
        // Without any it is the jobs that were ended last, which who names some does not mean.
        for name in names.sorted() {
            try requireNotNull(name, "what tells the jobs, or no '\(name)' at all")
        }
        return members.isEmpty ? nil : try selection()
    }

    /// Jobs, by exactly one of `id`, `ids`, `name`, `tag` and `owner`.
    fileprivate func selection(besides others: Set<String> = []) throws(ControlError)
        -> JobSelection
    {
        try checkNames(among: others.union(["id", "ids", "name", "tag", "owner"]))
        switch try onlyField(of: ["id", "ids", "name", "tag", "owner"]) {
        case "id": return .ids([try required(JobID.self, "id")])
        case "ids":
            let ids = try required([JobID].self, "ids")
            guard !ids.isEmpty else { throw .wrong("ids", "empty", "one id or more") }
            try checkCount(ids.count, Limits.jobs, "ids", "ids")
            return .ids(ids.eachOnce)
        case "name": return .name(try required(String.self, "name"))
        case "owner": return .owner(try required(String.self, "owner"))
        default: return .tag(try required(String.self, "tag"))
        }
    }

    fileprivate func run() throws(ControlError) -> RunReference {
        try checkNames(among: RunReference.fieldNames)
        return RunReference(id: try required(RunID.self, "id"))
    }

    fileprivate func output() throws(ControlError) -> ReadOutput {
        try checkNames(among: ReadOutput.fieldNames)
        var request = ReadOutput(id: try required(RunID.self, "id"))
        request.wait = try optional(Bool.self, "wait")
        guard let value = members["after"] else { return request }
        let after = try Parameters(value, at: .key(.root, "after"))
        try after.checkNames(among: OutputPosition.fieldNames)
        var position = OutputPosition()
        for (name, field) in [("stdout", \OutputPosition.stdout), ("stderr", \.stderr)] {
            let offset = try after.optional(Int64.self, name) ?? 0
            guard offset >= 0 else {
                throw .wrong("after.\(name)", "\(offset)", "a number from 0 upwards")
            }
            position[keyPath: field] = offset
        }
        request.after = position
        return request
    }

    fileprivate func subscription() throws(ControlError) -> Subscribe {
        let subscribe = try decoded(Subscribe.self, fields: Subscribe.fieldNames)
        if let since = subscribe.since, since < 0 {
            throw .wrong("since", "\(since)", "a number from 0 upwards")
        }
        for (field, count) in [("types", subscribe.types?.count), ("jobs", subscribe.jobs?.count)] {
            guard let count else { continue }
            guard count > 0 else { throw .wrong(field, "empty", "one or more, or no field at all") }
            try checkCount(count, Limits.jobs, field, field)
        }
        return subscribe
    }

    fileprivate func backUp() throws(ControlError) -> BackUp {
        let backUp = try decoded(BackUp.self, fields: BackUp.fieldNames)
        try checkSize(backUp.file.utf8.count, Limits.path, "file")
        guard backUp.file.hasPrefix("/"), !backUp.file.hasSuffix("/"),
            !backUp.file.utf8.contains(0)
        else {
            throw .wrong("file", "'\(backUp.file)'", "the absolute path of a file")
        }
        return backUp
    }

    fileprivate func preview() throws(ControlError) -> PreviewSchedule {
        let preview = try decoded(PreviewSchedule.self, fields: PreviewSchedule.fieldNames)
        do throws(OptionRefusal) {
            try JobDefinition(schedule: preview.schedule).check()
        } catch {
            throw ControlError(error)
        }
        if let count = preview.count { try checkRange(count, 1...Limits.page, "count") }
        if let after = preview.after { try checkSize(after.utf8.count, Limits.words, "after") }
        return preview
    }
}
