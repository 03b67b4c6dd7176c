// SPDX-License-Identifier: Apache-2.0

import Schedules
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
        case .skip: "The next date of each, as it is now, is dropped. It cannot be undone."
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
        // Who pauses what is in maintenance means it to stay so behind that.
        case .pause: job.state == .scheduled || job.maintenance
        case .resume: job.state == .paused
        // What is to come of the last fire of one that has finished does not begin then.
        case .end: job.state != .invalidated
        case .undo: !job.state.isLive
        case .skip: job.state == .scheduled && job.held == nil && job.fireDate != nil
        case .fire: job.state.isLive && job.held == nil
        }
    }

    /// What a job is that it makes a difference to: behind "it is not".
    var changed: String {
        switch self {
        case .pause: "scheduled"
        case .resume: "paused"
        case .end: "live"
        case .undo: "ended"
        case .skip: "scheduled, not held, with a date to drop"
        case .fire: "to be fired, as it is held or has ended"
        }
    }

    /// Whether its opposite has a job as it is again.
    func isUndoable(for job: Job) -> Bool {
        switch self {
        // The maintenance would end with it, or the pause outlast that.
        case .pause, .resume: !job.maintenance
        case .end: job.state.isLive
        case .skip, .fire, .undo: false
        }
    }

    /// What is said beside of those that it cannot be undone for, or that it finishes; nil where there are none.
    func warning(of jobs: [Job]) -> String? {
        let count = jobs.count { job in
            switch self {
            case .pause, .resume, .end: !isUndoable(for: job)
            case .fire: job.endsWithFire
            case .skip, .undo: false
            }
        }
        guard count > 0 else { return self == .fire ? "Their other dates stay." : nil }
        func those(_ one: String, _ many: String) -> String {
            "\(count.grouped) of them \(count == 1 ? one : many)"
        }
        return switch self {
        case .pause:
            those("is", "are")
                + " in maintenance, and paused when that ends. That cannot be undone."
        case .resume:
            those("is", "are") + " in maintenance, and not any more then. That cannot be undone."
        case .end:
            those("has", "have")
                + " no date to come: what is to come of a last fire does not begin. "
                + "That cannot be undone."
        case .fire:
            those("has", "have")
                + " no other date, and \(count == 1 ? "is" : "are") finished with that."
        case .skip, .undo: nil
        }
    }

    /// How many it takes at most.
    var most: Int { isOneByOne ? 200 : Limits.jobs }

    /// Whether the daemon is asked for each job alone.
    ///
    /// So one that it refuses keeps no other from being fired, and each date that is dropped is the one that was shown.
    private var isOneByOne: Bool { self == .fire || self == .skip }

    /// Whether it is offered for jobs of a state.
    func isOf(_ state: JobQuery.State) -> Bool { (self == .undo) == (state == .ended) }

    /// Does it to those of the jobs that it makes a difference to as they are now, as others may have done it meanwhile.
    ///
    /// `dates`: the next dates of the jobs as they were shown.
    func carryOut(
        _ chosen: [JobID],
        dates: [JobID: Timestamp],
        _ client: ControlClient
    ) async throws -> BulkOutcome {
        if isOneByOne { return try await carryOutOneByOne(chosen, dates, client) }
        let found = try await client.jobs(chosen) { job in
            (isChanged: changes(job), isUndoable: isUndoable(for: job))
        }
        let ids = chosen.filter { found[$0]?.isChanged == true }
        var outcome = BulkOutcome(
            count: ids.count,
            undoable: ids.filter { found[$0]?.isUndoable == true },
            missing: chosen.count(where: { found[$0] == nil })
        )
        // Of none the daemon would take all.
        guard !ids.isEmpty else { return outcome }
        let jobs = JobSelection.ids(ids)
        switch self {
        case .pause: _ = try await client.pauseJobs(jobs)
        case .resume: _ = try await client.resumeJobs(jobs)
        case .undo: _ = try await client.restoreJobs(jobs)
        case .end:
            _ = try await client.invalidateJobs(jobs)
            // What had finished stays as it is, unless a fire of it was not over.
            let finished = ids.filter { found[$0]?.isUndoable == false }
            let ended = try await client.jobs(finished) { $0.state == .invalidated }
            outcome.count -= finished.count(where: { ended[$0] != true })
        case .skip, .fire: break
        }
        return outcome
    }

    private func carryOutOneByOne(
        _ chosen: [JobID],
        _ dates: [JobID: Timestamp],
        _ client: ControlClient
    ) async throws -> BulkOutcome {
        var outcome = BulkOutcome()
        for id in chosen {
            do {
                if self == .fire {
                    _ = try await client.fireJob(.id(id))
                } else {
                    _ = try await client.skipJobs(SkipJobs(jobs: .ids([id]), from: dates[id]))
                }
                outcome.count += 1
            } catch let error as ControlError where error.reason == .notFound {
                outcome.missing += 1
            } catch let error as ControlError {
                outcome.refusals.append(error.message)
            } catch  where outcome.count > 0 {
                outcome.trouble =
                    "of job \(id) it is not known, and those behind it were left: \(error)"
                return outcome
            }
        }
        return outcome
    }
}

/// What became of jobs that were chosen.
struct BulkOutcome: Sendable {
    /// How many were changed.
    var count = 0
    /// Those of them that the opposite has as they were.
    var undoable: [JobID] = []
    /// How many there are not, or are not this user's to see.
    var missing = 0
    /// Why others were refused, in the daemon's words, which name them.
    var refusals: [String] = []
    /// What kept it from going through all of them, one by one; nil where nothing did.
    var trouble: String?
    var isWhole: Bool { refusals.isEmpty && trouble == nil }

    /// What is said of the others; nil where there are none.
    var others: String? {
        var words = refusals.prefix(Self.named).joined(separator: "; ")
        if refusals.count > Self.named {
            words += "; and \((refusals.count - Self.named).grouped) more"
        }
        let all = [
            Self.notFound(missing),
            refusals.isEmpty ? nil : "\(refusals.count.of("job")) refused: \(words)", trouble,
        ]
        .compactMap(\.self)
        return all.isEmpty ? nil : all.joined(separator: "; ")
    }

    private static let named = 5

    /// Said of jobs that are not there, or another user's; nil for none.
    static func notFound(_ count: Int) -> String? {
        count == 0 ? nil : "\(count.of("job")) \(count == 1 ? "was" : "were") not found"
    }
}
