// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A job as scheduler and store know it: its user's definition, parsed, and where it stands.
struct StoredJob: Sendable {
    var id: JobID
    /// Who added it.
    var owner: Owner
    var ownerID: OwnerID
    var state: Job.State
    /// The clock that `fireDate` and the schedule's dates are on.
    var clock: ScheduleClock
    var schedule: Schedule
    /// The next date; nil once there is none.
    var fireDate: Timestamp?
    /// The date of the schedule that `fireDate` was moved away from; nil where it was not.
    var movedFrom: Timestamp?
    /// The fire that is claimed for `fireDate`; nil while the job waits for a window.
    var claim: Claim?
    /// How many times it has fired.
    var fires: Int
    /// How many rows its history has grown by since the oldest were last removed.
    var uncut: Int
    var addedAt: Timestamp
    var endedAt: Timestamp?
    var endReason: EndReason?
    var definition: JobDefinition
    /// Which name and userInfo `definition` has, of those that the job has had.
    var revision: Int64 = 1
    var policy: JobPolicy
    /// Why it is held; nil for a job that is not.
    var held: String?
    /// What is stored of a job that cannot be read; nil for one that can.
    ///
    /// For a job that cannot be read, schedule, policy and definition are placeholders; only the name is
    /// valid.
    var unread: Unread?
    /// How many bytes its definition and userInfo take in the store; 0 for a job that was not read.
    var storedBytes = 0
    /// Whether the job has a userInfo that was not read and so is missing in `definition`.
    var hasUnreadUserInfo = false
    /// The claims after `claim`, the soonest first; nil if unknown, as a job's row does not hold them.
    var ahead: [ClaimAhead]? = []
    /// The number of the scheduler's record that this answers, see `GoneAhead`; 0 for an answer without a
    /// number.
    var told = 0
    /// The rules by which its schedule and its dates go; nil where its zone has none that may change.
    var rules: ZoneRulesID?

    /// Whether it fires no date for now, whatever its state.
    var isHeld: Bool { held != nil || unread != nil }

    /// Why it is held, stored or not yet; nil for an ended job.
    var heldReason: String? { state.isLive ? unread?.reason ?? held : nil }

    /// The columns that stay as they are until the job can be read.
    struct Unread: Hashable, Sendable {
        var reason: String
        /// The definition as it is stored.
        var definition: String
        var anchor: Timestamp?
        var movedFrom: Timestamp?
        var dueDate: Timestamp?
        var uncut: Int
    }

    /// A fire whose row is stored, ahead of its date.
    struct Claim: Hashable, Sendable {
        var fire: FireID
        /// How many missed dates it stands for.
        var missed: Int
        /// Whether its date had passed when it was claimed: the misfire policy has decided, and is not asked
        /// again.
        var isSettled = false
        /// Whether a daemon before this one may have carried it out.
        var isRedelivery = false
        /// Its date by the wall clock where a user fired it, not the schedule.
        var dateByHand: Timestamp?
    }

    /// Why a job ended.
    enum EndReason: String, Sendable {
        /// A one-shot's date has come.
        case once
        /// A one-shot was fired by hand.
        case fired
        /// A one-shot's date was dropped.
        case skipped
        /// A one-shot's date passed without a fire.
        case missed
        case count
        case until
        /// The schedule has no further date.
        case exhausted
        case invalidated
        /// What its life was tied to has gone.
        case targetGone
        /// Another job was added in its place.
        case replaced
    }

    /// Where its `fireDate` stands on the wall clock.
    func wallFireDate(at moment: Moment) -> Timestamp? {
        fireDate.map { moment.wallDate($0, on: clock) }
    }
}

/// What follows a date of a job.
enum NextDate: Hashable, Sendable {
    case date(Timestamp)
    /// None that is known: the next start of the machine makes one.
    case unknown
    case ended(StoredJob.EndReason)
}

extension StoredJob {
    /// What follows `date` once the job has fired `fires` times; pure.
    ///
    /// Comes from the scheduled date, never from the actual one: the grid does not drift.
    func next(after date: Timestamp, fires: Int, at moment: Moment) -> NextDate {
        if let count = policy.count, fires >= count { return .ended(.count) }
        if case .reboot = schedule { return .unknown }
        guard let next = dates.next(after: date) else {
            if case .once = schedule { return .ended(fires > 0 ? .once : .missed) }
            return .ended(.exhausted)
        }
        if let until = policy.until, moment.wallDate(next, on: clock) > until {
            return .ended(.until)
        }
        return .date(next)
    }

    /// Whether its schedule has one date only.
    var isOneShot: Bool {
        if case .once = schedule { true } else { false }
    }
}
