// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import TimerControl

/// What a transaction goes by: the window, the bounds, the defaults of jobs, and the rules of zones.
struct TransactionTerms: Sendable {
    /// The end of the window, in elapsed time, for whose jobs it is.
    var horizons: Horizons
    /// How many rows the history of a job keeps; nil if this write trims none.
    var runsKept: HistoryBound?
    /// Where the histories that it trims are gone on with; nil for their starts.
    var trimPlaces: TrimPlaces?
    /// How much of one user may be stored; nil for any amount.
    var maxBytes: Int64?
    /// How many tasks of one user may wait; and how long dead ones are kept.
    var maxTasks = Int.max
    var deadKept = TimeSpan.seconds(30 * 86_400)
    /// How the rules of zones have changed, as far as is known.
    var zones = ZoneChanges()
    var findZone: ZoneRules.Finder = ZoneRules.inDatabase
    /// Where notices of jobs go that do not say it, and for what.
    var noticeDefaults = NoticePolicy.Defaults()
    /// What counts for runs of jobs that do not say it.
    var runDefaults = RunDefaults()
    /// Fires in state `running` whose command has not been started: the rows cannot tell, the scheduler can.
    var unstarted: Set<FireID> = []
    /// Jobs of which this daemon minds a fire: what becomes of its run is recorded, and told, once it has ended.
    var minded: Set<JobID> = []
}
