// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import TimerD

/// Jobs that go on as what another add has made them.
extension CrashSimulation {
    /// Takes note of a job that is known by now to be what another add has made it: it has other dates.
    func noteRedating(_ id: JobID) {
        guard let promised = jobs[id], let stored = stored(id), let end = redatingEnd,
            let wallOffset = moment?.wallOffset,
            stored.definition.userInfo != promised.definition.userInfo
        else { return }
        tell("job \(id) is another by now")
        var job = PromisedJob(stored, wallOffset: wallOffset, redated: end)
        (job.inFlight, job.byHand) = (promised.inFlight, promised.byHand)
        job.restoresAsked = promised.restoresAsked
        job.restoresAnswered = promised.restoresAnswered
        job.mayHaveFiredByHand = promised.mayHaveFiredByHand
        job.mayHaveEnded = promised.mayHaveEnded
        (job.isEndAnswered, job.bootsAtMost) = (promised.isEndAnswered, promised.bootsAtMost)
        if promised.inFlight > 0 || promised.state == .unknown { job.state = .unknown }
        if promised.state == .ended { job.state = .ended }
        jobs[id] = job
        moves[id] = nil
    }

    /// By when a job that is another now was made that, in elapsed time; and with that all dates of before lie
    /// behind it, as far as the clocks were ahead.
    var redatingEnd: Timestamp? {
        moment.map { $0.elapsed + max(mostAhead, mostShift) }
    }
}
