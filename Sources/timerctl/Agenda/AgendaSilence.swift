// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The jobs whose dates an agenda leaves out, as they fire nothing: those that are paused, and those that are held.
struct AgendaSilence: Hashable {
    var paused = 0
    var held = 0
    /// Whether there are others, which were not counted.
    var areMore = false

    /// Counts those of a page of `jobs` that would have a date up to `end`.
    mutating func read(_ jobs: [Job], until end: Timestamp) {
        let due = jobs.filter { $0.state.isLive && $0.nextFire.map { $0 <= end } ?? false }
        held += due.count { $0.held != nil }
        paused += due.count { $0.held == nil && $0.state == .paused }
    }

    /// "2 paused jobs and 1 held job are due by then, and fire nothing as it stands: …"; nil where there are none.
    var sentence: String? {
        let counts = [(paused, "paused"), (held, "held")].filter { $0.0 > 0 }
        guard !counts.isEmpty else { return nil }
        let jobs = counts.map { "\($0.0) \($0.1) \($0.0 == 1 ? "job" : "jobs")" }
        let (verb, fires) = paused + held == 1 ? ("is", "fires") : ("are", "fire")
        let count = (areMore ? "at least " : "") + jobs.joined(separator: " and ")
        return "\(count) \(verb) due by then, and \(fires) nothing as it stands: "
            + "'timerctl list' shows which"
    }
}

extension Daemon {
    /// What an agenda of these jobs leaves out; of each kind one page is looked at.
    func silence(_ request: ListJobs, until end: Timestamp) async throws -> AgendaSilence {
        var silence = AgendaSilence()
        var (paused, held) = (request, request)
        paused.state = .paused
        held.held = true
        for request in [paused, held] {
            let page = try await ask(.listJobs(request), for: JobsReply.self).value
            // A held job may be paused as well, and is one that is held.
            let isOfKind = { (job: Job) in (job.held != nil) == (request.held == true) }
            silence.read(page.jobs.filter(isOfKind), until: end)
            silence.areMore = silence.areMore || page.cursor != nil
        }
        return silence
    }
}
