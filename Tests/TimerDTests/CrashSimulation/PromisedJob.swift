// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import TimerD

/// A job as its clients know it: by what they were answered, apart from what the daemon knows.
struct PromisedJob {
    enum State {
        case scheduled
        case paused
        case ended
        /// A command of it was not answered, or with an error of the disk.
        case unknown
    }

    let id: JobID
    let definition: JobDefinition
    var dates: YearJob
    var state: State
    /// Whether it was paused when it was ended last, if that is known.
    var stateAtEnd = State.unknown
    /// Commands that are on their way.
    var inFlight = 0
    /// Restores while it lived, which change nothing of it.
    var (restoresAsked, restoresAnswered) = (0, 0)
    /// Whether somebody asked to end it, answered or not, or what it is tied to may be gone.
    var mayHaveEnded: Bool
    /// Whether its end was answered.
    var isEndAnswered = false
    /// Where it was moved to last by the wall clock, if nothing was done to it since.
    var movedTo: Timestamp?
    /// Fires by hand that were answered.
    var byHand: [FireID] = []
    var mayHaveFiredByHand = false
    var skips = 0
    /// How often the machine has started since it was added, at most.
    var bootsAtMost = 0
    /// Whether it has lost its power since a daemon has started last.
    var hasLostPower = false
    /// After how many losses of power a daemon has started since.
    var bootsAtLeast = 0

    /// Whether it was another job's definition before: what it was to do until then is not known here.
    let isRedated: Bool

    /// `redated`: by when it became what it is, in elapsed time; nil for a job that has been that from its add on.
    init(_ job: StoredJob, wallOffset: TimeSpan, redated: Timestamp? = nil) {
        id = job.id
        definition = job.definition
        isRedated = redated != nil
        let elapsed = redated ?? job.addedAt - wallOffset
        let added = ClockReading(elapsed: elapsed, wallOffset: wallOffset)
        dates = YearJob(job, words: YearJob.words(job.definition), at: added)
        state = job.definition.paused == true ? .paused : .scheduled
        mayHaveEnded = job.definition.isTied
    }

    var repeats: Bool { dates.repeats }
    mutating func restoresAreAnswered() { restoresAnswered = restoresAsked }
    /// Whether it is due whenever the machine has started, and at no other date.
    var isOfBoot: Bool { definition.schedule.cron == "@reboot" }
    var isLive: Bool { state != .ended }

    /// What is wrong with the stored state; nil for nothing.
    func problem(with stored: StoredJob) -> String? {
        if isEndAnswered, stored.state.isLive {
            return "is \(stored.state), though its end was answered"
        }
        if stored.state == .invalidated, !mayHaveEnded {
            return "was invalidated by nobody: \(stored.endReason?.rawValue ?? "no reason")"
        }
        switch state {
        case .paused where stored.state == .scheduled: return "is scheduled, not paused"
        case .paused where stored.state == .finished && !mayHaveFiredByHand:
            return "finished while it was paused"
        case .scheduled where stored.state == .paused: return "is paused, which nobody asked for"
        default: return nil
        }
    }
}
