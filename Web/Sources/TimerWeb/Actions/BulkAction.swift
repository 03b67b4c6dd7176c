// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What may be done with several jobs at once.
enum BulkAction: String, CaseIterable, Sendable {
    case pause, resume, skip, fire, end, undo

    var word: String {
        switch self {
        case .pause: "Pause"
        case .resume: "Resume"
        case .skip: "Skip next"
        case .fire: "Fire now"
        case .end: "End"
        case .undo: "Have live again"
        }
    }

    /// Before "34 jobs?".
    var verb: String {
        switch self {
        case .skip: "Skip the next date of"
        case .fire: "Fire"
        case .undo: "Restore"
        case .pause, .resume, .end: word
        }
    }

    /// What it does, said before it is done.
    var sentence: String {
        switch self {
        case .pause:
            "None of their dates fires until they are resumed; what is missed meanwhile follows each job's rule."
        case .resume: "Their dates fire again; what was missed follows each job's rule."
        case .skip: "The next date of each is dropped. It cannot be undone."
        case .fire: "Each fires once, now. It cannot be undone."
        case .end: "They fire no more. Their history stays, and you can undo it for 24 hours."
        case .undo: "Each is what it was before its end; all of them, or none."
        }
    }

    /// Behind "34 jobs".
    func done(_ isOne: Bool) -> String {
        let verb = isOne ? "was" : "were"
        return switch self {
        case .pause: "\(verb) paused"
        case .resume: "\(verb) resumed"
        case .skip: "\(isOne ? "has" : "have") one date less"
        case .fire: "\(verb) fired"
        case .end: "\(verb) ended"
        case .undo: "\(isOne ? "lives" : "live") again"
        }
    }

    /// What undoes it; nil where nothing does.
    var opposite: Self? {
        switch self {
        case .pause: .resume
        case .resume: .pause
        case .end: .undo
        case .skip, .fire, .undo: nil
        }
    }

    /// Whether it makes a difference to a job: what is paused already is not to be resumed by an undo.
    func changes(_ job: Job) -> Bool {
        switch self {
        case .pause: job.state == .scheduled
        case .resume: job.state == .paused
        case .end: job.state.isLive
        case .undo: !job.state.isLive
        case .skip, .fire: true
        }
    }

    /// Those of the jobs that it makes a difference to as they are now, as others may have done it meanwhile; and how many
    /// there are not, or are not this user's to see.
    func changed(
        _ ids: [JobID],
        _ client: ControlClient
    ) async throws -> (ids: [JobID], missing: Int) {
        // Nothing undoes these, and the daemon refuses all where it does not find one.
        guard self != .skip, self != .fire else { return (ids, 0) }
        let found = try await JobReader.read(ids, client) { changes($0) }
        return (ids.filter { found[$0] == true }, ids.count(where: { found[$0] == nil }))
    }

    /// How many it takes at most.
    var most: Int { self == .fire ? 200 : Limits.jobs }

    /// Whether it is offered for jobs of a state.
    func isOf(_ state: JobQuery.State) -> Bool { (self == .undo) == (state == .ended) }

    /// Does it; how many were changed.
    func carryOut(_ ids: [JobID], _ client: ControlClient) async throws -> Int {
        let jobs = JobSelection.ids(ids)
        func count(_ reply: JobsReply) -> Int { reply.jobs.count + (reply.others?.count ?? 0) }
        switch self {
        case .pause: return count(try await client.pauseJobs(jobs))
        case .resume: return count(try await client.resumeJobs(jobs))
        case .skip: return count(try await client.skipJobs(SkipJobs(jobs: jobs)))
        case .end: return count(try await client.invalidateJobs(jobs))
        case .undo: return count(try await client.restoreJobs(jobs))
        case .fire:
            for (index, id) in ids.enumerated() {
                do {
                    try await client.fireJob(.id(id))
                } catch let error as ControlError {
                    // The daemon fires one at a time: those before have fired.
                    throw ControlError(
                        error.reason,
                        "\(index) of \(ids.count) jobs fired, then: \(error.message)"
                    )
                }
            }
            return ids.count
        }
    }
}
