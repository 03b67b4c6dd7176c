// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// All attempts of the fires of one job that is listed, as far as they are known: without those that the list leaves out a run
/// seems to have none behind it; pure.
struct FireAttempts {
    private(set) var known: [FireID: [Run]] = [:]
    /// Those to ask for, the newest first: each costs a request, so of very many only the newest.
    private(set) var toAsk: [FireID] = []

    static let mostAsked = 32

    /// `firstPage`: of a list that leaves nothing out, how it began.
    init(_ runs: [Run], firstPage: [Run], of job: Job, _ status: StatusReply?) {
        let own = runs.filter { $0.job == job.id }
        let listed = Dictionary(grouping: own, by: \.fire)
        // What follows a run is newer, and stands ahead of it on the first page; of a fire on another one an attempt may have
        // begun since the first was read.
        let whole = Set(firstPage.map(\.fire))
        known = listed.filter { whole.contains($0.key) }
        var asked: Set<FireID> = []
        for run in own where known[run.fire] == nil && toAsk.count < Self.mostAsked {
            guard job.hasDroppedAttempts(after: run, among: listed[run.fire] ?? [], status),
                asked.insert(run.fire).inserted
            else { continue }
            toAsk.append(run.fire)
        }
    }

    mutating func learn(_ attempts: [Run], of fire: FireID) { known[fire] = attempts }
}
