// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Imported jobs compared with the live jobs of the same source.
struct ImportComparison {
    var new: [ImportedJob] = []
    var present: [(job: ImportedJob, there: Job)] = []
    /// Live jobs that the source does not have any more.
    var gone: [Job]

    init(of jobs: [ImportedJob], with live: [Job]) {
        // By definition without a name, in the order of the list.
        var rest: [JobDefinition: [Job]] = [:]
        for job in live {
            var definition = job.definition
            definition.name = nil
            rest[definition, default: []].append(job)
        }
        var found: Set<JobID> = []
        for job in jobs {
            let identity = job.identity
            if let index = rest[identity]?.firstIndex(where: job.owner.owns),
                let there = rest[identity]?.remove(at: index)
            {
                present.append((job, there))
                found.insert(there.id)
            } else {
                new.append(job)
            }
        }
        gone = live.filter { !found.contains($0.id) }
    }
}

extension LocalUser {
    /// Whether the job is this user's; the daemon may know the user by uid only.
    func owns(_ job: Job) -> Bool { job.owner == name || job.owner == "\(uid)" }
}
