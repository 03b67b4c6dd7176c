// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// A job as scheduler and store know it: its user's definition, parsed, and where it stands.
package struct StoredJob: Sendable {
    package var id: JobID
    /// Who added it.
    package var owner: Owner
    package var ownerID: OwnerID
    package var state: JobState
    /// The clock that `fireDate` and the schedule's dates are on.
    package var clock: ScheduleClock
    package var schedule: Schedule
    /// The next date; nil once there is none.
    package var fireDate: Timestamp?
    /// The date of the schedule that `fireDate` was moved away from; nil where it was not.
    package var movedFrom: Timestamp?
    /// The fire that is claimed for `fireDate`; nil while the job waits for a window.
    package var claim: Claim?
    /// How many times it has fired.
    package var fires: Int
    /// How many rows its history has grown by since the oldest were last removed.
    package var rowsSinceTrim: Int
    package var addedAt: Timestamp
    package var endedAt: Timestamp?
    package var endReason: EndReason?
    /// The user whose request has ended it; nil where no request has, and of a job that had finished before.
    package var endedBy: UInt32?
    package var definition: JobDefinition
    /// Which name and userInfo `definition` has, of those that the job has had.
    package var revision: Int64 = 1
    /// Grows with each change of the definition, from 1.
    package var definitionRevision: Int64 = 1
    /// Whether it is paused for its owner's maintenance, and goes on with its end.
    package var isInMaintenance = false
    package var policy: JobPolicy
    /// Why it is held; nil for a job that is not.
    package var held: String?
    /// What is stored of a job that cannot be read; nil for one that can.
    ///
    /// For a job that cannot be read, schedule, policy and definition are placeholders; only the name is
    /// valid.
    package var unread: Unread?
    /// How many bytes its definition and userInfo take in the store; 0 for a job that was not read.
    package var storedBytes = 0
    /// Whether the job has a userInfo that was not read and so is missing in `definition`.
    package var hasUnreadUserInfo = false
    /// The claims after `claim`, the soonest first; nil if unknown, as a job's row does not hold them.
    package var ahead: [ClaimAhead]? = []
    /// The number of the scheduler's record that this answers, see `GoneAhead`; 0 for an answer without a
    /// number.
    package var told = 0
    /// The rules by which its schedule and its dates go; nil where its zone has none that may change.
    package var rules: ZoneRulesID?

    /// Whether it answers an add that has added nothing, for its `key`.
    package var isExisting = false

    /// Whether it fires no date for now, whatever its state.
    package var isHeld: Bool { held != nil || unread != nil }

    /// Why it is held, stored or not yet; nil for an ended job.
    package var heldReason: String? { state.isLive ? unread?.reason ?? held : nil }

    /// The columns that stay as they are until the job can be read.
    package struct Unread: Hashable, Sendable {
        package var reason: String
        /// The definition as it is stored.
        package var definition: String
        package var anchor: Timestamp?
        package var movedFrom: Timestamp?
        package var dueDate: Timestamp?
        package var rowsSinceTrim: Int

        package init(
            reason: String,
            definition: String,
            anchor: Timestamp? = nil,
            movedFrom: Timestamp? = nil,
            dueDate: Timestamp? = nil,
            rowsSinceTrim: Int
        ) {
            self.reason = reason
            self.definition = definition
            self.anchor = anchor
            self.movedFrom = movedFrom
            self.dueDate = dueDate
            self.rowsSinceTrim = rowsSinceTrim
        }
    }

    /// A fire whose row is stored, ahead of its date.
    package struct Claim: Hashable, Sendable {
        package var fire: FireID
        /// How many missed dates it stands for.
        package var missed: Int
        /// Whether it was due when it was claimed: the misfire policy has decided, and is not asked
        /// again.
        package var isPast = false
        /// Whether a daemon before this one may have carried it out.
        package var isRedelivery = false
        /// Its date by the wall clock where a user fired it, not the schedule.
        package var dateByHand: Timestamp?

        package init(
            fire: FireID,
            missed: Int,
            isPast: Bool = false,
            isRedelivery: Bool = false,
            dateByHand: Timestamp? = nil
        ) {
            self.fire = fire
            self.missed = missed
            self.isPast = isPast
            self.isRedelivery = isRedelivery
            self.dateByHand = dateByHand
        }
    }

    /// Why a job ended.
    package enum EndReason: String, Sendable {
        /// A one-shot's date has come.
        case once
        /// A one-shot was fired by hand.
        case fired
        /// A one-shot's date was dropped, or all that were left of a job that repeats.
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
    package func wallFireDate(at moment: ClockReading) -> Timestamp? {
        fireDate.map { moment.wallDate($0, on: clock) }
    }

    package init(
        id: JobID,
        owner: Owner,
        ownerID: OwnerID,
        state: JobState,
        clock: ScheduleClock,
        schedule: Schedule,
        fireDate: Timestamp? = nil,
        movedFrom: Timestamp? = nil,
        claim: Claim? = nil,
        fires: Int,
        rowsSinceTrim: Int,
        addedAt: Timestamp,
        endedAt: Timestamp? = nil,
        endReason: EndReason? = nil,
        definition: JobDefinition,
        revision: Int64 = 1,
        policy: JobPolicy,
        held: String? = nil,
        unread: Unread? = nil,
        storedBytes: Int = 0,
        hasUnreadUserInfo: Bool = false,
        ahead: [ClaimAhead]? = [],
        told: Int = 0,
        rules: ZoneRulesID? = nil,
        definitionRevision: Int64 = 1,
        isInMaintenance: Bool = false
    ) {
        self.isInMaintenance = isInMaintenance
        self.definitionRevision = definitionRevision

        self.id = id
        self.owner = owner
        self.ownerID = ownerID
        self.state = state
        self.clock = clock
        self.schedule = schedule
        self.fireDate = fireDate
        self.movedFrom = movedFrom
        self.claim = claim
        self.fires = fires
        self.rowsSinceTrim = rowsSinceTrim
        self.addedAt = addedAt
        self.endedAt = endedAt
        self.endReason = endReason
        self.definition = definition
        self.revision = revision
        self.policy = policy
        self.held = held
        self.unread = unread
        self.storedBytes = storedBytes
        self.hasUnreadUserInfo = hasUnreadUserInfo
        self.ahead = ahead
        self.told = told
        self.rules = rules
    }
}

/// What follows a date of a job.
package enum NextDate: Hashable, Sendable {
    case date(Timestamp)
    /// None that is known: the next start of the machine makes one.
    case unknown
    case ended(StoredJob.EndReason)
}

extension StoredJob {
    /// What follows `date` once the job has fired `fires` times; pure.
    ///
    /// Comes from the scheduled date, never from the actual one: the grid does not drift.
    package func next(after date: Timestamp, fires: Int, at moment: ClockReading) -> NextDate {
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
    package var isOneShot: Bool {
        if case .once = schedule { true } else { false }
    }
}
