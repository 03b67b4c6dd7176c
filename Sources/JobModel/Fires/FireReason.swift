// SPDX-License-Identifier: Apache-2.0

/// Why a date did not become a fire, or became one out of turn.
public enum FireReason: String, Codable, Hashable, Sendable, CaseIterable {
    /// The date passed while nobody could fire it; `misfire` decided against making up for it.
    case misfire
    /// The date was missed, and another fire stands for it.
    case coalesced
    /// More dates were missed than `misfireLimit` makes up for.
    case misfireLimit
    /// The date was missed longer ago than `misfireWindow`.
    case misfireWindow
    /// The date passed while the job's fire waited for its turn: its user's fires were more than a
    /// user's share.
    case overload
    /// The fire before was not over: it ran, or waited for a place, its next attempt or a worker.
    case overlap
    /// `overlap` is `replace`: a newer fire took its place before it began.
    case replaced
    /// `overlap` is `queue`: the fire before was not over, and another waited for its end already.
    case lineFull
    /// Fired by `job.fire`, not by the schedule.
    case manual
    /// Dropped by `job.skip`.
    case skip
    /// The next fire was moved, by `job.setFireDate`, and stands for this date.
    case moved
    /// The job was paused.
    case paused
    /// The wall clock was set forward over it.
    case clockStepped
    /// The rules of the job's zone have changed: its local time passed with that, or had been before.
    case zoneChanged
    /// The job was ended before the date, which had come, could fire, or its command run.
    case invalidated
    /// The date had come, and its job was changed before it could fire, or its command run.
    ///
    /// It was given other dates, or has no command any more.
    case changed
    /// The job was held: it could not be read, or its owner was gone.
    case held
    /// No worker has taken the task before the job's `until`.
    case expired
    /// The task was dropped by `task.drop`, or was dead for as long as ended jobs are kept.
    case dropped
    /// Fired by hand, and dropped before its command began: the job was ended, or changed into one without a
    /// command, or a newer fire replaced it. Or a task of such a fire that no worker has was dropped, for whatever reason.
    case withdrawn

    /// Whether a date that was skipped for it comes again once the clock is set back to before it.
    ///
    /// Not one that was dropped on request, nor one that a rule of the job or of its zone has decided: that stays so.
    package var comesAgain: Bool {
        switch self {
        case .misfire, .coalesced, .misfireLimit, .misfireWindow, .overload, .paused, .clockStepped,
            .invalidated, .changed, .held, .expired, .dropped:
            true
        case .overlap, .replaced, .lineFull, .manual, .skip, .moved, .zoneChanged, .withdrawn: false
        }
    }

    /// Whether only a date of the schedule that has come has it: where such a date is ahead of the clock, that was set back.
    package var isOfPassedDate: Bool {
        switch self {
        case .misfire, .coalesced, .misfireLimit, .misfireWindow, .overload, .overlap, .replaced,
            .lineFull, .paused, .clockStepped, .invalidated, .changed, .held, .expired, .dropped:
            true
        case .manual, .skip, .moved, .zoneChanged, .withdrawn: false
        }
    }

    /// Whether nobody wanted it so: the date was missed, and not skipped by a user or by a rule of the job.
    public var isMissed: Bool { self == .coalesced || notice == .missed }

    /// The reason in words, to follow "skipped: ".
    public var sentence: String {
        switch self {
        case .misfire: "missed, and not made up for (misfire policy)"
        case .coalesced: "missed; one later fire stands for it"
        case .misfireLimit: "missed, and beyond the number that is made up for (misfire limit)"
        case .misfireWindow: "missed too long ago to be made up for (misfire window)"
        case .overload:
            "missed; its user was at a bound: maxFiresPerSecondPerUser, maxTasksPerUser, or 10,000 that wait to begin"
        case .held: "the job was held"
        case .withdrawn:
            "fired by hand, and ended, changed, replaced or dropped before it began"
        case .overlap: "the fire before was not over (overlap)"
        case .replaced: "it waited, and a newer fire took its place (overlap 'replace')"
        case .lineFull:
            "the fire before was not over, and another waited for its end already (overlap 'queue')"
        case .manual: "fired by hand"
        case .skip: "dropped on request (skip)"
        case .moved: "the fire was moved to another date (set-fire-date)"
        case .paused: "the job was paused"
        case .clockStepped: "the clock was set forward over it"
        case .zoneChanged: "the rules of its time zone have changed"
        case .invalidated: "the job was ended before it could fire"
        case .expired: "no worker has taken the task before 'until'"
        case .dropped: "the task was dropped"
        case .changed: "the job was changed before it could fire"
        }
    }

    /// The reason as a sentence, with `run` where it is known that this was in progress then.
    public func sentence(besides run: RunID?) -> String {
        guard let run else { return sentence }
        return switch self {
        case .overlap: "run \(run) was still in progress (overlap)"
        case .lineFull:
            "run \(run) was still in progress, and a fire waited for its end already (overlap 'queue')"
        default: sentence
        }
    }
}
