// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The changes that make the jobs with a label those that the files declare; pure.
struct ApplyPlan {
    var label: String
    /// In the order of the files.
    var additions: [DeclaredJob] = []
    var changes: [Change] = []
    var removals: [Job] = []
    var unchanged = 0
    /// One-shots whose date has passed.
    var passed: [DeclaredJob] = []
    /// Those whose key another job has.
    private(set) var kept: [(declared: DeclaredJob, job: Job)] = []
    /// Live jobs with a declared name but without the label.
    var strangers: [(declared: DeclaredJob, job: Job)] = []

    struct Change {
        var declared: DeclaredJob
        var job: Job
        var fields: [FieldChange]
        /// Whether its dates are others from then on.
        var isRedated: Bool
        /// Whether it cannot be read: the daemon ends it then, and adds another one.
        var isReplaced: Bool
        /// What the job has, by name, that is not known here and goes with it.
        var dropped: [String]
    }

    struct FieldChange: Hashable {
        var name: String
        /// As stated; nil if not stated.
        var old: JSONValue?
        var new: JSONValue?
    }

    var isEmpty: Bool { additions.isEmpty && changes.isEmpty && removals.isEmpty }

    /// Compares the files with the live jobs.
    ///
    /// `labelled`: all of the caller's jobs with the label, ended ones too. `named`: live jobs
    /// without it, by declared name. With `adopts` these get the label.
    init(
        _ files: JobFiles,
        labelled: [Job],
        named: [ByteText: Job],
        adopts: Bool,
        now: Timestamp,
        zone: Zone
    ) {
        label = files.label
        var live: [ByteText: Job] = [:]
        var ended: [ByteText: Job] = [:]
        for job in labelled {
            guard let name = job.definition.name.map({ ByteText($0) }) else { continue }
            if job.state.isLive {
                live[name] = job
            } else if ended[name].map({ $0.id < job.id }) ?? true {
                ended[name] = job
            }
        }
        for declared in files.jobs {
            let name = ByteText(declared.name)
            let wanted = JobMeaning(declared.definition, now: now, zone: zone)
            func isSame(_ job: Job) -> Bool {
                JobMeaning(StatedJob(job).definition, now: now, zone: zone) == wanted
            }
            if let job = live.removeValue(forKey: name) {
                compare(declared, job, wanted, now: now, zone: zone)
            } else if let job = named[name] {
                guard adopts else {
                    strangers.append((declared, job))
                    continue
                }
                compare(declared, job, wanted, now: now, zone: zone)
            } else if let job = ended[name], job.state == .finished, isSame(job) {
                unchanged += 1
            } else if let at = declared.definition.schedule.at.flatMap(Timestamp.init(rfc3339:)),
                at <= now
            {
                passed.append(declared)
            } else {
                additions.append(declared)
            }
        }
        removals = labelled.filter { job in
            job.state.isLive && (job.definition.name.map { live[ByteText($0)] != nil } ?? true)
        }
    }

    /// Says of an addition that it is none, for that job has its key.
    mutating func leaveOut(_ index: Int, for job: Job) {
        kept.insert((additions.remove(at: index), job), at: 0)
    }

    private mutating func compare(
        _ declared: DeclaredJob,
        _ job: Job,
        _ wanted: JobMeaning,
        now: Timestamp,
        zone: Zone
    ) {
        let stated = StatedJob(job)
        var current = stated.definition
        if current.schedule.hasDate(job.fireDate, of: declared.definition.schedule) {
            current.schedule = declared.definition.schedule
        }
        let found = JobMeaning(current, now: now, zone: zone)
        let (old, new) = (current.fields, declared.definition.fields)
        var fields: [FieldChange] = []
        for option in JobOption.inFiles where found.values[option] != wanted.values[option] {
            let name = option.rawValue
            fields.append(FieldChange(name: name, old: old[name], new: new[name]))
        }
        let isRedated = !current.hasDates(of: declared.definition, now: now, zone: zone)
        // Said, it counts; where it was said before and is not any more, it is over; else it is the
        // business of whoever pauses. A maintenance will end, and is no pause of the job's own.
        let isPaused = job.state == .paused && !job.maintenance
        let wasStated = stated.definition.paused == true
        let pause = declared.definition.paused ?? (wasStated ? false : isPaused)
        if pause != isPaused {
            fields.append(FieldChange(name: "paused", old: .bool(isPaused), new: .bool(pause)))
        }
        let tag = ByteText(Label.tag(label))
        if stated.definition.tags?.contains(where: { ByteText($0) == tag }) != true {
            fields.append(
                FieldChange(name: "label", old: job.label.map { .string($0) }, new: .string(label))
            )
        }
        // One that is held for its definition is not what the files declare, whatever it says.
        guard !fields.isEmpty || stated.isUnread else {
            unchanged += 1
            return
        }
        var dropped = stated.unknown
        if stated.isUnread {
            // No file ties a job, and what userInfo this one has is not told.
            let ties = [JobOption.whilePid, .whileConnected]
            dropped += ties.filter { stated.definition[$0] != nil }.map(\.rawValue)
            if declared.definition.userInfo == nil { dropped.append("userInfo if it has any") }
        }
        var declared = declared
        declared.definition.keepUserInfo(of: job.definition)
        changes.append(
            Change(
                declared: declared,
                job: job,
                fields: fields,
                isRedated: isRedated,
                isReplaced: job.stored != nil,
                dropped: dropped
            )
        )
    }
}

extension ScheduleWords {
    /// Whether other words state the date of a one-shot: an exported file has the one that it was moved to, and that of a
    /// delay.
    fileprivate func hasDate(_ date: Timestamp?, of other: Self) -> Bool {
        guard let date, let stated = other.at.flatMap(Timestamp.init(rfc3339:)) else {
            return false
        }
        // The end of a delay is as exact as both clocks go alike.
        return `in` == nil
            ? at != nil && stated == date : abs((stated - date).microseconds) < 1_000_000
    }
}
