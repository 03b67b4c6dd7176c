// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

/// A job that has been checked and waits to be stored.
struct NewJob: Sendable {
    var owner: Owner
    var clock: ScheduleClock
    var schedule: Schedule
    /// On the job's clock.
    var firstFireDate: Timestamp?
    var definition: JobDefinition
    /// The definition as it is stored; encoded before the write, because other writes wait for that.
    var text: StoredDefinition
    var policy: JobPolicy
    /// The rules of its zone; nil where they cannot change.
    var rules: ZoneRules?
    /// The process that its life is tied to.
    var process: ProcessIdentity?
    /// Remarks for the user on how the words were understood.
    var notes: [String]
    /// Why it can only be the job that has its key already: none of its dates is to come.
    var refusal: ControlError?
    /// Why it can only be a job that has been given as many runs to keep before: they are more than are allowed.
    var historyRefusal: ControlError?
    /// Its place in a list, for a refusal that comes with the write: "add[1]: "; "" where it stands in none.
    var place = ""

    /// This job with the URLs of `old` where something stands for them.
    ///
    /// - Throws: `ControlError`, with the job's place, where something stands for a URL that `old` does not have.
    func unmasked(by old: JobDefinition?) throws -> NewJob {
        guard !definition.hidesNothing else { return self }
        var definition = definition
        do throws(OptionRefusal) {
            try definition.unmask(by: old)
            guard definition != self.definition else { return self }
            var job = self
            job.definition = definition
            job.text = StoredDefinition(definition)
            job.policy.notices = try NoticePolicy(stated: definition)
            return job
        } catch {
            let refusal = ControlError(error)
            throw ControlError(refusal.reason, place + refusal.message)
        }
    }

    /// Whether it becomes a task with the write that stores it, where it is due by then.
    var isTaskOnceDue: Bool {
        policy.queue != nil && definition.schedule.in != nil && !definition.isTied
    }

    /// The first date of a job that is stored at `moment`: the clock may have been set back since the
    /// job was checked.
    func firstFireDate(at moment: ClockReading) -> Timestamp? {
        guard clock == .wall, let first = firstFireDate else { return firstFireDate }
        return min(first, schedule.nextFireDate(after: moment.wall) ?? first)
    }
}

/// A definition as two columns of text: JSON with sorted keys, so that equal values are equal bytes.
struct StoredDefinition: Sendable {
    /// Without userInfo.
    var definition: String
    var userInfo: String?

    /// What a job counts for in `owners.bytes`, as the triggers count it.
    var storedBytes: Int64 { Int64(1024 + definition.utf8.count + (userInfo?.utf8.count ?? 0)) }

    init(_ definition: JobDefinition) {
        self.definition = definition.storedText
        userInfo = definition.userInfo?.text
    }
}
