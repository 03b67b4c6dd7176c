// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// Imported jobs compared with the live jobs of the same source, and with those of other crontabs.
///
/// What its user has changed since is still the job of its line: its options, then its schedule. A job with another
/// command is another one. So is a job of another crontab with another schedule: two files may run one command.
struct ImportComparison {
    /// A job of the source that lives already.
    struct Present {
        /// Its place among the jobs of the source.
        var number: Int
        var job: ImportedJob
        var there: Job

        /// The tag of the other crontab that the job there came from; nil for one of the same source.
        var otherSource: String? {
            let tags = there.definition.tags ?? []
            let own = job.definition.tags ?? []
            if tags.contains(where: { own.contains($0) }) { return nil }
            return tags.first { $0.hasPrefix(CrontabJobs.tagPrefix) }
        }

        /// "there already as job 7 (backup), with another overlap, timeout".
        var sentence: String {
            let (old, new) = (there.definition.fields, job.definition.fields)
            let source = otherSource
            let others = JobOption.inFiles.filter {
                !$0.isOfSchedule && $0 != .name && old[$0.rawValue] != new[$0.rawValue]
                    && ($0 != .tags || source == nil)
            }
            var parts = ["there already as \(there.title)\(source.map { " of '\($0)'" } ?? "")"]
            if there.definition.schedule != job.definition.schedule {
                let words = JobOption.inFiles.filter(\.isOfSchedule).compactMap {
                    option -> String? in
                    let stated = there.definition[option]
                    guard stated != job.definition[option], case .text(let text)? = stated
                    else { return nil }
                    return "\(option.rawValue) '\(text)'"
                }
                parts.append((["by another schedule"] + words).joined(separator: ", "))
            }
            if !others.isEmpty {
                parts.append("with another \(others.map(\.rawValue).joined(separator: ", "))")
            }
            return parts.joined(separator: ", ")
        }
    }

    var new: [ImportedJob] = []
    var present: [Present] = []
    /// Live jobs that the source does not have any more.
    var gone: [Job]

    /// `others`: the live jobs of other crontabs.
    init(of jobs: [ImportedJob], with live: [Job], others: [Job] = []) {
        gone = live
        var (rest, own, elsewhere) = (Array(jobs.indices), live, others)
        claim(&rest, of: jobs, among: &own) { definition in
            var identity = definition
            identity.name = nil
            return identity
        }
        let commandAndDates = { (definition: JobDefinition) -> JobDefinition in
            var identity = JobDefinition(schedule: definition.schedule)
            identity.command = definition.command
            return identity
        }
        claim(&rest, of: jobs, among: &own, by: commandAndDates)
        claim(&rest, of: jobs, among: &own) { definition in
            var identity = JobDefinition(schedule: ScheduleWords())
            identity.command = definition.command
            return identity
        }
        claim(&rest, of: jobs, among: &elsewhere, by: commandAndDates)
        gone = own
        present.sort { $0.number < $1.number }
        new = rest.map { jobs[$0] }
    }

    /// The jobs that were compared as they are called, or will be, but for names that other jobs of their owners have.
    func named(_ jobs: [ImportedJob]) -> [ImportedJob] {
        var jobs = jobs
        var new = Set(jobs.indices)
        for one in present {
            jobs[one.number].definition.name = one.there.definition.name
            new.remove(one.number)
        }
        // A name is one job's of a user, and another's of another user.
        for (owner, numbers) in Dictionary(grouping: new.sorted(), by: { jobs[$0].owner }) {
            let live = present.map(\.there) + gone
            let taken = live.filter { owner.owns($0) }.compactMap(\.definition.name)
            let names = ImportNames.names(
                of: numbers.map { jobs[$0].definition.name },
                taken: Set(taken.map { ByteText($0) })
            )
            for (number, name) in zip(numbers, names) { jobs[number].definition.name = name }
        }
        return jobs
    }

    /// Has of the jobs of one owner what `other`, a later comparison of the same jobs, has of them.
    mutating func renew(_ owner: LocalUser, from other: Self) {
        new = new.filter { $0.owner != owner } + other.new.filter { $0.owner == owner }
        present.removeAll { $0.job.owner == owner }
        present += other.present.filter { $0.job.owner == owner }
        present.sort { $0.number < $1.number }
        gone = gone.filter { !owner.owns($0) } + other.gone.filter { owner.owns($0) }
    }

    /// Each of the `numbers` of jobs that one of the `live` ones is, by that identity, is present; in the order of both
    /// lists.
    private mutating func claim(
        _ numbers: inout [Int],
        of jobs: [ImportedJob],
        among live: inout [Job],
        by identity: (JobDefinition) -> JobDefinition
    ) {
        var left = Dictionary(grouping: live) { identity($0.definition) }
        var found: Set<JobID> = []
        numbers.removeAll { number in
            let job = jobs[number]
            let key = identity(job.definition)
            // By the bytes of its command: to Swift texts of one meaning in Unicode are one.
            let index = left[key]?.firstIndex {
                job.owner.owns($0) && $0.definition[.command] == job.definition[.command]
            }
            guard let index, let there = left[key]?.remove(at: index) else { return false }
            present.append(Present(number: number, job: job, there: there))
            found.insert(there.id)
            return true
        }
        live.removeAll { found.contains($0.id) }
    }
}

extension LocalUser {
    /// Whether the job is this user's; the daemon may know the user by uid only.
    func owns(_ job: Job) -> Bool { job.owner == name || job.owner == "\(uid)" }
}
