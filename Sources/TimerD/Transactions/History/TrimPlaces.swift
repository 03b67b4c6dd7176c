// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import TimerControl

/// Up to where a look through a job's history has come.
struct TrimPlace: Sendable {
    /// Behind the row of this date, on the job's clock.
    var date = Timestamp.distantPast
    var ranges = Ranges()

    /// What has been found of forgotten dates, from the oldest on.
    struct Ranges: Sendable {
        /// The one that the next row may lengthen.
        var last: OldFire?
        var count = 0
    }

    var isStart: Bool { date == .distantPast }
}

/// Where the next trim goes on of jobs with more open fires, or runs of these, than one looks at; a daemon begins anew.
final class TrimPlaces: Sendable {
    /// Of more jobs than this all begin anew.
    private static let most = 1000

    private let places = Locked<[JobID: TrimPlace]>([:])
    private let runs = Locked<[JobID: RunID]>([:])

    subscript(job: JobID) -> TrimPlace { places.withLock { $0[job] } ?? TrimPlace() }

    func set(_ place: TrimPlace, of job: JobID) {
        var place = place
        // By the next write its row may be gone, or another.
        place.ranges.last = nil
        places.withLock { places in
            if !place.isStart, places[job] == nil, places.count >= Self.most { places = [:] }
            places[job] = place.isStart ? nil : place
        }
    }

    /// Behind which of the job's runs the next trim of them goes on.
    func run(of job: JobID) -> RunID { runs.withLock { $0[job] } ?? RunStore.trimStart }

    func set(_ run: RunID, of job: JobID) {
        runs.withLock { runs in
            let isStart = run == RunStore.trimStart
            if !isStart, runs[job] == nil, runs.count >= Self.most { runs = [:] }
            runs[job] = isStart ? nil : run
        }
    }
}
