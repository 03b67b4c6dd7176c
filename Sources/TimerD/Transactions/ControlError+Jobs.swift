// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The refusals of requests for jobs that are not there, are somebody else's, or are not as the request takes them to be.
extension ControlError {
    static func noJob(_ id: JobID) -> Self {
        Self(.notFound, "there is no job \(id); 'timerctl list --all' shows those that are kept")
    }

    /// Nothing is changed if one of those that are named is missing.
    static func noJobs(_ ids: [JobID]) -> Self {
        guard ids.count > 1 else { return noJob(ids.first ?? JobID(rawValue: 0)) }
        let told = 20
        let numbers = ids.prefix(told).map(\.description)
        let list =
            ids.count > told
            ? "\(numbers.joined(separator: ", ")) and \(ids.count - told) more"
            : "\(numbers.dropLast().joined(separator: ", ")) and \(ids[ids.count - 1])"
        return Self(
            .notFound,
            "there are no jobs \(list); 'timerctl list --all' shows those that are kept"
        )
    }

    static func noJob(tagged tag: String) -> Self {
        Self(.notFound, "no live job has the tag '\(tag)'; 'timerctl list' shows the jobs")
    }

    /// `owner`: the name or the uid of a user.
    static func noJobs(of owner: String) -> Self {
        Self(
            .notFound,
            "'\(owner)' has added no job; 'timerctl list --all' shows each job's owner to root"
        )
    }

    /// `owner`: whose job was asked for; nil for the caller's own.
    static func noKeptJob(named name: String, of owner: String? = nil, _ caller: Caller) -> Self {
        Self(
            .notFound,
            "\(owner.map { "'\($0)' has" } ?? "you have") no job named '\(name)', live or ended;"
                + " 'timerctl list --all' shows them\(owner == nil ? others(for: caller) : "")"
        )
    }

    /// What root finds in the list as well, which may have the very name that was refused.
    private static func others(for caller: Caller) -> String {
        caller.owner.uid == 0 ? ", and other users' jobs, which go by their ids" : ""
    }

    /// `revision`: the one that the change was made of.
    static func changedMeanwhile(_ job: StoredJob, since revision: Int64) -> Self {
        let name = job.definition.name.map { " (\($0))" } ?? ""
        return Self(
            .conflict,
            "job \(job.id)\(name) was changed by another request: it has revision \(job.definitionRevision), "
                + "and this change was made of \(revision); nothing was done, so look at it again and repeat"
        )
    }

    static func notLive(_ job: StoredJob) -> Self {
        Self(
            .conflict,
            "job \(job.id) is \(job.state); only a job that is scheduled or paused can change"
        )
    }

    static func noUpload(_ name: String) -> Self {
        Self(
            .notFound,
            "there is no upload '\(name)' of yours; 'upload.put' begins one, and its parts are kept for a day"
        )
    }

    /// `last`: the ended job that had the name last, which answers to it where a job is read; nil where none did.
    static func noLiveJob(named name: String, last: StoredJob? = nil, _ caller: Caller) -> Self {
        let none = "you have no live job named '\(name)'"
        guard let last else {
            return Self(.notFound, "\(none); 'timerctl list' shows them\(others(for: caller))")
        }
        return Self(
            .notFound,
            "\(none): job \(last.id), which had it last, is \(last.state); 'timerctl show \(last.id)' tells of it"
        )
    }
}
